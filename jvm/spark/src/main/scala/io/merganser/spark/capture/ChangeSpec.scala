package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.Expressions.top
import org.apache.spark.sql.Column
import org.apache.spark.sql.types.StructType

/**
 * In which columns a null leaves the stored value.
 *
 * @param all       in all columns, or in none; None: whatever the table does
 * @param ignoredIn in these columns
 * @param appliedIn in all but these
 */
final case class NullUpdates(
    all: Option[Boolean] = None,
    ignoredIn: Option[Seq[String]] = None,
    appliedIn: Option[Seq[String]] = None
) {

  /**
   * Whether a null leaves the stored value of a table; None: whatever the table does.
   *
   * @param columns those that are neither keys nor ordering fields of the table
   * @throws MerganserException CHANGES_NULLS_IN_SOME_COLUMNS
   */
  def ignored(columns: Seq[String]): Option[Boolean] =
    if (ignoredIn.isEmpty && appliedIn.isEmpty) all
    else {
      def has(names: Option[Seq[String]], column: String) = names.exists(_.exists(_.equalsIgnoreCase(column)))
      val kept = columns.filter(one => if (ignoredIn.isDefined) !has(ignoredIn, one) else has(appliedIn, one))
      if (kept.nonEmpty && kept.size < columns.size)
        throw MerganserException("CHANGES_NULLS_IN_SOME_COLUMNS", "column" -> kept.head)
      Some(kept.isEmpty)
    }
}

/**
 * How changes are applied.
 *
 * @param preset      how events are read; [[Preset.Rows]] for rows as they are
 * @param keys        the table's record key columns; empty: those of the table
 * @param sequenceBy  columns that are larger in a later change of a key; empty: the order of the preset
 * @param deletes     the condition under which a row is a delete
 * @param truncates   the condition under which a row deletes all rows up to it
 * @param only        the columns to apply; None: all
 * @param types       types of columns for events without a schema
 * @param except      columns not to apply
 * @param sourceTable the source's table whose events are applied, by its name or the last parts of it
 * @param quarantine  path of a table for events that cannot be applied; None: they are an error
 * @param options     settings of the write
 */
final case class ChangeSpec(
    preset: Preset = Preset.Rows,
    keys: Seq[String] = Nil,
    sequenceBy: Seq[String] = Nil,
    deletes: Option[Column] = None,
    truncates: Option[Column] = None,
    nulls: NullUpdates = NullUpdates(),
    only: Option[Seq[String]] = None,
    types: StructType = new StructType,
    except: Seq[String] = Nil,
    sourceTable: Option[String] = None,
    quarantine: Option[String] = None,
    options: Map[String, String] = Map.empty
) {

  /** @throws MerganserException CHANGES_ORDER_UNKNOWN, CHANGES_SOURCE_TABLE_OF_ROWS */
  def checked: ChangeSpec = {
    if (preset.isRows && sequenceBy.isEmpty)
      throw MerganserException("CHANGES_ORDER_UNKNOWN", "presets" -> Preset.names)
    if (preset.isRows && sourceTable.isDefined) throw MerganserException("CHANGES_SOURCE_TABLE_OF_ROWS")
    this
  }

  /** The columns of a table that are neither required ones, nor of the envelope. */
  private[capture] def dataColumns(schema: StructType, required: Seq[String]): Seq[String] = {
    val others = (required ++ preset.columns.map(_.name)).map(top).toSet
    schema.fieldNames.toSeq.filterNot(others)
  }
}
