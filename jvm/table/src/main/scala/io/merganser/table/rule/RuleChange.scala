package io.merganser.table.rule

import io.merganser.merge.MerganserException
import io.merganser.merge.columns.{ColumnFunction, DeclaredRule, DeletePolicy}
import io.merganser.table.options.Names.lower
import io.merganser.table.options.{Options, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.types.StructType

/** An option of a rule, with its value before a change and after it; None where there is none. */
final case class ChangedPart(option: String, before: Option[String], after: Option[String])

/**
 * Another rule of columns for a table that has rows.
 *
 * @param parts      what differs; empty if nothing does
 * @param properties that replace the table's
 */
final case class RuleChange(parts: Seq[ChangedPart], private val properties: Map[String, String]) {

  def applied(stored: Map[String, String]): Map[String, String] =
    if (parts.isEmpty) stored else stored -- RuleChange.Stored ++ properties
}

object RuleChange {

  /** What tables store of a rule of columns. */
  private val Stored =
    Seq("hoodie.record.merge.mode", "hoodie.record.merge.strategy.id", Options.RuleText.key)

  /** Whether a property is an option of a rule of columns. */
  def isOfRule(property: String): Boolean =
    lower(property) == Options.RuleText.key || lower(property).startsWith(s"${Options.RuleText.key}.")

  /**
   * The change that setting and removing options makes; the options of the rule that are not named stay. The whole rule
   * as JSON replaces all of them.
   *
   * @param schema the table's data columns
   * @throws MerganserException RULE_INVALID, UNKNOWN_OPTION, OPTION_VALUE_INVALID; RULE_CHANGE_REFUSED where the table
   *                            has a rule of another kind, or none can be stored, or it has ordering fields and does
   *                            not merge by them, or retains deletes
   */
  def of(
      config: TableConfig,
      schema: StructType,
      set: Map[String, String],
      removed: Set[String] = Set.empty
  ): RuleChange = {
    if (config.rule.isEmpty && !RuleDeclaration.isByMode(config))
      throw refused(config, "its rows are merged by a payload class or a merger", "Write them to another table")
    if (config.version < 9)
      throw refused(config, s"a table of version ${config.version} stores no rule",
        "Upgrade it with CALL upgrade_table")
    // A rule of columns compares what the table's mode does not.
    if (config.rule.isEmpty && MergeMode.of(config) == MergeMode.CommitTimeOrdering && config.orderingFields.nonEmpty)
      throw refused(config,
        s"its merge mode is ${MergeMode.CommitTimeOrdering} and it has ordering fields " +
          s"(${config.orderingFields.mkString(", ")}), by which a rule of columns would merge",
        "Write its rows to a table without ordering fields, or to one of EVENT_TIME_ORDERING")
    val before   = options(config.rule.getOrElse(DeclaredRule.Plain))
    val named    = set.map { case (key, value) => spelled(key, schema) -> value }
    val gone     = removed.map(spelled(_, schema))
    val whole    = named.contains(Options.RuleText.key) || gone(Options.RuleText.key)
    val wanted   = if (whole) named else before ++ named -- gone
    val declared = RuleDeclaration.ofNewTable(Settings.ofWrite(wanted, Map.empty), config, schema)
    val after    = options(declared.getOrElse(DeclaredRule.Plain))
    if (declared.isDefined) config.tombstoneHours.foreach { hours =>
      throw refused(config,
        s"it retains deletes (${Options.TombstonesRetained.key} = $hours), and under " +
          "column rules, a write after a delete creates a new row",
        s"ALTER TABLE … UNSET TBLPROPERTIES ('${Options.TombstonesRetained.key}') first")
    }
    val parts = (before.keySet ++ after.keySet).toSeq.sorted.map(option =>
      ChangedPart(option, before.get(option), after.get(option))).filter(part => part.before != part.after)
    RuleChange(parts, properties(config, declared))
  }

  /** A rule as the options that declare it. */
  private def options(rule: DeclaredRule): Map[String, String] =
    rule.columns.map { case (column, function) => s"${Options.RuleColumnPrefix}$column" -> function.text }.toMap ++
      Some(Options.RuleDefault.key -> rule.default.text).filter(_ => rule.default != ColumnFunction.Last) ++
      Some(Options.RuleDelete.key -> rule.delete.text).filter(_ => rule.delete != DeletePolicy.RemoveRow) ++
      rule.retract.toSeq.flatMap(retraction =>
        Seq(Options.RuleRetractColumn.key -> retraction.column,
          Options.RuleRetractValues.key -> retraction.values.mkString(","))) ++
      rule.groups.flatMap { group =>
        val prefix = s"${Options.RuleGroupPrefix}${group.name}"
        Seq(s"$prefix.columns" -> group.columns.mkString(","), s"$prefix.ordering" -> group.ordering.mkString(",")) ++
          Some(s"$prefix.delete" -> group.delete.text).filter(_ => group.delete != DeletePolicy.Ignore)
      }

  /** An option as [[options]] has it. */
  private def spelled(option: String, schema: StructType): String =
    if (lower(option).startsWith(Options.RuleColumnPrefix)) {
      val column = option.drop(Options.RuleColumnPrefix.length)
      Options.RuleColumnPrefix + FrameCheck.find(schema, column).fold(column)(_.name)
    } else lower(option)

  private def properties(config: TableConfig, declared: Option[DeclaredRule]): Map[String, String] = {
    val (mode, id) = declared.fold[(Option[MergeMode], Option[String])]((None, None))(rule =>
      (Some(MergeMode.Custom), Some(rule.strategyId)))
    RuleInference.infer(config.version, mode, id, None, config.orderingFields, Map.empty).properties ++
      declared.map(rule => Options.RuleText.key -> rule.text)
  }

  private[table] def refused(config: TableConfig, reason: String, remedy: String): MerganserException =
    MerganserException("RULE_CHANGE_REFUSED", "table" -> config.name, "reason" -> reason, "remedy" -> remedy)
}
