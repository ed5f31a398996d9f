package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.options.Options
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.FileSlice
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.types._
import org.apache.spark.util.LongAccumulator

/**
 * Second step of a write: finds the stored file slice that holds an incoming key.
 *
 * Incoming rows and stored keys are shuffled and sorted alike, and merge-joined; no key reaches the driver. Of stored
 * rows only the key column is read: see [[StoredKeyScan]].
 */
object Tagging {

  /** The slice of a row whose key is not stored. */
  final val Untagged = -1

  /** Rows shuffled by key (and path), in the order of the merge join and arrival; evaluates the source, once. */
  def byKey(rows: DataFrame, tasks: Int, byPath: Boolean = true): DataFrame =
    KeyOrder(byPath).sorted(rows, tasks, MetaColumns.RecordKey, MetaColumns.PartitionPath, Some(PreparedSchema.Arrival))

  /**
   * The rows of [[byKey]] with [[PreparedSchema.SliceColumn]]; a key stored in several slices comes once for each.
   *
   * @param counting which stored keys count
   * @param several  counts the rows whose key is stored in several slices
   */
  def simple(
      session: SparkSession,
      sorted: DataFrame,
      schema: PreparedSchema,
      table: OpenTable,
      slices: IndexedSeq[FileSlice],
      tasks: Int,
      counting: StoredKeys,
      several: LongAccumulator
  ): RDD[InternalRow] = {
    val scan =
      StoredKeyScan(session, table, new StructType, counting, KeyOrder(byPath = true),
        session.sparkContext.collectionAccumulator[Int])
    val instants = slices.map(_.baseInstant).toArray
    mergeJoin(sorted.queryExecution.toRdd, scan, slices, tasks, schema.keyOrdinal, schema.partitionOrdinal)(join =>
      join(new SliceMatches(instants, several)))
  }

  def untagged(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val tag    = new GenericInternalRow(Array[Any](Untagged))
    val joined = new JoinedRow
    rows.map(row => joined(row, tag))
  }

  /**
   * Merge join of rows with the stored rows of their keys.
   *
   * @param rows as [[byKey]] sorts them
   * @param path ordinal of a row's partition path, or -1 if paths are not compared
   * @param join makes the rows of a task; creates the merge join with the [[Matches]] that buffer a key's stored rows
   */
  private[write] def mergeJoin(
      rows: RDD[InternalRow],
      scan: StoredKeyScan,
      slices: IndexedSeq[FileSlice],
      tasks: Int,
      key: Int,
      path: Int
  )(join: (Matches => KeyMergeJoin) => Iterator[InternalRow]): RDD[InternalRow] = {
    val batch  = if (slices.isEmpty) None else BatchSummary.of(rows, key, path, scan.integerKey.isDefined)
    val stored = batch.flatMap(scan.sorted(slices, _, tasks))
    // Adaptive execution drops an empty side together with its partitions: then no key is stored.
    stored.filter(_.getNumPartitions != rows.getNumPartitions).foreach { keySide =>
      if (!keySide.isEmpty() && !rows.isEmpty())
        throw new IllegalStateException(
          s"incoming rows in ${rows.getNumPartitions} partitions, stored keys in ${keySide.getNumPartitions}")
    }
    val (storedKey, storedPath) = (scan.keyOrdinal, scan.pathOrdinal)
    def joinTask(incoming: Iterator[InternalRow], keys: Iterator[InternalRow]): Iterator[InternalRow] =
      join(new KeyMergeJoin(incoming, keys, key, path, storedKey, storedPath, _))
    stored.filter(_.getNumPartitions == rows.getNumPartitions)
      .fold(rows.mapPartitions(joinTask(_, Iterator.empty)))(keySide => rows.zipPartitions(keySide)(joinTask))
  }

  /** True if logs of a slice with a base file have no keys that the base file lacks, as our SIMPLE writes them. */
  private[write] def insertsIntoBases(table: OpenTable): Boolean =
    table.config.properties.get(Options.IndexTypeOption.key).exists(_ != "BUCKET")
}
