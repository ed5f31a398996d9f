package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.{ShuffleTasks, WriteSlices}
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.rule.StoredRule
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}
import org.apache.spark.util.CollectionAccumulator

import scala.collection.JavaConverters._

/**
 * Counts of the file slices that a lookup read and pruned. Complete once an action has run over the lookup's rows.
 *
 * @param all slices of the partitions that the rows name, or of the whole table
 */
final class LookupCounts private[write] (val all: Int, readSlices: CollectionAccumulator[Int]) {

  def read: Int = readSlices.value.asScala.toSet.size

  /** Slices of these partitions that the key range ruled out. */
  def pruned: Int = all - read
}

/**
 * Finds the stored row of every source row's key, without a Spark join: source rows and stored rows are shuffled by key
 * and merge-joined. Only the requested columns are read, in slices that may hold a key; no key reaches the driver.
 *
 * A row that readers see is stored. A key that a log has deleted is not, yet has its slice, so that a later insert is
 * merged with the delete. A key that is stored several times returns a row for each.
 *
 * @param slices of one snapshot
 * @param stored requested columns of the stored rows, meta columns too; may be empty
 * @param byPath true to look up key and partition path, false to look up the key in all partitions
 * @param filters see [[StoredKeyScan]]
 * @param tasks  tasks of the shuffle; None to use the source's size
 */
final case class KeyLookup(
    session: SparkSession,
    table: OpenTable,
    rule: StoredRule,
    slices: WriteSlices,
    stored: StructType,
    byPath: Boolean,
    filters: Boolean,
    tasks: Option[Int] = None
) {

  /** Columns appended to a source row: slice or [[Tagging.Untagged]], whether a row is stored, and its columns. */
  val added: StructType =
    StructType(Seq(WriteRow.Slice, KeyLookup.StoredColumn) ++ stored.map(_.copy(nullable = true)))

  /**
   * @param source rows with `MetaColumns.RecordKey` (never null), [[WriteRow.Arrival]] and, by path,
   *               `MetaColumns.PartitionPath` among their columns, in any position
   * @return rows of the source's columns and [[added]], in order of the key's hash, the key, the path and arrival,
   *         with all rows of a key in one partition. The row objects are reused, and may have more fields after those
   */
  def apply(source: DataFrame): (RDD[InternalRow], LookupCounts) = {
    val batch      = Tagging.byKey(session, source, ShuffleTasks.forRows(session, source, tasks), byPath)
    val readSlices = session.sparkContext.collectionAccumulator[Int]
    val width      = added.length
    val found = Tagging.mergeJoin(batch, scan(readSlices), slices) { (listed, join) =>
      val instants = listed.map(_.baseInstant).toArray
      (rows, keys) => join(rows, keys, new RowMatches(instants, width))
    }
    (found, new LookupCounts(slices.listed.size, readSlices))
  }

  private def scan(readSlices: CollectionAccumulator[Int]): StoredKeyScan =
    StoredKeyScan(session, table, stored, StoredKeys.AndLive(table.reader(rule, stored)), KeyOrder(byPath), readSlices,
      filters)
}

object KeyLookup {

  /** True if readers see a row of the key. */
  val StoredColumn: StructField = StructField("__merganser_stored", BooleanType, nullable = false)
}
