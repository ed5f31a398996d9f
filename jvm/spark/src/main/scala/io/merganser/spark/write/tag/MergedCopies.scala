package io.merganser.spark.write.tag

import io.merganser.merge.RowLayout
import io.merganser.merge.buffer.{SortedMerge, VersionCursor}
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.util.Try

/**
 * Merges the copies of a key, in the order in which they were committed.
 *
 * If the result is one of the copies, that one is kept where it is, and the others are deleted from their slices. If
 * it is a row of its own, all copies are deleted, and it is written into the slice of the newest copy in its partition.
 * A copy that shares its slice with one to be deleted is written again: a delete has no other address than the key. In
 * a table with buckets the row of a key is in its bucket afterwards, also if the key is stored once.
 *
 * @param slices  the slices that may hold copies
 * @param times   completion times of writes by their requested times
 * @param pathOf  the partition path of a row of the layout; None if all copies of a key have the same
 * @param groups  where keys belong; None: anywhere
 */
private[write] final class MergedCopies(
    data: StructType,
    columns: StructType,
    compiled: CompiledRule,
    slices: Array[SliceRef],
    times: Map[String, String],
    pathOf: Option[Expression],
    groups: Option[BucketGroups] = None
) extends Serializable {
  import MergedCopies._

  private val types  = columns.map(_.dataType).toArray
  private val width  = data.length
  private val layout = compiled.layout
  private val key    = columns.fieldIndex(MetaColumns.RecordKey)
  private val commit = columns.fieldIndex(MetaColumns.CommitTime)
  private val seqno  = columns.fieldIndex(MetaColumns.CommitSeqno)

  @transient private lazy val path   = pathOf.map(expression => UnsafeProjection.create(Seq(expression)))
  @transient private lazy val packed = UnsafeProjection.create(data.map(_.dataType).toArray)

  /** @param found rows of one key, from [[StoredKeyScan]] */
  def apply(found: Seq[InternalRow]): Iterator[InternalRow] =
    if (found.size < 2 && (found.isEmpty || groups.isEmpty)) Iterator.empty
    else {
      val copies = found.map(row => Copy(stored(row), row.getInt(StoredKeyScan.SliceOrdinal))).sortBy(committed)
      val from   = slices(copies.head.slice).path
      val own    = groups.map(_.of(from, copies.head.row.getUTF8String(key)))
      val result = if (copies.size == 1) Some(copies.head.row) else merge(copies)
      val kept = result.map(bytes).fold(-1)(row =>
        copies.lastIndexWhere(copy => own.forall(_ == copy.slice) && bytes(copy.row) == row))
      val target =
        result.map(row => own.getOrElse(if (kept >= 0) copies(kept).slice else sliceFor(row, copies)))
      val stays = kept >= 0 && copies.count(_.slice == copies(kept).slice) == 1
      val outcomes = copies.zipWithIndex.map { case (copy, i) =>
        val role = if (stays && i == kept) Kept else Removed
        out(copy.row, copy.slice, slices(copy.slice).path, role, copy.row.getUTF8String(commit))
      }
      val written =
        if (stays) Nil
        else result.map(row => out(row, target.get, pathFor(row, target.get, from), Written, null)).toSeq
      // A delete in the logs may have a larger ordering value than the row that is moved there.
      val cleared = for {
        group <- target if written.nonEmpty && own.isDefined && group >= 0
        if groups.get.mayHaveDeletes(group) && !copies.exists(_.slice == group)
      } yield out(copies.head.row, group, from, Cleared, null)
      val rows = outcomes ++ cleared ++ written
      rows.head.update(width + CopiesAt, copies.size)
      rows.iterator
    }

  /** None if the rule deletes the key. */
  private def merge(copies: Seq[Copy]): Option[InternalRow] = {
    val versions = VersionCursor.of(copies.tail.iterator.map(_.row))((version, row) => {
      layout.fill(version, row); ()
    })
    val merge =
      SortedMerge.ofLogs(Iterator(copies.head.row), versions, layout, compiled.fold(slices(copies.head.slice).group))
    if (merge.next() && merge.isLive) Some(copied(merge.row, 0)) else None
  }

  /** The slice of the newest copy in the row's partition, or [[Tagging.Untagged]]. */
  private def sliceFor(row: InternalRow, copies: Seq[Copy]): Int = path match {
    case None => copies.last.slice
    case Some(of) =>
      val own = of(row).getUTF8String(0)
      copies.reverseIterator.map(_.slice).find(slices(_).path == own).getOrElse(Tagging.Untagged)
  }

  /** Order of commits; rows of one commit in the order in which they were written. */
  private def committed(copy: Copy): (String, Long, Long, String) = {
    val time  = Option(copy.row.getUTF8String(commit)).fold(slices(copy.slice).instant)(_.toString)
    val parts = Option(copy.row.getUTF8String(seqno)).fold(Array.empty[String])(_.toString.split('_'))
    def part(fromEnd: Int): Long = Try(parts(parts.length - fromEnd).toLong).getOrElse(0L)
    (times.getOrElse(time, time), part(2), part(1), slices(copy.slice).group)
  }

  private def bytes(row: InternalRow): UnsafeRow = packed(row).copy()

  private def stored(row: InternalRow): InternalRow = copied(row, StoredKeyScan.FirstColumn)

  /** The columns of the layout, which begin at ordinal `from`. */
  private def copied(row: InternalRow, from: Int): GenericInternalRow = {
    val copy = new GenericInternalRow(types.length)
    types.indices.foreach(i => copy.update(i, InternalRow.copyValue(RowLayout.valueAt(row, from + i, types(i)))))
    copy
  }

  /** @param from the partition of the copies, if they are all in one */
  private def pathFor(row: InternalRow, slice: Int, from: UTF8String): UTF8String =
    if (slice >= 0) slices(slice).path else path.fold(from)(_(row).getUTF8String(0).copy())

  private def out(row: InternalRow, slice: Int, where: UTF8String, role: Int, time: UTF8String): GenericInternalRow = {
    val out = new GenericInternalRow(width + Added)
    (0 until width).foreach(i => out.update(i, RowLayout.valueAt(row, i, types(i))))
    val isDelete = role == Removed || role == Cleared
    Seq[Any](row.getUTF8String(key), where, if (isDelete) 0L else 1L, isDelete, slice, role, 0, time).zipWithIndex
      .foreach { case (value, i) => out.update(width + i, value) }
    out
  }
}

private[spark] object MergedCopies {

  private final case class Copy(row: InternalRow, slice: Int)

  /** A copy that stays as it is. */
  final val Kept = 0

  /** A copy that is deleted from its slice. */
  final val Removed = 1

  /** A row that is written, after the deletes. */
  final val Written = 2

  /** A delete in the slice of the row that is written, which has no copy of it. */
  final val Cleared = 3

  final val Roles = 4

  val Role = "__merganser_role"

  /** Number of copies of the key, in one row of each key; 0 in the others. */
  val Copies = "__merganser_copies"

  /** Requested time of the write that a copy is of. */
  val Commit = "__merganser_commit"

  private final val CopiesAt = 6
  private final val Added    = 8

  /** The data columns, what identifies the row in its write, and what becomes of it. */
  def columns(data: StructType): StructType = StructType(
    data.map(_.copy(nullable = true)) ++ Seq(
      WriteRow.StoredKey,
      WriteRow.StoredPath,
      WriteRow.SourceArrival,
      WriteRow.UnconditionalDelete,
      WriteRow.Slice,
      StructField(Role, IntegerType, nullable = false),
      StructField(Copies, IntegerType, nullable = false),
      StructField(Commit, StringType)
    ))
}
