// Hot path: one call per row.
package io.merganser.spark.change

import io.merganser.table.change.{ChangeReason, GroupChange}
import io.merganser.table.log.ChangeRecords
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.ChangeForm
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.merganser.RowJson
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Makes the rows of a read of change data from images.
 *
 * @param rule     the rule that the table stores, for reasons
 * @param columns  the table's data columns
 * @param required the columns to return
 * @param zone     time zone of timestamps in JSON
 */
final case class ChangeRows(
    rule: StoredRule,
    columns: StructType,
    form: ChangeForm,
    required: StructType,
    zone: String
) {

  /** Names of the columns of the images to return. */
  val needed: Set[String] =
    required.filter(f => f.name == ChangeRecords.Before || f.name == ChangeRecords.After).flatMap(_.dataType match {
      case image: StructType => image.fieldNames.toSeq
      case _                 => columns.fieldNames.toSeq
    }).toSet

  /** For the changes of one commit after the other, in a task. */
  private[change] def output(): ChangeOutput = new ChangeOutput(this)
}

private[change] final class ChangeOutput(rows: ChangeRows) {
  private[this] val typed   = rows.form.typed
  private[this] val names   = rows.required.fieldNames
  private[this] val values  = new GenericInternalRow(names.length)
  private[this] val project = UnsafeProjection.create(rows.required)
  private[this] val reason =
    if (names.contains(ChangeColumns.Reason)) new ChangeReason(rows.rule, rows.columns) else null
  private[this] val beforeOf = pruned(ChangeRecords.Before)
  private[this] val afterOf  = pruned(ChangeRecords.After)
  private[this] val json     = new RowJson(rows.columns, rows.zone)

  private[this] var instant, completed: UTF8String = _

  /** The changes of another commit or file group follow. */
  def start(change: GroupChange): Unit = {
    instant = UTF8String.fromString(change.instant)
    completed = UTF8String.fromString(change.completed)
  }

  /** @return a row that is reused */
  def row(before: UnsafeRow, after: UnsafeRow): UnsafeRow = {
    var i = 0
    while (i < names.length) {
      values.update(i, value(names(i), before, after))
      i += 1
    }
    project(values)
  }

  private def value(name: String, before: UnsafeRow, after: UnsafeRow): Any = name match {
    case ChangeRecords.Operation =>
      if (before == null) ChangeRecords.Insert else if (after == null) ChangeRecords.Delete else ChangeRecords.Update
    case ChangeRecords.Time | ChangeColumns.Instant => instant
    case ChangeColumns.CompletionTime               => completed
    case ChangeRecords.Before                       => image(before, beforeOf)
    case ChangeRecords.After                        => image(after, afterOf)
    case ChangeColumns.Reason                       => reason.of(before, after)
    case other                                      => throw new IllegalStateException(s"no change has a column $other")
  }

  private def image(of: UnsafeRow, some: UnsafeProjection): Any =
    if (of == null) null else if (!typed) json.of(of) else if (some == null) of else some(of)

  /** The requested columns of an image; null if it is not requested, or has all of its columns. */
  private def pruned(name: String): UnsafeProjection =
    rows.required.find(_.name == name).map(_.dataType).collect {
      case image: StructType if image.fieldNames.toSeq != rows.columns.fieldNames.toSeq =>
        UnsafeProjection.create(image.map(f =>
            BoundReference(rows.columns.fieldIndex(f.name), f.dataType, nullable = true)))
    }.orNull
}
