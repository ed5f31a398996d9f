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
 * Second step of a write: which stored file slice holds an incoming key.
 *
 * Incoming rows and stored keys are shuffled alike and walked together in one order; no key reaches the driver. Stored
 * keys are read from the key column alone, as [[StoredKeyScan]] says.
 */
object Tagging {

  /** Stands behind a row whose key is not stored. */
  final val Untagged = -1

  /** Rows shuffled by key, and by partition path where it counts, in the order of the walk and arrival; the source is evaluated once, here. */
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
    walked(sorted.queryExecution.toRdd, scan, slices, tasks, schema.keyOrdinal, schema.partitionOrdinal)(walk =>
      walk(new SliceMatches(instants, several)))
  }

  def untagged(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val tag    = new GenericInternalRow(Array[Any](Untagged))
    val joined = new JoinedRow
    rows.map(row => joined(row, tag))
  }

  /**
   * Rows walked along what is stored of their keys.
   *
   * @param rows as [[byKey]] sorts them
   * @param path where the partition path of a row stands, or -1 where it does not count
   * @param walk what to make of a task's walk, given what shall hold the matches of a key
   */
  private[write] def walked(
      rows: RDD[InternalRow],
      scan: StoredKeyScan,
      slices: IndexedSeq[FileSlice],
      tasks: Int,
      key: Int,
      path: Int
  )(walk: (Matches => KeyMergeJoin) => Iterator[InternalRow]): RDD[InternalRow] = {
    val batch  = if (slices.isEmpty) None else BatchSummary.of(rows, key, path, scan.wholeKey.isDefined)
    val stored = batch.flatMap(scan.sorted(slices, _, tasks))
    // Adaptive execution takes an empty side away together with its partitions: then no key is stored.
    stored.filter(_.getNumPartitions != rows.getNumPartitions).foreach { held =>
      if (!held.isEmpty() && !rows.isEmpty())
        throw new IllegalStateException(
          s"incoming rows in ${rows.getNumPartitions} partitions, stored keys in ${held.getNumPartitions}")
    }
    val (storedKey, storedPath) = (scan.keyOrdinal, scan.pathOrdinal)
    def along(incoming: Iterator[InternalRow], keys: Iterator[InternalRow]): Iterator[InternalRow] =
      walk(new KeyMergeJoin(incoming, keys, key, path, storedKey, storedPath, _))
    stored.filter(_.getNumPartitions == rows.getNumPartitions)
      .fold(rows.mapPartitions(along(_, Iterator.empty)))(held => rows.zipPartitions(held)(along))
  }

  /** True if no log of a slice with a base file holds a key that this does not: so our SIMPLE writes. */
  private[write] def insertsIntoBases(table: OpenTable): Boolean =
    table.config.properties.get(Options.IndexTypeOption.key).exists(_ != "BUCKET")
}
