// Hot path: one call per version.
package io.merganser.merge.columns

import io.merganser.merge.PackedCopy
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp
import org.apache.spark.sql.types.{DataType, StructType}

/** The functions of a layout's columns, and the resolved expressions among them. */
private[columns] final class ColumnValues(val functions: Array[ColumnFunction], computed: Map[Int, Expression]) {

  /** Compiles merges: parts of Spark's expressions read settings when code is generated for them. */
  def compiling[T](compile: => T): T = if (computed.isEmpty) compile else ExpressionSettings.during(compile)

  /** The merged value of a column, of references to the columns of each version. */
  def apply(i: Int, isLate: Boolean, older: Int => Expression, newer: Int => Expression): Expression =
    functions(i) match {
      case function: ValueFunction => function.merged(older(i), newer(i), isLate)
      case _: ColumnFunction.Computed =>
        computed(i).transform { case BoundReference(at, _, _) =>
          if (at < functions.length) older(at) else newer(at - functions.length)
        }
    }
}

/**
 * The merge of two versions that provide the same columns as all others that it is used for, by the same
 * clocks late-arriving. Not thread safe.
 *
 * If the newer version is not late-arriving, most columns are its own, and the merged row is a copy of its packed row
 * in which the others are set. Otherwise, and where the others have no fixed width, it is a [[MergedRow]], so that no
 * value is copied; a column of a type that this cannot read makes a packed row of all columns.
 *
 * @param lateClocks a bit for each clock by which the newer version is late-arriving, the lowest for the table's
 * @param isLate     whether it is by all of them: then the older version may stay as it is
 * @param lateColumns whether the newer version is late-arriving by the clock of each column
 * @param olderWidth number of columns of the older version's row: rows may have more than the layout, after its own
 * @param olderHas   which columns the older version provides; null for all
 * @param newerHas   which columns the newer version provides; null for all
 */
private[columns] final class ColumnMerge(
    schema: StructType,
    merged: ColumnValues,
    isMetadata: Array[Boolean],
    lateClocks: Int,
    val isLate: Boolean,
    lateColumns: Array[Boolean],
    olderWidth: Int,
    olderHas: Array[Boolean],
    newerHas: Array[Boolean]
) {

  /** What the result provides, where both versions are partial. */
  val provided: Array[Boolean] =
    if (olderHas == null || newerHas == null) null
    else olderHas.indices.map(i => olderHas(i) || newerHas(i)).toArray

  /** The merged columns over the columns of the older version, then those of the newer one. */
  val values: Seq[Expression] = schema.indices.map { i =>
    if (newerHas != null && !newerHas(i)) older(i)
    else if (isMetadata(i) || (olderHas != null && !olderHas(i))) newer(i)
    else merged(i, lateColumns(i), older, newer)
  }

  private[this] val both             = new BothVersions
  private[this] val difference       = if (isLate) Predicate.create(anyChange) else null
  private[this] val copied           = new PackedCopy
  private[this] val patch            = if (isLate) null else patches
  private[this] lazy val project     = merged.compiling(UnsafeProjection.create(values))
  private[this] lazy val view        = if (schema.forall(field => MergedRow.reads(field.dataType))) viewed else null
  private[this] var own: InternalRow = _

  def isFor(late: Int, width: Int, older: Array[Boolean], newer: Array[Boolean]): Boolean =
    lateClocks == late && olderWidth == width && isSame(olderHas, older) && isSame(newerHas, newer)

  private def isSame(a: Array[Boolean], b: Array[Boolean]) = (a eq b) || java.util.Arrays.equals(a, b)

  /** Sets the two rows to merge, for the calls below. */
  def set(older: InternalRow, newer: InternalRow): Unit = both.set(read(older), read(newer), olderWidth)

  /** A row that a merge made reads the rows that it was made of, or is written by the next merge. */
  private def read(row: InternalRow): InternalRow =
    if (row.isInstanceOf[MergedRow] || (row eq copied.row) || (row eq own)) row.copy() else row

  /**
   * The columns of the two rows that were set, the older one's first: also after a merge that failed, whereas a
   * [[MergedRow]] that was passed in may have other values by then.
   */
  def versions: InternalRow = both

  /** Whether the result differs from the older version; only where the newer one is late-arriving. */
  def changes: Boolean = difference.eval(both)

  /** The merged row: valid until the next call, and as long as the two rows are. */
  def row: InternalRow = both.newer match {
    case packed: UnsafeRow if patch != null && packed.numFields == schema.length =>
      val row = copied.copyOf(packed)
      patch.target(row)(both)
      row
    case _ if view != null => view.computed()
    case _ =>
      val row = project(both)
      if (own ne row) own = row
      row
  }

  /** Sets the columns of a copy of the newer version's row that are not its own; null if one has no fixed width. */
  private def patches: MutableProjection = {
    val others = schema.indices.filter(i => values(i) != newer(i))
    if (!others.forall(i => UnsafeRow.isFixedLength(schema(i).dataType))) null
    else MutableProjection.create(schema.indices.map(i => if (others.contains(i)) values(i) else NoOp))
  }

  private def viewed: MergedRow = {
    val computed = schema.indices.filter(i => values(i) != older(i) && values(i) != newer(i))
    val at = schema.indices.map(i =>
      if (values(i) == older(i)) i else if (values(i) == newer(i)) olderWidth + i else ~computed.indexOf(i))
    new MergedRow(both, at.toArray, merged.compiling(UnsafeProjection.create(computed.map(values))), project)
  }

  private def older(i: Int): Expression = BoundReference(i, schema(i).dataType, nullable = true)

  private def newer(i: Int): Expression = BoundReference(olderWidth + i, schema(i).dataType, nullable = true)

  private def anyChange: Expression =
    schema.indices.filterNot(isMetadata(_)).filter(i => values(i) != older(i)).map(i => change(i, schema(i).dataType))
      .reduceOption(Or(_, _)).getOrElse(FalseLiteral)

  /**
   * A value that is added counts even if the sum is the same, so that grouping does not matter. Maps have no
   * equality.
   */
  private def change(i: Int, dataType: DataType): Expression =
    if (merged.functions(i).isInstanceOf[ColumnFunction.Computed])
      if (RowOrdering.isOrderable(dataType)) Not(EqualNullSafe(values(i), older(i))) else TrueLiteral
    else if (!merged.functions(i).isIdempotent || !RowOrdering.isOrderable(dataType)) IsNotNull(newer(i))
    else Not(EqualNullSafe(values(i), older(i)))
}
