package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.KeyColumns
import io.merganser.spark.write.place.{IndexResolver, WriteSlices}
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.options.{StoredKeyPolicy, WriteOperation}
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, SliceReader}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/**
 * Tagging by keys that are looked up in all partitions: rows with the slice that [[PartitionMove]] assigns to them.
 *
 * Keys alone are read first. If a key is stored in another partition than its row's, or in several slices of which logs
 * may have deleted it in some, those slices are read again with the columns that the rule needs.
 *
 * @param moves    see [[io.merganser.table.options.IndexType.GlobalKeys]]
 * @param combines see [[MergePhases]]
 */
private[write] final case class GlobalTagging(
    session: SparkSession,
    table: OpenTable,
    settings: WriteConfig,
    incoming: PreparedSchema,
    compiled: CompiledRule,
    moves: Boolean,
    combines: Boolean
) {
  private val config = table.config

  /** True for an insert that drops or rejects stored keys. */
  private val onlyTags = settings.operation == WriteOperation.Insert &&
    Set[StoredKeyPolicy](StoredKeyPolicy.Drop, StoredKeyPolicy.Fail)(settings.storedKeys)

  /** Ordinals of the partition columns; a field inside a struct is not among them, and is not kept. */
  private val partitionColumns: Array[Int] =
    config.partitionFields.flatMap(field =>
      FrameCheck.find(incoming.data, field).map(f => incoming.data.fieldNames.indexOf(f.name)))
      .filter(_ >= 0).toArray

  /**
   * @param rows    shuffled by key
   * @param compute computes the rows with `WriteRow.Slice` and persists them; is called a second time if
   *                stored rows must be read, and then the first result is closed
   */
  def apply[T <: AutoCloseable](rows: KeyedBatch, slices: WriteSlices)(compute: RDD[InternalRow] => T): T = {
    val keys  = reader(new StructType)
    val first = if (onlyTags) StoredKeys.Live(keys) else StoredKeys.OfFiles(keys)
    val open  = session.sparkContext.collectionAccumulator[Int]
    val many  = session.sparkContext.longAccumulator
    val tagged = compute(tagRows(rows, slices, scan(new StructType, first), knowsRows = false)(
        slice => open.add(slice),
        () => many.add(1)))
    if (open.value.isEmpty && (many.sum == 0 || slices.listed.forall(_.logs.isEmpty))) tagged
    else {
      tagged.close()
      val wanted  = if (moves) incoming.layout else StructType(partitionColumns.map(incoming.data(_)))
      val columns = scan(wanted, StoredKeys.AndLive(reader(wanted))).copy(only = Some(open.value.asScala.toSet))
      compute(tagRows(rows, slices, columns, knowsRows = true)(_ => (), () => ()))
    }
  }

  private def tagRows(
      rows: KeyedBatch,
      slices: WriteSlices,
      scan: StoredKeyScan,
      knowsRows: Boolean
  )(
      readAgain: Int => Unit,
      several: () => Unit
  ): RDD[InternalRow] = {
    val key = incoming.keyOrdinal
    Tagging.mergeJoin(rows, scan, slices) { (listed, join) =>
      val place = partitionMove(listed)
      (rows, keys) => {
        val matches = new BufferedMatches
        new MovedRows(join(rows, keys, matches), matches, place, key, knowsRows, readAgain, several)
      }
    }
  }

  private def partitionMove(slices: IndexedSeq[FileSlice]): PartitionMove =
    new PartitionMove(incoming, compiled, moves, combines, onlyTags, slices.map(SliceRef(_)).toArray, partitionPath,
      partitionColumns)

  private def scan(columns: StructType, counting: StoredKeys): StoredKeyScan =
    StoredKeyScan(session, table, columns, counting, KeyOrder(byPath = false),
      session.sparkContext.collectionAccumulator[Int], IndexResolver.usesFilters(settings.index))

  private def reader(columns: StructType): SliceReader = table.reader(settings.rule,
    if (columns.isEmpty) MetaColumns.keySchema else columns)

  private def partitionPath: Expression =
    KeyColumns.pathOf(session, settings.keyed(config), incoming.data, compiled.layout.schema)
}
