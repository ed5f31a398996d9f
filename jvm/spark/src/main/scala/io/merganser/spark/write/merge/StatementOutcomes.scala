package io.merganser.spark.write.merge

import io.merganser.merge.{RowLayout, Version}
import io.merganser.merge.buffer.{MergeCounts, MergeTally, Outcome, RowMerge}
import io.merganser.spark.write.prepare.{ColumnMask, PreparedSchema, WriteRow}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Outcomes of a statement's rows: the table's own rule merges each with the stored row.
 *
 * Only for rules that read nothing but ordering fields and delete marks, since no other stored columns are read. The
 * stored values of those columns are appended to the statement's rows.
 *
 * @param rowSchema columns of the statement's rows, without those stored values
 */
private[spark] final case class StatementOutcomes(rule: StoredRule, config: TableConfig, rowSchema: StructType) {

  /** The columns by which rows are merged. */
  val layout: StructType = CompiledRule.layoutSchema(new StructType, rowSchema, config, rule)

  /** Columns whose stored values are needed. */
  val ordering: Set[String] = CompiledRule.orderingColumns(rule, rowSchema).toSet

  /** To be called in a task. */
  def open(masks: Seq[ColumnMask]): RowOutcomes = new RowOutcomes(CompiledRule(rule, config, layout), rowSchema, masks)
}

/** To be used in the task that opened it. */
private[spark] final class RowOutcomes(compiled: CompiledRule, rowSchema: StructType, masks: Seq[ColumnMask]) {
  private[this] val layout   = compiled.layout
  private[this] val types    = layout.schema.map(_.dataType).toArray
  private[this] val ordinals = layout.schema.fieldNames.map(rowSchema.fieldNames.indexOf(_))
  private[this] val provided = masks.map(mask => layout.schema.fieldNames.map(mask.columns.contains)).toArray
  private[this] val merge    = new RowMerge(compiled.fold("none"))
  private[this] val stored   = new GenericInternalRow(types.length)
  private[this] val newer    = new GenericInternalRow(types.length)
  private[this] val version  = new Version

  private[this] val outcomeAt       = rowSchema.fieldIndex(WriteRow.Outcome.name)
  private[this] val maskAt          = rowSchema.fieldIndex(WriteRow.Mask.name)
  private[this] val unconditionalAt = rowSchema.fieldIndex(WriteRow.UnconditionalDelete.name)

  /** Replaces [[Outcome.ByRule]] in a row. */
  def set(row: UnsafeRow): Unit = if (row.getInt(outcomeAt) == Outcome.ByRule) row.setInt(outcomeAt, of(row))

  private def of(row: InternalRow): Int = {
    var i = 0
    while (i < types.length) {
      stored.update(i, RowLayout.valueAt(row, rowSchema.length + i, types(i)))
      newer.update(i, if (ordinals(i) < 0) null else RowLayout.valueAt(row, ordinals(i), types(i)))
      i += 1
    }
    val mask = row.getInt(maskAt)
    if (row.getBoolean(unconditionalAt)) version.set(newer, isDelete = true, isUnconditional = true)
    else if (mask == PreparedSchema.FullRow) layout.fill(version, newer)
    else layout.fill(version, newer, provided(mask), masks(mask).inserts)
    merge.merge(stored, version)
    merge.decision
  }
}

/**
 * Counts keys by their outcome. Rows of one key in one batch are merged with each other first, so the outcome of a key
 * with several rows is not known.
 */
private[write] final class KnownOutcomes(keyOrdinal: Int, outcomeOrdinal: Int) {
  private[this] var key: UTF8String = _
  private[this] var outcome         = Outcome.Uncounted
  private[this] var isDelete        = false
  private[this] var rows            = 0L
  private[this] val tally           = new MergeTally
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
    if (next != Outcome.Uncounted) {
      outcome = if (outcome == Outcome.Uncounted) next else Outcome.Appended
      this.isDelete = isDelete
    }
  }

  /** Counts of a log's rows: the known outcomes are counted in place of appended rows. */
  def instead(appended: MergeCounts): MergeCounts = {
    count()
    appended + MergeCounts.of(tally) + MergeCounts(
      appended = -math.min(known, appended.appended),
      appendedDeletes = -math.min(knownDeletes, appended.appendedDeletes)
    )
  }

  private def count(): Unit = {
    if (rows > 0 && outcome != Outcome.Appended) {
      tally.add(outcome)
      known += rows
      if (isDelete || outcome == Outcome.Uncounted) knownDeletes += 1
    }
    outcome = Outcome.Uncounted
    rows = 0
  }
}
