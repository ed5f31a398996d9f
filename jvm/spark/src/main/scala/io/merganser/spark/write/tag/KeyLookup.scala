package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.ShuffleTasks
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, LogVisibility, SliceReader}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}
import org.apache.spark.util.CollectionAccumulator

import scala.collection.JavaConverters._

/**
 * File slices that a lookup looked into, of all there are. Complete once an action has run over the lookup's rows.
 *
 * @param all slices of the snapshot
 */
final class LookupCounts private[write] (val all: Int, looked: CollectionAccumulator[Int]) {

  def read: Int = looked.value.asScala.toSet.size

  /** Slices that partition or key range ruled out. */
  def pruned: Int = all - read
}

/**
 * The stored row of every source row's key, found without a join: source rows and stored rows are shuffled by key and walked
 * together. Only the columns asked for are read, in the slices that may hold a key; no key reaches the driver.
 *
 * A row that readers see is stored. A key that is known but deleted in a log is not, yet has its slice, so that what is inserted
 * later meets the delete. A key that is stored several times gives a row for each.
 *
 * @param slices of one snapshot
 * @param stored columns wanted of the stored rows, meta columns among them; may be empty
 * @param byPath true where key and partition path are looked for, false for the key in all partitions
 * @param tasks  of the shuffle; None: by the source's size
 */
final case class KeyLookup(
    session: SparkSession,
    table: OpenTable,
    rule: StoredRule,
    slices: IndexedSeq[FileSlice],
    stored: StructType,
    byPath: Boolean,
    tasks: Option[Int] = None
) {

  /** What stands behind a source row: slice or [[Tagging.Untagged]], whether a row is stored, and its columns. */
  val added: StructType =
    StructType(Seq(PreparedSchema.SliceColumn, KeyLookup.StoredColumn) ++ stored.map(_.copy(nullable = true)))

  /**
   * @param source rows with [[MetaColumns.RecordKey]] (never null), [[PreparedSchema.Arrival]] and, by path,
   *               [[MetaColumns.PartitionPath]] among their columns, in any place
   * @return rows of the source's columns and [[added]], in order of the key's hash, the key, the path and arrival, the rows of a
   *         key in one partition. The row objects are reused, and may have more fields behind those
   */
  def apply(source: DataFrame): (RDD[InternalRow], LookupCounts) = {
    val names             = source.schema.fieldNames
    val sorted            = Tagging.byKey(source, count(source), byPath)
    val rows              = sorted.queryExecution.toRdd
    val looked            = session.sparkContext.collectionAccumulator[Int]
    val (instants, width) = (slices.map(_.baseInstant).toArray, added.length)
    val found = Tagging.walked(rows, scan(looked), slices, count(source), names.indexOf(MetaColumns.RecordKey),
      if (byPath) names.indexOf(MetaColumns.PartitionPath) else -1)(walk => walk(new RowMatches(instants, width)))
    (found, new LookupCounts(slices.size, looked))
  }

  private def count(source: DataFrame): Int = ShuffleTasks.forRows(session, source, tasks)

  private def scan(looked: CollectionAccumulator[Int]): StoredKeyScan = {
    val reader = new SliceReader(table.storage, table.config, rule, table.schema, stored, LogVisibility(table.timeline))
    StoredKeyScan(session, table, stored, StoredKeys.AndLive(reader), KeyOrder(byPath), looked)
  }
}

object KeyLookup {

  /** Tells whether readers see a row of the key. */
  val StoredColumn: StructField = StructField("__merganser_stored", BooleanType, nullable = false)
}
