package io.merganser.table.explain

import io.merganser.merge.{RowLayout, Version}
import io.merganser.merge.buffer.{Outcome, TraceStep}
import io.merganser.table.change.ChangeReason
import io.merganser.table.rule.StoredRule
import io.merganser.table.slice.PreviewedRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import scala.collection.mutable

/**
 * Collects some of the rows that a write would change in a file group, as strings. In a task.
 *
 * @param columns  the table's data columns, which come first in rows
 * @param zone     in which timestamps are shown
 * @param most     rows to collect of each outcome
 * @param looksUp  false for a plain insert, which adds rows beside stored ones
 */
final class PreviewRows(
    rule: StoredRule,
    layout: RowLayout,
    columns: StructType,
    zone: String,
    most: Int,
    partitionPath: String,
    looksUp: Boolean
) {
  private[this] val sentences = new RecordSentences(rule, layout, columns.length, zone)
  private[this] val reasons   = new ChangeReason(rule, columns)
  private[this] val rows      = mutable.ArrayBuffer.empty[PreviewedRow]
  private[this] val counted   = mutable.HashMap.empty[Int, Int].withDefaultValue(0)

  def result: Seq[PreviewedRow] = rows.toList

  /**
   * @param outcome  of all versions of the key: Inserted, Updated, Late, Deleted, Absent or Ignored
   * @param step     of the version that decided
   * @param versions number of versions of the key in the batch
   * @param before   the row before, or null
   * @param after    the row afterwards, or null
   */
  def add(outcome: Int, step: TraceStep, versions: Int, before: InternalRow, after: InternalRow): Unit =
    if (counted(outcome) < most) {
      counted(outcome) += 1
      rows += PreviewedRow(partitionPath, layout.key(step.version.row).toString, PreviewRows.names(outcome),
        several(versions) + reason(outcome, step), sentences.values(step.version), Option(before).map(sentences.row),
        Option(after).map(sentences.row))
    }

  private def several(versions: Int): String = if (versions > 1) s"of $versions versions in the batch: " else ""

  private def reason(outcome: Int, step: TraceStep): String = outcome match {
    case Outcome.Absent if step.version.isDelete => "a delete of a key that has no row"
    case Outcome.Absent                          => "a partial row whose key is not stored is ignored"
    case Outcome.Inserted if !looksUp            => "a plain insert adds the row, whether or not its key is stored"
    case _                                       => sentences.merged(step, RecordDecision.of(step, reasons))
  }
}

object PreviewRows {

  val names: Map[Int, String] = Map(
    Outcome.Inserted -> "inserted",
    Outcome.Updated -> "updated",
    Outcome.Late -> "late",
    Outcome.Deleted -> "deleted",
    Outcome.Absent -> "absent",
    Outcome.Ignored -> "ignored"
  )

  /** A row, as a version that is stored. */
  def stored(row: InternalRow): Version =
    if (row == null) null else new Version().set(row, isDelete = false, isUnconditional = false)
}
