package io.merganser.spark.write.prepare

import io.merganser.merge.columns.ColumnFunction
import io.merganser.spark.write.prepare.WriteRow.quoted
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{coalesce, lit, when}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * Turns rows that take back what others added into partial rows: key and partition, and the negative values of the
 * columns that are sums. From here on they are as any rows with some of the columns, on all paths.
 *
 * @param marker whether an aligned row is one, over the table's columns
 * @param sums   columns that are sums
 * @param kept   columns that identify the row
 * @param others which columns other rows provide
 */
private[prepare] final class Retractions private (
    val marker: Column,
    sums: Set[String],
    kept: Set[String],
    others: Seq[ColumnMask]
) {

  /** The masks of the write, then those of retractions: of a full row, and of a row with each of the masks. */
  val masks: Seq[ColumnMask] = (others :+ ColumnMask(kept ++ sums, inserts = true)) ++
    others.map(mask => ColumnMask(kept ++ sums.intersect(mask.columns), mask.inserts))

  /** The index of a row's mask. @param own its mask as another row */
  def mask(own: Column): Column =
    when(marker, when(own === PreparedSchema.FullRow, others.size).otherwise(own + (others.size + 1))).otherwise(own)

  /** A column's value. */
  def value(field: StructField): Column = {
    val own = quoted(field.name)
    if (kept(field.name)) own
    else if (sums(field.name)) {
      val negated = ColumnFunction.Sum.negated(SparkBridge.expression(own), field.dataType)
      when(marker, SparkBridge.column(negated)).otherwise(own)
    } else when(!marker, own)
  }
}

private[prepare] object Retractions {

  /**
   * None where the rule has none, or the frame lacks the column that marks them.
   *
   * @param others which columns rows provide
   */
  def of(
      rule: StoredRule,
      config: TableConfig,
      schema: StructType,
      frame: StructType,
      others: Seq[ColumnMask]
  ): Option[Retractions] = rule match {
    case declared: StoredRule.Declared =>
      declared.rule.retract.filter(own => FrameCheck.find(frame, own.column).isDefined).map { retraction =>
        val isMarked = quoted(retraction.column).isin(retraction.values: _*)
        val marker   = coalesce(isMarked, lit(false)) && !quoted(WriteRow.UnconditionalDelete)
        val identity = (config.recordKeyFields ++ config.partitionFields).map(_.takeWhile(_ != '.')).toSet
        val sums     = declared.rule.sums(schema.fieldNames.toSeq).toSet.filterNot(declared.fixed)
        new Retractions(marker, sums, identity, others)
      }
    case _ => None
  }
}
