package io.merganser.spark.write

import io.merganser.merge.{OrderingComparator, RowLayout, Version}
import io.merganser.merge.buffer.{Outcome, RowMerge}
import io.merganser.table.config.{StoredRule, TableConfig}
import io.merganser.table.slice.{MergeCounts, TableRule}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** What becomes of a row that a statement appends to a log: an [[Outcome]] of the merge, or one of the others below. */
object RowOutcome {
  final val Inserted = Outcome.Inserted
  final val Updated  = Outcome.Updated

  /** Lost against the stored row. */
  final val Late    = Outcome.Kept
  final val Deleted = Outcome.Deleted

  /** Updated by a row of the same ordering value. */
  final val Tied = 6

  /** Not known: the rule merges the row with what is stored when the log is read. */
  final val Appended = 7

  /** To be replaced by what the rule makes of the row and the stored one; see [[StatementOutcomes]]. */
  final val ByRule = 8

  /** Nothing is to be counted for the row. */
  final val Uncounted = 0
}

/**
 * What becomes of the rows that a statement makes of stored ones: the table's own rule merges each with the stored row.
 *
 * Only under rules that look at nothing but ordering fields and delete marks, since nothing else is read of the stored rows. The
 * rows have the stored values of those columns behind their own.
 *
 * @param made columns of the statement's rows, without those stored values
 */
private[spark] final case class StatementOutcomes(rule: StoredRule, config: TableConfig, made: StructType) {

  /** The columns by which rows are merged. */
  val layout: StructType = TableRule.layoutSchema(new StructType, made, config, rule)

  /** Those of which the stored values are needed. */
  val ordering: Set[String] = TableRule.orderingColumns(rule, made).toSet

  /** To be called in a task. */
  def open(masks: Seq[ColumnMask]): RowOutcomes = new RowOutcomes(TableRule(rule, config, layout), made, masks)
}

/** To be used in the task that opened it. */
private[spark] final class RowOutcomes(compiled: TableRule, made: StructType, masks: Seq[ColumnMask]) {
  private[this] val layout     = compiled.layout
  private[this] val types      = layout.schema.map(_.dataType).toArray
  private[this] val ordinals   = layout.schema.fieldNames.map(made.fieldNames.indexOf(_))
  private[this] val provided   = masks.map(mask => layout.schema.fieldNames.map(mask.columns.contains)).toArray
  private[this] val comparator = if (layout.ordering.isEmpty) null else new OrderingComparator(layout)
  private[this] val merge      = new RowMerge(compiled.rule)
  private[this] val stored     = new GenericInternalRow(types.length)
  private[this] val newer      = new GenericInternalRow(types.length)
  private[this] val version    = new Version

  private[this] val outcomeAt   = made.fieldIndex(IncomingSchema.Outcome)
  private[this] val maskAt      = made.fieldIndex(IncomingSchema.Mask)
  private[this] val unorderedAt = made.fieldIndex(IncomingSchema.UnorderedDelete)

  /** Sets the outcome of a row that has [[RowOutcome.ByRule]] in its place. */
  def set(row: UnsafeRow): Unit = if (row.getInt(outcomeAt) == RowOutcome.ByRule) row.setInt(outcomeAt, of(row))

  private def of(row: InternalRow): Int = {
    var i = 0
    while (i < types.length) {
      stored.update(i, RowLayout.valueAt(row, made.length + i, types(i)))
      newer.update(i, if (ordinals(i) < 0) null else RowLayout.valueAt(row, ordinals(i), types(i)))
      i += 1
    }
    val mask = row.getInt(maskAt)
    if (row.getBoolean(unorderedAt)) version.set(newer, isDelete = true, isUnordered = true)
    else if (mask == IncomingSchema.FullRow) layout.fill(version, newer)
    else layout.fill(version, newer, provided(mask), masks(mask).inserts)
    merge.merge(stored, version)
    if (merge.outcome == Outcome.Updated && comparator != null && comparator.compare(merge.metBase, merge.row) == 0) RowOutcome.Tied
    else merge.outcome
  }
}

/**
 * Counts keys by what becomes of them. Rows of one key in one batch meet each other before they meet the stored row, so of a key
 * with several rows it is not known.
 */
private[write] final class KnownOutcomes(keyOrdinal: Int, outcomeOrdinal: Int) {
  private[this] var key: UTF8String = _
  private[this] var outcome         = RowOutcome.Uncounted
  private[this] var isDelete        = false
  private[this] var rows            = 0L
  private[this] val counted         = new Array[Long](RowOutcome.ByRule)
  private[this] var known           = 0L
  private[this] var knownDeletes    = 0L

  def see(row: InternalRow, isDelete: Boolean): Unit = {
    val own = row.getUTF8String(keyOrdinal)
    if (key == null || own != key) {
      count()
      key = own.copy()
    }
    val next = row.getInt(outcomeOrdinal)
    rows += 1
    if (next != RowOutcome.Uncounted) {
      outcome = if (outcome == RowOutcome.Uncounted) next else RowOutcome.Appended
      this.isDelete = isDelete
    }
  }

  /** Counts of what was appended to a log, with what is known of the rows in its place. */
  def instead(appended: MergeCounts): MergeCounts = {
    count()
    appended + MergeCounts(
      inserted = counted(RowOutcome.Inserted),
      updated = counted(RowOutcome.Updated) + counted(RowOutcome.Tied),
      late = counted(RowOutcome.Late),
      deleted = counted(RowOutcome.Deleted),
      ties = counted(RowOutcome.Tied),
      appended = -math.min(known, appended.appended),
      appendedDeletes = -math.min(knownDeletes, appended.appendedDeletes)
    )
  }

  private def count(): Unit = {
    if (rows > 0 && outcome != RowOutcome.Appended) {
      counted(outcome) += 1
      known += rows
      if (isDelete || outcome == RowOutcome.Uncounted) knownDeletes += 1
    }
    outcome = RowOutcome.Uncounted
    rows = 0
  }
}
