package io.merganser.merge.laws

import io.merganser.merge.columns.ColumnFunction
import io.merganser.merge.{OrderingField, RowLayout, Version}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, Literal}

/** What a version does to its key. */
sealed trait SampleKind

object SampleKind {
  case object Row extends SampleKind

  /** A delete with an ordering value. */
  case object OrderedDelete extends SampleKind

  /** A delete without one. */
  case object Delete extends SampleKind
}

/**
 * A version of one key as data, of which any number of equal versions are made.
 *
 * @param values one for each column of the layout
 */
final case class VersionSample(values: Vector[Any], kind: SampleKind) {

  /** A full version. A delete has the key alone, and its ordering columns if it has an ordering value. */
  def version(layout: RowLayout): Version = kind match {
    case SampleKind.Row           => layout.fill(new Version, row)
    case SampleKind.OrderedDelete => deleted(layout, layout.orderingOrdinals.toSeq, isUnconditional = false)
    case SampleKind.Delete        => deleted(layout, Nil, isUnconditional = true)
  }

  /** A version that provides the columns at these positions. */
  def partial(layout: RowLayout, provided: Set[Int]): Version =
    layout.fill(new Version, row, values.indices.map(provided).toArray, inserts = false)

  /**
   * A version that takes back what this one adds, as writes make it of a retraction.
   *
   * @param sums  positions of the columns from which it is subtracted
   * @param fixed positions of the columns that identify the row
   */
  def retraction(layout: RowLayout, sums: Set[Int], fixed: Set[Int]): Version = {
    val taken = values.indices.map { i =>
      val dataType = layout.schema(i).dataType
      if (sums(i)) ColumnFunction.Sum.negated(Literal(values(i), dataType), dataType).eval()
      else if (fixed(i)) values(i)
      else null
    }
    val row = new GenericInternalRow(taken.toArray[Any])
    layout.fill(new Version, row, values.indices.map(i => sums(i) || fixed(i)).toArray, inserts = true)
  }

  /** The same version with the columns of another layout, which are among those of this one. */
  def of(layout: RowLayout, narrow: RowLayout): VersionSample =
    copy(values = narrow.schema.fieldNames.map(name => values(layout.schema.fieldIndex(name))).toVector)

  /** The ordering values of a version that has them. */
  def ordering(layout: RowLayout): Seq[Any] = layout.ordering.toSeq.map((_: OrderingField).valueIn(row))

  private def row = new GenericInternalRow(values.toArray)

  private def deleted(layout: RowLayout, columns: Seq[Int], isUnconditional: Boolean): Version = {
    val found = new Array[Any](values.size)
    (layout.keyOrdinal +: columns).foreach(i => found(i) = values(i))
    new Version().set(new GenericInternalRow(found), isDelete = true, isUnconditional = isUnconditional)
  }
}
