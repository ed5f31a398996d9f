package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import scala.annotation.nowarn

/** Which values of a row are missing, and are filled from another version. */
sealed trait MissingValues extends Serializable {
  def isMissing(row: InternalRow, ordinal: Int, dataType: DataType): Boolean

  /** Whether a column of that type can have a missing value at all. */
  def occurIn(dataType: DataType): Boolean

  /** True if they are nulls: a null that a partial version provides is a value nevertheless. */
  def areNulls: Boolean = false

  /** The missing values in rows of these columns. */
  @nowarn("cat=unused-params")
  def in(schema: StructType): MissingValues = this
}

object MissingValues {

  /** Null is missing; a struct, an array and a map are one value, whatever is null inside them. */
  case object Nulls extends MissingValues {
    override def isMissing(row: InternalRow, ordinal: Int, dataType: DataType): Boolean = row.isNullAt(ordinal)

    override def occurIn(dataType: DataType): Boolean = true

    override def areNulls: Boolean = true

    override def in(schema: StructType): MissingValues = {
      val defaults = ColumnDefault.recognised(schema)
      if (defaults.forall(_ == null)) this else new NullsAndDefaults(defaults)
    }
  }

  /** Null is missing, and so is a column's default in the table's schema. */
  private final class NullsAndDefaults(defaults: Array[Any]) extends MissingValues {
    override def isMissing(row: InternalRow, ordinal: Int, dataType: DataType): Boolean =
      row.isNullAt(ordinal) || (defaults(ordinal) != null && defaults(ordinal) == row.get(ordinal, dataType))

    override def occurIn(dataType: DataType): Boolean = true

    override def areNulls: Boolean = true
  }

  /** A string, or its bytes, that a source writes in place of a value it did not send; null is a value. */
  final case class Marked(marker: String) extends MissingValues {
    private[this] val text  = UTF8String.fromString(marker)
    private[this] val bytes = text.getBytes

    override def isMissing(row: InternalRow, ordinal: Int, dataType: DataType): Boolean = !row.isNullAt(ordinal) && {
      if (dataType == BinaryType) java.util.Arrays.equals(row.getBinary(ordinal), bytes)
      else row.getUTF8String(ordinal) == text
    }

    override def occurIn(dataType: DataType): Boolean = dataType.isInstanceOf[StringType] || dataType == BinaryType
  }
}

/**
 * The wrapped rule chooses the winner; the winner's missing values are then filled from the loser.
 *
 * A delete neither fills nor is filled, and a row that wins over one carries nothing from before it. Inside a
 * batch a late-arriving delete with an ordering value is ignored: the batch is one change, the winner's.
 *
 * Laws: idempotent. Associative where the newer version always wins, as under commit time. Where ordering values
 * decide, a late-arriving version would fill a missing value for which the stored row has a newer one, so versions
 * are buffered uncombined. The order of versions decides which of several values is filled in.
 *
 * @param chooser    chooses the winner
 * @param isByTime   whether the newer version always wins
 * @param missing    values of the winner to be replaced
 * @param fillable   positions of the columns that are filled; the winner's other columns stay as they are
 * @param commitMetadataColumns positions of columns that state when and where a row was written: a filled row has the
 *                              newer version's
 * @param fillsFromLateArriving  whether a late-arriving version fills missing values of the row that stays
 */
final class FillMissingRule private (
    chooser: MergeRule,
    isByTime: Boolean,
    missing: MissingValues,
    fillable: Array[Int],
    commitMetadataColumns: Array[Int],
    fillsFromLateArriving: Boolean,
    schema: StructType
) extends MergeRule {
  private[this] val types = schema.map(_.dataType).toArray

  // Under commit time a newer delete removes whatever was before it, and needs no mark for that.
  override val laws: Laws =
    Laws(associative = isByTime, idempotent = true, orderFree = false, combinesBatch = true, marksDeletes = !isByTime)

  override def merge(older: Version, newer: Version): Version = {
    val winner = chooser.merge(older, newer)
    if (older.isDelete) { if (winner.isDelete) winner else winner.withoutHistory }
    else if (newer.isDelete || (newer.isOverlaid && (winner eq newer) && missing.areNulls)) winner
    else filled(winner, older, newer)
  }

  override def combine(older: Version, newer: Version): Version = {
    val winner = chooser.merge(older, newer)
    if (older.isDelete || newer.isDelete) winner else filled(winner, older, newer)
  }

  private def filled(winner: Version, older: Version, newer: Version): Version = {
    val isLate = winner.row ne newer.row
    if (isLate && !fillsFromLateArriving) winner
    else {
      val other = if (isLate) newer else older
      var i     = 0
      while (i < fillable.length && !takes(winner, other, fillable(i))) i += 1
      if (i == fillable.length) winner else fill(winner, other, newer, i)
    }
  }

  private def takes(winner: Version, other: Version, column: Int): Boolean =
    if (winner.isPartial && !winner.provided(column)) !other.isPartial || other.provided(column)
    else isMissing(winner, column) && (!other.isPartial || other.provided(column)) && !isMissing(other, column)

  private def isMissing(version: Version, column: Int): Boolean = missing.isMissing(version.row, column, types(column))

  private def fill(winner: Version, other: Version, newer: Version, first: Int): Version = {
    val columns  = new Array[Any](types.length)
    val provided = if (winner.isPartial) winner.provided.clone() else null
    var i        = 0
    while (i < types.length) {
      columns(i) = RowLayout.valueAt(winner.row, i, types(i))
      i += 1
    }
    i = first
    while (i < fillable.length) {
      val column = fillable(i)
      if (takes(winner, other, column)) {
        columns(column) = RowLayout.valueAt(other.row, column, types(column))
        if (provided != null) provided(column) = true
      }
      i += 1
    }
    i = 0
    while (i < commitMetadataColumns.length) {
      val column = commitMetadataColumns(i)
      columns(column) = RowLayout.valueAt(newer.row, column, types(column))
      i += 1
    }
    val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
    result.provided = provided
    result.inserts = provided != null && winner.inserts && other.inserts
    result.endsHistory = winner.endsHistory
    result
  }
}

object FillMissingRule {

  /**
   * The newer version wins; its ordering columns are columns like others.
   *
   * @param commitMetadataColumns names of columns that state when and where a row was written
   */
  def byCommitTime(layout: RowLayout, missing: MissingValues, commitMetadataColumns: Seq[String]): FillMissingRule =
    apply(new CommitTimeRule, isByTime = true, missing, layout, commitMetadataColumns, Nil,
      fillsFromLateArriving = true)

  /** The version with the larger ordering value wins, and its ordering value stays. */
  def byEventTime(layout: RowLayout, missing: MissingValues, commitMetadataColumns: Seq[String]): FillMissingRule =
    if (layout.orderingOrdinals.isEmpty) byCommitTime(layout, missing, commitMetadataColumns)
    else byOrder(layout, new OrderingComparator(layout), missing, commitMetadataColumns, fillsFromLateArriving = true)

  /** The version that is greater by `order` wins, and its ordering fields stay. */
  def byOrder(
      layout: RowLayout,
      order: RowOrder,
      missing: MissingValues,
      commitMetadataColumns: Seq[String],
      fillsFromLateArriving: Boolean
  ): FillMissingRule =
    apply(new EventTimeRule(order), isByTime = false, missing, layout, commitMetadataColumns,
      layout.orderingOrdinals.toSeq, fillsFromLateArriving)

  private def apply(
      chooser: MergeRule,
      isByTime: Boolean,
      missing: MissingValues,
      layout: RowLayout,
      commitMetadataColumns: Seq[String],
      never: Seq[Int],
      fillsFromLateArriving: Boolean
  ): FillMissingRule = {
    val metadata = layout.schema.indices.filter(i => commitMetadataColumns.contains(layout.schema(i).name))
    val fillable =
      layout.schema.indices.filter(i => missing.occurIn(layout.schema(i).dataType)).diff(
        layout.keyOrdinal +: (never ++ metadata))
    new FillMissingRule(chooser, isByTime, missing.in(layout.schema), fillable.toArray, metadata.toArray,
      fillsFromLateArriving,
      layout.schema)
  }
}
