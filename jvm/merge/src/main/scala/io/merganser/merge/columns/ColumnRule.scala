// Hot path: one call per version.
package io.merganser.merge.columns

import io.merganser.merge._
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}

import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * Merges each column by its function. The result of a column depends on the order of commits and on which of the two
 * versions is late-arriving, by the ordering fields of its group or, without one, of the table, and on nothing else.
 *
 * A delete removes the row unless it is late-arriving or has another [[DeletePolicy]], and then ends its history:
 * whatever is committed next is a new row, even if it is late-arriving. Otherwise the versions of a batch could not be
 * combined: some of them might be lost to a delete in a log, and others not.
 *
 * A partial version merges the columns that it provides; the others stay as they are. A missing ordering field is a
 * tie.
 *
 * Laws: those that all its functions have, for rows. A delete with an ordering value is buffered uncombined, because
 * whether it is late-arriving depends on the stored row, and what follows it on that.
 *
 * An expression reads other columns, too. A partial version that provides its column must provide all that it reads of
 * the newer version; without its column, the older value stays.
 *
 * [[ColumnMerge]] makes the row, by generated code over both versions.
 *
 * @param columns  the function of each column of the layout
 * @param groups   those of which the layout has columns; it has all their ordering fields
 * @param metadata names of columns that state when and where a row was written: a merged row has the newer version's
 * @param delete   what a delete does that is not late-arriving by the table's ordering fields
 * @param fixed    names of columns that no delete resets: those that identify a row or mark deletes
 */
final class ColumnRule(
    layout: RowLayout,
    columns: String => ColumnFunction,
    groups: Seq[ColumnGroup],
    metadata: Seq[String],
    delete: DeletePolicy = DeletePolicy.RemoveRow,
    fixed: Set[String] = Set.empty
) extends MergeRule {
  private[this] val schema = layout.schema

  /** The table's ordering fields, then those of each group. */
  private[this] val clocks: Array[Clock] =
    (layout +: groups.map(group =>
      layout.copy(ordering = group.ordering.flatMap(OrderingField.find(schema, _)).toArray)))
      .map(new Clock(_)).toArray

  /** The clock of each column. */
  private[this] val clockOf: Array[Int] =
    schema.fieldNames.map(name => groups.indexWhere(_.members.contains(name)) + 1)

  private[this] val isOrdered = clocks(0).isOrdered

  /** Those of expressions, too, that are known to be the same as one with laws. */
  private[this] val functions: Array[ColumnFunction] = schema.fieldNames.map(name =>
    columns(name) match {
      case expression: ColumnFunction.Computed => expression.same(schema, name).getOrElse(expression)
      case function                            => function
    })
  private[this] val isMetadata: Array[Boolean] = schema.fieldNames.map(metadata.contains)
  private[this] val isFixed: Array[Boolean] =
    schema.indices.map(i => i == layout.keyOrdinal || fixed(schema(i).name)).toArray

  /** Whether a version wins or loses as a whole: no column of this layout needs another function. */
  private[this] val isPlain = groups.isEmpty && functions.forall(_ == ColumnFunction.Last)

  private[this] val decidesDeletes = delete != DeletePolicy.RemoveRow || groups.exists(_.delete != DeletePolicy.Ignore)

  @transient private[this] lazy val deletes = new Deletes(schema, (delete +: groups.map(_.delete)).toArray, clocks,
    clockOf, isFixed, isMetadata)

  /** The values of the expressions, over the layout's columns of the older version, then of the newer one. */
  @transient private[this] lazy val computed: Map[Int, Expression] =
    functions.indices.map(i => i -> functions(i)).collect { case (i, function: ColumnFunction.Computed) =>
      i -> function.over(schema, schema(i).name).fold(problem => throw problem.of(schema(i).name, function), identity)
    }.toMap

  @transient private[this] var last: ColumnMerge = _
  @transient private[this] lazy val merges       = mutable.ArrayBuffer.empty[ColumnMerge]

  // The result of a call is the older version of the next one, where a key's versions are folded.
  @transient private[this] lazy val oneResult     = new Version
  @transient private[this] lazy val anotherResult = new Version

  override val laws: Laws = {
    val isAssociative = schema.indices.forall(i =>
      functions(i).isAssociative(schema(i).dataType, clocks(clockOf(i)).isOrdered))
    new Laws(
      associative = isAssociative,
      idempotent = functions.forall(_.isIdempotent),
      orderFree = false,
      combinesBatch = isAssociative,
      everyDeleteEndsHistory = true,
      buffersDeletes = isOrdered || decidesDeletes,
      ignoresDeletes = decidesDeletes
    )
  }

  override def merge(older: Version, newer: Version): Version =
    if (newer.isDelete) deleted(older, newer)
    else if (isPlain && older.provided == null && newer.provided == null) {
      if (clocks(0).isLate(older.row, newer.row)) older else newer
    } else merged(mergeOf(lateClocks(older, newer), older, newer), older, newer)

  private def deleted(older: Version, newer: Version): Version =
    if (newer.isUnconditional) newer
    else if (decidesDeletes) deletes.merge(older, newer)
    else if (clocks(0).isLate(older.row, newer.row)) older
    else newer

  /** A bit for each clock by which the newer version is late-arriving. */
  private def lateClocks(older: Version, newer: Version): Int = {
    var late = 0
    var i    = 0
    while (i < clocks.length) {
      if (clocks(i).isLate(older, newer)) late |= 1 << i
      i += 1
    }
    late
  }

  private def mergeOf(late: Int, older: Version, newer: Version): ColumnMerge = {
    val width = RowAccess.numFields(older.row)
    if ((last eq null) || !last.isFor(late, width, older.provided, newer.provided))
      last = found(late, width, older, newer)
    last
  }

  /** There are few: most versions are full, and in rows of one or two widths. */
  private def found(late: Int, width: Int, older: Version, newer: Version): ColumnMerge = {
    var i = 0
    while (i < merges.length && !merges(i).isFor(late, width, older.provided, newer.provided)) i += 1
    if (i == merges.length) {
      requireRead(older, newer)
      val values = new ColumnValues(functions, computed)
      merges += values.compiling(new ColumnMerge(schema, values, isMetadata, late,
          isLate = isLateBy(late, newer.provided), clockOf.map(clock => (late & (1 << clock)) != 0), width,
          older.provided, newer.provided))
    }
    merges(i)
  }

  /**
   * Whether the newer version is late-arriving for all columns that it provides, besides those that identify, order or
   * delete rows.
   */
  private def isLateBy(late: Int, provided: Array[Boolean]): Boolean = {
    val columns = schema.indices.filter(i => !isMetadata(i) && !isFixed(i) && (provided == null || provided(i)))
    val all     = if (columns.isEmpty) clocks.indices else columns.map(clockOf(_))
    all.forall(clock => (late & (1 << clock)) != 0)
  }

  /** A partial version has all that the expressions of its columns read. Writes check it; other engines may not. */
  private def requireRead(older: Version, newer: Version): Unit =
    for ((i, value) <- computed if newer.provided == null || newer.provided(i)) {
      val read = value.collect { case reference: BoundReference => reference.ordinal }.toSet
      def lacks(version: Version, from: Int) =
        if (version.provided == null) None
        else schema.indices.find(column => read(from + column) && !version.provided(column)).map(schema(_).name)
      // Partial versions are buffered uncombined: the older version has a row.
      lacks(older, 0).foreach(column => throw new IllegalStateException(s"'$column' is missing in the older version"))
      lacks(newer, schema.length).foreach { column =>
        def value(version: Version) = ColumnRule.text(RowLayout.valueAt(version.row, i, schema(i).dataType))
        throw failure(i, newer, value(older), value(newer),
          s"the newer version does not provide '$column', which it reads", null)
      }
    }

  private def merged(merge: ColumnMerge, older: Version, newer: Version): Version =
    try {
      merge.set(older.row, newer.row)
      if (merge.isLate && !merge.changes) older
      else {
        val result = resultOf(older, newer).set(merge.row, isDelete = false, isUnconditional = false)
        if (older.provided != null && newer.provided != null) {
          result.provided = merge.provided
          result.inserts = older.inserts && newer.inserts
        }
        result
      }
    } catch { case failure if NonFatal(failure) => throw failed(merge, older, newer, failure) }

  private def resultOf(older: Version, newer: Version): Version =
    if ((older ne oneResult) && (newer ne oneResult)) oneResult
    else if ((older ne anotherResult) && (newer ne anotherResult)) anotherResult
    else new Version

  // --- errors

  /** Names the column by merging each on its own. */
  private def failed(merge: ColumnMerge, older: Version, newer: Version, failure: Throwable): Throwable = {
    val column = merge.values.indices.find(i =>
      try { merge.values(i).eval(merge.versions); false }
      catch { case NonFatal(_) => true })
    def value(i: Int, at: Int) = ColumnRule.text(RowLayout.valueAt(merge.versions, at, schema(i).dataType))
    column.fold(failure)(i =>
      this.failure(i, newer, value(i, i), value(i, RowAccess.numFields(older.row) + i), s"it threw $failure", failure))
  }

  private def failure(
      i: Int,
      newer: Version,
      olderValue: String,
      newerValue: String,
      reason: String,
      cause: Throwable
  ): MergerFailure =
    new MergerFailure(
      Seq("merger" -> s"function '${functions(i)}' of column '${schema(i).name}'",
        "key" -> layout.key(newer.row).toString.take(200), "older" -> olderValue, "newer" -> newerValue,
        "reason" -> reason),
      cause)
}

private object ColumnRule {

  /** Approximate number of characters of a value in a message. */
  private val TextLength = 200

  private def text(value: Any): String = String.valueOf(value).take(TextLength)
}
