package io.merganser.spark.write.prepare

import io.merganser.spark.write.prepare.WriteRow.quoted
import io.merganser.table.options.{IndexType, NullOrdering}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions.{coalesce, lit, monotonically_increasing_id}
import org.apache.spark.sql.types._

/**
 * Rows with key, partition path and arrival.
 *
 * @param rows         the columns of [[PreparedSchema.rows]]
 * @param aligned      the frame's rows in the table's columns and types
 * @param requirements checks of every row; `rows` fails at the first row that does not pass
 */
final case class PreparedRows(
    rows: DataFrame,
    schema: PreparedSchema,
    aligned: DataFrame,
    requirements: Seq[Requirement]
) {

  /** A failure of a write of these rows; if rows caused it, with more of those rows. */
  def named(failure: Throwable): Throwable = RefusedRows.named(failure, aligned, requirements)
}

/**
 * Which rows are refused besides those without a key.
 *
 * @param nullOrdering  those with a null ordering value
 * @param ambiguousKeys those whose key or path other values have too
 */
private[spark] final case class RowChecks(nullOrdering: Boolean = false, ambiguousKeys: Boolean = true)

private[spark] object RowChecks {
  def of(settings: WriteConfig): RowChecks =
    RowChecks(settings.nullOrdering == NullOrdering.Reject, !settings.access.permits.ambiguousKeys)
}

/**
 * First step of a write: turns the user's frame into [[PreparedRows]].
 *
 * @param schema       the table's data columns
 * @param checks       what rows are refused
 * @param allowMissing true if absent columns become null, as in a delete by key
 * @param masks        which columns rows provide; the frame's column [[WriteRow.Mask]] has the index of each row's
 *                     mask, and without it all rows have the first
 * @param global       how keys are looked up in all partitions, if they are
 */
private[spark] final case class Preparation(
    config: TableConfig,
    rule: StoredRule,
    schema: StructType,
    checks: RowChecks,
    allowMissing: Boolean,
    masks: Seq[ColumnMask] = Nil,
    global: Option[IndexType.GlobalKeys] = None
) {

  /**
   * @param frame               what the user writes; meta columns in it are ignored, those of [[WriteRow]] are not
   * @param unconditionalDelete true for rows that delete their key whatever its ordering value
   */
  def rows(frame: DataFrame, unconditionalDelete: Column): PreparedRows = {
    val retractions  = Retractions.of(rule, config, schema, frame.schema, masks)
    val aligned      = new AlignedFrame(frame, this, unconditionalDelete)
    val identity     = new RowIdentity(this, aligned)
    val requirements = identity.requirements(retractions)
    val key          = requirements.foldRight(identity.key)(_ guard _)
    val allMasks     = retractions.fold(masks)(_.masks)
    val row = WriteRow(layout(aligned.control, key, identity.path, retractions) ++ Seq(
      WriteColumn(WriteRow.Arrival, arrival(aligned)),
      WriteColumn(WriteRow.UnconditionalDelete, quoted(WriteRow.UnconditionalDelete)),
      WriteColumn(WriteRow.Mask, mask(retractions), isPresent = allMasks.nonEmpty),
      WriteColumn(WriteRow.Origin, quoted(WriteRow.StoredPath), isPresent = identity.hasOrigin),
      aligned.own(WriteRow.Outcome),
      aligned.own(WriteRow.Slice)
    ))
    PreparedRows(aligned.rows.select(WriteRow.select(row): _*),
      PreparedSchema(schema, row.schema, allMasks, rule.nullsAreMissing), aligned.rows, requirements)
  }

  /** The columns that the merge sees. Deletes have nulls where stored rows may have none. */
  private def layout(
      control: StructType,
      key: Column,
      path: Column,
      retractions: Option[Retractions]
  ): Seq[WriteColumn[Column]] = (SliceWriter.rowSchema(schema) ++ control).map { field =>
    val value = field.name match {
      case MetaColumns.RecordKey                            => key
      case MetaColumns.PartitionPath                        => path
      case MetaColumns.CommitTime | MetaColumns.CommitSeqno => lit(null).cast(StringType)
      case name                                             => retractions.fold(quoted(name))(_.value(field))
    }
    WriteColumn(field.copy(nullable = true), value)
  }

  private def arrival(aligned: AlignedFrame): Column = {
    val position = monotonically_increasing_id()
    if (aligned.isIdentified) coalesce(quoted(WriteRow.SourceArrival), position) else position
  }

  private def mask(retractions: Option[Retractions]): Column = {
    val own = if (masks.isEmpty) lit(PreparedSchema.FullRow) else quoted(WriteRow.Mask)
    retractions.fold(own)(_.mask(own))
  }
}
