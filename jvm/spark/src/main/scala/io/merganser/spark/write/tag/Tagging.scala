package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.WriteSlices
import io.merganser.table.slice.FileSlice
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.merganser.Partitions
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

  /** Rows of a frame, shuffled by key and, with `byPath`, by partition path. */
  private[write] def byKey(session: SparkSession, rows: DataFrame, tasks: Int, byPath: Boolean = true): KeyedBatch =
    new KeyedBatch(session, rows.queryExecution.toRdd, rows.schema, KeyOrder(byPath), tasks)

  /**
   * The rows of a batch with `WriteRow.Slice`; a key stored in several slices comes once for each.
   *
   * @param counting which stored keys count
   * @param several  counts the rows whose key is stored in several slices
   * @param filters  see [[StoredKeyScan]]
   */
  private[write] def simple(
      session: SparkSession,
      batch: KeyedBatch,
      table: OpenTable,
      slices: WriteSlices,
      counting: StoredKeys,
      several: LongAccumulator,
      filters: Boolean
  ): RDD[InternalRow] = {
    val scan = StoredKeyScan(session, table, new StructType, counting, batch.order,
      session.sparkContext.collectionAccumulator[Int], filters)
    mergeJoin(batch, scan, slices) { (listed, join) =>
      val instants = listed.map(_.baseInstant).toArray
      (rows, keys) => join(rows, keys, new SliceMatches(instants, several))
    }
  }

  def untagged(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val tag    = new GenericInternalRow(Array[Any](Untagged))
    val joined = new JoinedRow
    rows.map(row => joined(row, tag))
  }

  /** Makes the merge join of a task; the [[Matches]] buffer a key's stored rows. */
  private[write] type Join = (Iterator[InternalRow], Iterator[InternalRow], Matches) => KeyMergeJoin

  /**
   * Merge join of rows with the stored rows of their keys. Lists the partitions that the rows name, or all of them if
   * paths are not compared.
   *
   * @param make makes the function of a task, of its rows and their stored keys, from the listed slices
   */
  private[write] def mergeJoin(batch: KeyedBatch, scan: StoredKeyScan, slices: WriteSlices)(
      make: (IndexedSeq[FileSlice], Join) => (Iterator[InternalRow], Iterator[InternalRow]) => Iterator[InternalRow]
  ): RDD[InternalRow] = {
    val summary = if (slices.mayExist) batch.summary(scan.integerKey.isDefined) else None
    val listed  = summary.fold(slices.listed)(s => s.partitions.fold(slices.all)(slices.of))
    val stored  = summary.flatMap(scan.sorted(listed, _, batch))

    val (key, path, storedKey, storedPath) = (batch.keyOrdinal, batch.pathOrdinal, scan.keyOrdinal, scan.pathOrdinal)
    val join: Join                         = new KeyMergeJoin(_, _, key, path, storedKey, storedPath, _)
    val task                               = make(listed, join)
    stored.fold(Partitions.map(batch.sorted)(task(_, Iterator.empty)))(Partitions.zip(batch.sorted, _)(task))
  }
}
