package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.KeyColumns
import io.merganser.spark.write.place.{ShuffleTasks, WriteSlices}
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.options.IndexType
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, SliceReader, SliceWriter}
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The keys that a table stores more than once, and what their copies are merged into. In a table with buckets also keys
 * that are stored outside of their bucket.
 *
 * Keys alone are read and shuffled first; of the duplicate ones the rows are read, by the scan and the merge join of
 * tagging.
 *
 * @param byPath  true where equal keys of different partitions are different rows
 * @param buckets where keys belong; None: anywhere
 */
private[spark] final case class DuplicateKeys(
    session: SparkSession,
    table: OpenTable,
    settings: WriteConfig,
    byPath: Boolean,
    buckets: Option[IndexType.Bucket] = None
) {
  private val config = table.config
  private val order  = KeyOrder(byPath)
  private val layout = StructType(SliceWriter.rowSchema(table.schema).map(_.copy(nullable = true)))

  /** Columns of [[merged]]. */
  val columns: StructType = MergedCopies.columns(table.schema)

  /**
   * One row for each copy of a duplicate key, and one for each merged row that must be written.
   *
   * @param chosen partition whose copies count; None: all
   * @param slices of the snapshot; those of the chosen partition are listed
   */
  def merged(slices: WriteSlices, chosen: Option[String]): RDD[InternalRow] = {
    val listed = chosen.fold(slices.all)(partition => slices.of(Set(partition)))
    if (listed.isEmpty) session.sparkContext.emptyRDD
    else {
      val tasks  = settings.shuffleTasks.getOrElse(ShuffleTasks.forStored(session, listed))
      val groups = buckets.map(BucketGroups(_, table, slices.listed))
      val batch  = new KeyedBatch(session, repeated(slices.listed, tasks, groups), DuplicateKeys.Columns, order, tasks)
      val scan = StoredKeyScan(session, table, layout, StoredKeys.Live(reader(layout)), order,
        session.sparkContext.collectionAccumulator[Int], filters = false)
      val path     = KeyColumns.pathOf(session, settings.keyed(config), table.schema, layout)
      val compiled = CompiledRule(settings.rule, settings.keyed(config), layout)
      val times    = completionTimes
      Tagging.mergeJoin(batch, scan, slices) { (found, join) =>
        val fold = new MergedCopies(table.schema, layout, compiled, found.map(SliceRef(_)).toArray, times,
          if (byPath) None else Some(path), groups)
        (rows, keys) => {
          val matches = new BufferedMatches
          join(rows, keys, matches).flatMap(_ => fold(matches.take().live))
        }
      }
    }
  }

  /**
   * Counts the keys that are stored more than once in some slices.
   *
   * @param most keys to return, with their partition paths
   */
  def count(slices: Seq[FileSlice], most: Int): (Long, Seq[(String, String)]) =
    if (slices.isEmpty) (0L, Nil)
    else {
      val tasks = settings.shuffleTasks.getOrElse(ShuffleTasks.forStored(session, slices))
      val found =
        Partitions.collect[InternalRow, (Long, Seq[(String, String)])](repeated(slices, tasks, None)) { keys =>
          var (count, some) = (0L, List.empty[(String, String)])
          keys.foreach { row =>
            if (count < most) some ::= row.getUTF8String(0).toString -> row.getUTF8String(1).toString
            count += 1
          }
          Iterator((count, some))
        }
      (found.map(_._1).sum, found.flatMap(_._2).sorted.take(most))
    }

  /** One row for each key that is stored more than once, or outside of its bucket. */
  private def repeated(slices: Seq[FileSlice], tasks: Int, groups: Option[BucketGroups]): RDD[InternalRow] = {
    val (reads, compares) = (reader(MetaColumns.keySchema), byPath)
    val at                = reads.input.schema.fieldIndex(MetaColumns.RecordKey)
    val numbered          = slices.zipWithIndex
    val keys = Partitions.map(session.sparkContext.parallelize(numbered, math.min(slices.size, 4 * tasks))) { it =>
      it.flatMap { case (slice: FileSlice, number: Int) =>
        val rows = reads.rows(slice)
        TaskContext.get().addTaskCompletionListener[Unit](_ => rows.close())
        val path = UTF8String.fromString(slice.partitionPath)
        val out  = new GenericInternalRow(Array[Any](null, path, DuplicateKeys.InPlace))
        val keys = rows.filterNot(_.isNullAt(at)).map { row =>
          val key = row.getUTF8String(at)
          out.update(0, key)
          groups.foreach(g =>
            out.update(2, if (g.of(path, key) == number) DuplicateKeys.InPlace else DuplicateKeys.Misplaced))
          out: InternalRow
        }
        keys ++ { rows.close(); Iterator.empty }
      }
    }
    val shuffled = order.shuffled(session, keys, DuplicateKeys.Columns, tasks, MetaColumns.RecordKey,
      MetaColumns.PartitionPath)
    val sorted =
      order.sorted(session, shuffled, DuplicateKeys.Columns, MetaColumns.RecordKey, MetaColumns.PartitionPath)
    Partitions.map(sorted)(new RepeatedKeys(_, compares): Iterator[InternalRow])
  }

  private def reader(columns: StructType): SliceReader = table.reader(settings.rule, columns)

  /** Completion times of the writes on the timeline; those of older ones are before them. */
  private def completionTimes: Map[String, String] =
    table.timeline.completed.flatMap(i => i.completed.map(i.requested -> _)).toMap
}

private[spark] object DuplicateKeys {

  /** Of a key, in the column of arrival: whether it is stored in its bucket. */
  private[tag] final val InPlace   = 0L
  private[tag] final val Misplaced = 1L

  private val Columns: StructType = StructType(Seq(MetaColumns.RecordKey, MetaColumns.PartitionPath).map(
    MetaColumns.schema(_)) :+ WriteRow.Arrival)
}

/** Of sorted keys those that come more than once, or are misplaced, each once; the rows are copies. */
private final class RepeatedKeys(sorted: Iterator[InternalRow], byPath: Boolean) extends Iterator[InternalRow] {
  private[this] var last: InternalRow  = _
  private[this] var isTaken            = false
  private[this] var ahead: InternalRow = _

  override def hasNext: Boolean = {
    while (ahead == null && sorted.hasNext) {
      val row = sorted.next()
      if (last == null || !isSame(row)) {
        last = row.copy()
        isTaken = row.getLong(2) == DuplicateKeys.Misplaced
        if (isTaken) ahead = last
      } else if (!isTaken) {
        isTaken = true
        ahead = last
      }
    }
    ahead != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = ahead
    ahead = null
    row
  }

  private def isSame(row: InternalRow): Boolean =
    row.getUTF8String(0) == last.getUTF8String(0) && (!byPath || row.getUTF8String(1) == last.getUTF8String(1))
}
