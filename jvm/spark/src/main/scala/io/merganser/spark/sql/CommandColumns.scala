package io.merganser.spark.sql

import io.merganser.merge.DeleteCheck
import io.merganser.spark.write.merge.StatementOutcomes
import io.merganser.spark.write.prepare.{WriteColumn, WriteRow}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.types._

/**
 * The columns of the clauses' output rows: the table's data columns, then control columns for the write.
 *
 * @param data     the table's data columns after the statement
 * @param ordersDeletes some deletes have an ordering value; they are flagged in an extra column if the table has none
 *                      for it
 * @param outcomeBy the rule that determines a row's outcome, and its table, where the write appends rows to a log and
 *                  the rule needs only ordering fields and delete marks for that
 * @param isTagged the file slice of the stored row is known
 */
final case class CommandColumns(
    data: StructType,
    ordersDeletes: Boolean,
    outcomeBy: Option[(StoredRule, TableConfig)],
    isTagged: Boolean
) {
  private val flagsDeletes = ordersDeletes && !data.fieldNames.contains(DeleteCheck.FlagColumn)

  @transient private lazy val control: WriteRow[RowControl => Expression] = {
    val flag = StructField(DeleteCheck.FlagColumn, BooleanType)
    WriteRow(Seq(
        WriteColumn(flag, c => Literal(c.isOrderedDelete), isPresent = flagsDeletes),
        WriteColumn(WriteRow.OrderedDelete, c => Literal(c.isOrderedDelete), isPresent = ordersDeletes),
        WriteColumn(WriteRow.StoredKey, _.key),
        WriteColumn(WriteRow.StoredPath, _.path),
        WriteColumn(WriteRow.SourceArrival, _.arrival),
        WriteColumn(WriteRow.UnconditionalDelete, c => Literal(c.isUnconditionalDelete)),
        WriteColumn(WriteRow.Mask, c => Literal(c.mask)),
        WriteColumn(WriteRow.Outcome, _.outcome, isPresent = outcomeBy.isDefined),
        WriteColumn(WriteRow.Slice, _.slice, isPresent = isTagged)
      ))
  }

  val schema: StructType = StructType(data.map(_.copy(nullable = true)) ++ control.schema)

  /** Determines the outcome of each row. */
  val outcomes: Option[StatementOutcomes] = outcomeBy.map { case (rule, config) =>
    StatementOutcomes(rule, config, schema)
  }

  /**
   * One row's columns, then the stored row's values that [[outcomes]] needs.
   *
   * @param stored a column's value in the stored row
   */
  def row(values: Seq[Expression], control: RowControl, stored: String => Expression): Seq[Expression] =
    values ++ this.control.values.map(_(control)) ++
      outcomes.toSeq.flatMap(by =>
        by.layout.map(f => if (by.ordering(f.name)) stored(f.name) else Literal(null, f.dataType)))
}

/**
 * The control columns of an output row.
 *
 * @param key     record key of the stored row; null for a new one
 * @param path    partition path of the stored row; null for a new one
 * @param arrival position in the source; null where there is none
 * @param mask    number of its mask of provided columns, or `PreparedSchema.FullRow`
 * @param outcome one of [[io.merganser.merge.buffer.Outcome]]
 * @param slice   number of the file slice of the stored row
 */
final case class RowControl(
    key: Expression,
    path: Expression,
    arrival: Expression,
    isUnconditionalDelete: Boolean,
    isOrderedDelete: Boolean,
    mask: Int,
    outcome: Expression,
    slice: Expression
)
