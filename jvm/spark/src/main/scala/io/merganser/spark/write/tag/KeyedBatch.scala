package io.merganser.spark.write.tag

import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.schema.MetaColumns
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, XXH64, XxHash64}
import org.apache.spark.sql.merganser.RowShuffle
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows of a write or of a lookup, shuffled by their key. The source is evaluated once, however many jobs read them.
 *
 * @param source rows of the columns, of which [[MetaColumns.RecordKey]], [[WriteRow.Arrival]] and, by path,
 *               [[MetaColumns.PartitionPath]] are some
 * @param tasks  partitions of the shuffle
 */
private[write] final class KeyedBatch(
    session: SparkSession,
    source: RDD[InternalRow],
    columns: StructType,
    val order: KeyOrder,
    val tasks: Int
) {

  /** In any order. */
  val rows: RDD[InternalRow] = order.shuffled(session, source, columns, tasks, MetaColumns.RecordKey,
    MetaColumns.PartitionPath)

  val keyOrdinal: Int = columns.fieldIndex(MetaColumns.RecordKey)

  /** -1 if paths are not compared. */
  val pathOrdinal: Int = if (order.byPath) columns.fieldIndex(MetaColumns.PartitionPath) else -1

  /** The rows of each partition in the order of the merge join, and the rows of a key by arrival. */
  def sorted: RDD[InternalRow] =
    order.sorted(session, rows, columns, MetaColumns.RecordKey, MetaColumns.PartitionPath,
      Some(WriteRow.Arrival.name))

  /** Runs a job over the rows, not sorted. @param areNumbers see [[BatchSummary.of]] */
  def summary(areNumbers: Boolean): Option[BatchSummary] =
    BatchSummary.of(rows, keyOrdinal, pathOrdinal, areNumbers)
}

/**
 * The order in which rows and stored keys are merge-joined: the key's hash, the key and, with `byPath`, the partition
 * path. The hash is first because Spark sorts by the first eight bytes while they differ, and composite keys all begin
 * with the same name.
 *
 * @param byPath true where equal keys of different partitions are different rows
 */
private[write] final case class KeyOrder(byPath: Boolean) {

  /** Rows in partitions by key and path. */
  def shuffled(
      session: SparkSession,
      rows: RDD[InternalRow],
      columns: StructType,
      tasks: Int,
      key: String,
      path: String
  ): RDD[InternalRow] = {
    val all = RowShuffle.columns(columns)
    RowShuffle(session, rows, all, identity(all, key, path), tasks).rows
  }

  /**
   * The rows of each partition in this order.
   *
   * @param andThen column that orders the rows of one key
   */
  def sorted(
      session: SparkSession,
      rows: RDD[InternalRow],
      columns: StructType,
      key: String,
      path: String,
      andThen: Option[String] = None
  ): RDD[InternalRow] = {
    val all  = RowShuffle.columns(columns)
    val hash = new XxHash64(Seq(RowShuffle.column(all, key)))
    RowShuffle.sorted(session, rows, all,
      (hash +: identity(all, key, path)) ++ andThen.map(RowShuffle.column(all, _)))
  }

  private def identity(columns: Seq[Attribute], key: String, path: String): Seq[Expression] =
    RowShuffle.column(columns, key) +: (if (byPath) Seq(RowShuffle.column(columns, path)) else Nil)
}

private[write] object KeyOrder {

  /** The `xxhash64` of a key. */
  def hash(key: UTF8String): Long = XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)
}
