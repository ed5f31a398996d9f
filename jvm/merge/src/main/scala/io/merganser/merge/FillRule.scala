package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Tells the values of a row that say nothing: another version's value takes their place. */
sealed trait Holes extends Serializable {
  def isHole(row: InternalRow, ordinal: Int, dataType: DataType): Boolean

  /** Whether a column of that type can have a hole at all. */
  def areIn(dataType: DataType): Boolean
}

object Holes {

  /** Null is a hole; a struct, an array and a map are one value, whatever is null inside them. */
  case object Nulls extends Holes {
    override def isHole(row: InternalRow, ordinal: Int, dataType: DataType): Boolean = row.isNullAt(ordinal)

    override def areIn(dataType: DataType): Boolean = true
  }

  /** A text, or bytes that spell it, that a source writes in place of a value it did not send; null is a value. */
  final case class Marked(marker: String) extends Holes {
    private[this] val text  = UTF8String.fromString(marker)
    private[this] val bytes = text.getBytes

    override def isHole(row: InternalRow, ordinal: Int, dataType: DataType): Boolean = !row.isNullAt(ordinal) && {
      if (dataType == BinaryType) java.util.Arrays.equals(row.getBinary(ordinal), bytes) else row.getUTF8String(ordinal) == text
    }

    override def areIn(dataType: DataType): Boolean = dataType.isInstanceOf[StringType] || dataType == BinaryType
  }
}

/**
 * The rule inside chooses the version that leads; the leader's holes then take the other version's values.
 *
 * A delete neither gives values nor takes any, and what comes after one is merged with nothing that was before it.
 * Inside a batch an ordered delete that loses is as if it had not come: the batch is one change, the winner's.
 *
 * Laws: idempotent. Associative where the newer version always leads, as under commit time; where ordering values
 * choose, a late version would fill a hole that a value already known belongs in, so whoever buffers keeps versions
 * apart. The order of versions decides which of several values fills a hole.
 *
 * @param leads     chooses the leader
 * @param isByTime  whether the newer version always leads
 * @param holes     values of the leader to be replaced
 * @param fillable  positions of the columns that are filled; the leader keeps the others as they are
 * @param stamps    positions of columns that say when and where a row was written: a filled row has the newer one's
 * @param fillsLate whether a late version fills the holes of the one that stays
 */
final class FillRule private (
    leads: MergeRule,
    isByTime: Boolean,
    holes: Holes,
    fillable: Array[Int],
    stamps: Array[Int],
    fillsLate: Boolean,
    schema: StructType
) extends MergeRule {
  private[this] val types = schema.map(_.dataType).toArray

  override val laws: Laws = Laws(associative = isByTime, idempotent = true, orderFree = false)

  override val combinesBatch: Boolean = true

  override def merge(older: Version, newer: Version): Version = {
    val leader = leads.merge(older, newer)
    if (newer.isDelete && isByTime) newer // it removes whatever was before it, and needs no mark to say so
    else if (older.isDelete) { if (leader.isDelete || (leader.row eq older.row)) leader else leader.withoutHistory }
    else if (newer.isDelete || newer.endsHistory) leader
    else filled(leader, older, newer)
  }

  override def mergeLaid(older: Version, laid: Version): Version =
    if (holes != Holes.Nulls) merge(older, laid)
    else {
      val leader = leads.merge(older, laid)
      if (leader.row eq laid.row) leader else merge(older, laid)
    }

  override def combine(older: Version, newer: Version): Version = {
    val leader = leads.merge(older, newer)
    if (older.isDelete || newer.isDelete || newer.endsHistory) leader else filled(leader, older, newer)
  }

  private def filled(leader: Version, older: Version, newer: Version): Version = {
    val isLate = leader.row ne newer.row
    if (isLate && !fillsLate) leader
    else {
      val other = if (isLate) newer else older
      var i     = 0
      while (i < fillable.length && !takes(leader, other, fillable(i))) i += 1
      if (i == fillable.length) leader else fill(leader, other, newer, i)
    }
  }

  private def takes(leader: Version, other: Version, column: Int): Boolean =
    if (leader.isPartial && !leader.provided(column)) !other.isPartial || other.provided(column)
    else isHole(leader, column) && (!other.isPartial || other.provided(column)) && !isHole(other, column)

  private def isHole(version: Version, column: Int): Boolean = holes.isHole(version.row, column, types(column))

  private def fill(leader: Version, other: Version, newer: Version, first: Int): Version = {
    val columns  = new Array[Any](types.length)
    val provided = if (leader.isPartial) leader.provided.clone() else null
    var i        = 0
    while (i < types.length) {
      columns(i) = RowLayout.valueAt(leader.row, i, types(i))
      i += 1
    }
    i = first
    while (i < fillable.length) {
      val column = fillable(i)
      if (takes(leader, other, column)) {
        columns(column) = RowLayout.valueAt(other.row, column, types(column))
        if (provided != null) provided(column) = true
      }
      i += 1
    }
    i = 0
    while (i < stamps.length) {
      columns(stamps(i)) = RowLayout.valueAt(newer.row, stamps(i), types(stamps(i)))
      i += 1
    }
    val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnordered = false)
    result.provided = provided
    result.inserts = provided != null && leader.inserts && other.inserts
    result.endsHistory = leader.endsHistory
    result
  }
}

object FillRule {

  /**
   * The newer version leads; its ordering columns are columns like others.
   *
   * @param stamps names of columns that say when and where a row was written
   */
  def byCommitTime(layout: RowLayout, holes: Holes, stamps: Seq[String]): FillRule =
    apply(new CommitTimeRule, isByTime = true, holes, layout, stamps, Nil, fillsLate = true)

  /** The version with the larger ordering value leads, and keeps it. */
  def byEventTime(layout: RowLayout, holes: Holes, stamps: Seq[String]): FillRule =
    if (layout.orderingOrdinals.isEmpty) byCommitTime(layout, holes, stamps)
    else byOrder(layout, new OrderingComparator(layout), holes, stamps, fillsLate = true)

  /** The version that is greater by `order` leads, and keeps its ordering fields. */
  def byOrder(layout: RowLayout, order: RowOrder, holes: Holes, stamps: Seq[String], fillsLate: Boolean): FillRule =
    apply(new EventTimeRule(order), isByTime = false, holes, layout, stamps, layout.orderingOrdinals.toSeq, fillsLate)

  private def apply(
      leads: MergeRule,
      isByTime: Boolean,
      holes: Holes,
      layout: RowLayout,
      stamps: Seq[String],
      kept: Seq[Int],
      fillsLate: Boolean
  ): FillRule = {
    val stamped  = layout.schema.indices.filter(i => stamps.contains(layout.schema(i).name))
    val fillable = layout.schema.indices.filter(i => holes.areIn(layout.schema(i).dataType)).diff(layout.keyOrdinal +: (kept ++ stamped))
    new FillRule(leads, isByTime, holes, fillable.toArray, stamped.toArray, fillsLate, layout.schema)
  }
}
