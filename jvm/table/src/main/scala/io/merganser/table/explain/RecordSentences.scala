package io.merganser.table.explain

import io.merganser.merge.{OrderingField, RowLayout, Version}
import io.merganser.merge.buffer.{Outcome, TraceStep}
import io.merganser.merge.columns.{ColumnFunction, DeclaredRule}
import io.merganser.table.rule.StoredRule
import org.apache.spark.sql.catalyst.InternalRow

/**
 * What became of versions, in words, with the values that decided.
 *
 * @param width number of data columns, which come first in rows
 */
private[explain] final class RecordSentences(rule: StoredRule, layout: RowLayout, width: Int, zone: String) {
  private[this] val json = new ValueJson(zone)
  private[this] val data = 0 until width

  /** Groups of columns with ordering fields of their own, by name. */
  private[this] val groups: Seq[(String, Seq[OrderingField])] = rule match {
    case declared: StoredRule.Declared => declared.rule.groups.map(group =>
        group.name -> group.ordering.flatMap(OrderingField.find(layout.schema, _)))
    case _ => Nil
  }

  def kind(version: Version): VersionKind =
    if (version.isUnconditional) VersionKind.UnconditionalDelete
    else if (version.isDelete) VersionKind.Delete
    else if (version.isPartial) VersionKind.PartialRow
    else VersionKind.Row

  /** The data columns of a row. */
  def row(row: InternalRow): String = json.row(row, layout.schema, data)

  /** The columns that a version provides; None for a delete. */
  def values(version: Version): Option[String] =
    if (version.isDelete) None
    else Some(json.row(version.row, layout.schema,
        if (version.isPartial) data.filter(version.provided(_)) else data))

  /** Ordering values by field; None where there are none. */
  def ordering(version: Version): Option[String] = valuesOf(version, layout.ordering.toSeq)

  private def valuesOf(version: Version, of: Seq[OrderingField]): Option[String] = {
    val fields = of.filter(field => version.provided == null || version.provided(field.ordinal))
    if (fields.isEmpty || version.isUnconditional) None
    else Some(json.values(fields.map(field => (field.name, field.valueIn(version.row), field.dataType))))
  }

  /** Whether what a key was is this delete already. */
  def isSameDelete(was: Version, delete: Version): Boolean = was.isDelete && ordering(was) == ordering(delete)

  def merged(step: TraceStep, decision: RecordDecision): String = {
    val TraceStep(version, before, after, outcome) = step
    val wasRow                                     = before != null && !before.isDelete
    outcome match {
      case Outcome.Unchanged                  => "a partial row whose key is not stored is ignored"
      case Outcome.Inserted if before == null => "nothing was stored"
      case Outcome.Inserted                   => s"${by(version, before)} after a delete"
      case Outcome.Absent => "a delete of a key that has no row; its tombstone stays until a compaction"
      case Outcome.Ignored =>
        s"the row before stays, because the delete does not change it: ${comparison(version, before)}"
      case Outcome.Late => s"the ${if (wasRow) "row" else "delete"} before stays: ${comparison(version, before)}"
      case Outcome.Deleted =>
        if (version.isUnconditional) "an unconditional delete removes whatever is older"
        else if (version.isDelete) s"the delete won: ${comparison(version, before)}"
        else s"$ruleName turned it into a delete"
      case _ => changed(decision, version, before, after)
    }
  }

  private def changed(decision: RecordDecision, version: Version, before: Version, after: Version): String = {
    val isWhole = after.row eq version.row
    decision match {
      case RecordDecision.Filled => s"columns without a value are filled: ${comparison(version, before)}"
      case _ if version.isDelete => s"the delete sets columns to null: ${comparison(version, before)}"
      case _ if isWhole          => by(version, before)
      case _ if version.isPartial && !isByColumn =>
        s"its columns replace those of the row: ${comparison(version, before)}"
      case _ => s"the row combines both versions: ${comparison(version, before)}"
    }
  }

  private def by(version: Version, before: Version): String = s"it becomes the row: ${comparison(version, before)}"

  private def comparison(version: Version, before: Version): String =
    if (before != null && before.isUnconditional) "an unconditional delete loses to whatever is newer"
    else {
      val ofRow = (ordering(version), Option(before).flatMap(ordering)) match {
        case (Some(newer), Some(older))                      => Some(s"$newer against $older")
        case (None, Some(older)) if layout.ordering.nonEmpty => Some(s"no ordering value against $older")
        case _                                               => None
      }
      val compared = ofRow.toSeq ++ ofGroups(version, before)
      s"${if (compared.isEmpty) "the newer commit" else compared.mkString(", ")}, by $ruleName"
    }

  /** The ordering values of each group of columns of which both have some. */
  private def ofGroups(version: Version, before: Version): Seq[String] =
    if (before == null || before.isDelete) Nil
    else
      for {
        (name, fields) <- groups
        if !version.isDelete || fields.exists(_.valueIn(version.row) != null)
        newer <- valuesOf(version, fields)
        older <- valuesOf(before, fields)
      } yield s"group $name $newer against $older"

  /** Of a row that a write has put into a base file. */
  def written(decision: RecordDecision, before: Version, row: InternalRow): String =
    if (before == null) "nothing was stored in the file slice before"
    else {
      val version = new Version().set(row, isDelete = false, isUnconditional = false)
      s"a write replaced the row of the file slice before: ${comparison(version, before)}" +
        (if (decision == RecordDecision.Tie) "; with equal ordering values the newer version wins" else "")
    }

  def stored(instant: String, commit: String, differs: Boolean): String =
    s"the base file of $instant contains the row of commit $commit" +
      (if (differs) ", which differs from the result of the retained versions" else "")

  /** Of a delete that a base file retains. */
  def retained(instant: String): String =
    s"the base file of $instant retains the delete: a row with a smaller ordering value loses to it"

  def gone(instant: String): String = s"the base file of $instant no longer contains the row"

  def duplicate(count: Int): String = s"the base file has $count rows of the key; repair_deduplicate merges them"

  def replaced(instant: String): String =
    s"commit $instant replaced the file group; its files are kept until they are cleaned"

  /**
   * @param versions in the logs of the newest slice
   * @param retains  whether base files retain deletes
   */
  def nextCompaction(
      isMergeOnRead: Boolean,
      hasLogs: Boolean,
      stored: Version,
      live: Version,
      versions: Int,
      commit: String,
      retains: Boolean
  ): String = {
    val dropped =
      if (versions == 1) "the version in the logs is dropped" else s"the $versions versions in the logs are dropped"
    if (!isMergeOnRead) "nothing: a copy-on-write table is merged when it is written"
    else if (!hasLogs) "nothing: the file slice has no logs"
    else if (versions == 0) "nothing: the logs have no version of the key"
    else if (live == null && stored == null)
      s"no row results; $dropped, ${if (retains) "but a delete is retained for a time" else "including deletes"}"
    else if (live == null)
      s"the row is removed and $dropped, including the delete: a late-arriving version would then be a row again" +
        (if (retains) " once the delete is no longer retained" else "")
    else if (stored == null) s"the row of commit $commit is written into a base file; $dropped"
    else if (live.row eq stored.row) s"the row stays as it is; $dropped"
    else s"the row of commit $commit replaces the one in the base file; $dropped"
  }

  private[this] val isByColumn = rule.isInstanceOf[StoredRule.Declared]

  /** Expressions by the name of their column alone: the rule has them. */
  private[this] val ruleName = RecordSentences.nameOf(rule, withExpressions = false)
}

object RecordSentences {

  /** A table's rule in a few words. */
  def nameOf(rule: StoredRule, withExpressions: Boolean = true): String = rule match {
    case StoredRule.ByMode(mode, _, None)    => mode.name
    case StoredRule.ByMode(mode, _, Some(_)) => s"${mode.name} with filled columns"
    case StoredRule.ByPayload(payload, _, _) => payload.getClass.getSimpleName.stripSuffix("$")
    case user: StoredRule.UserMerger         => user.source.className
    case declared: StoredRule.Declared       => nameOf(declared.rule, withExpressions)
    case StoredRule.Unmerged                 => "no rule"
  }

  private def nameOf(rule: DeclaredRule, withExpressions: Boolean): String = {
    def text(function: ColumnFunction) = function match {
      case _: ColumnFunction.Computed if !withExpressions => function.name
      case other                                          => other.text
    }
    val others = if (rule.default == ColumnFunction.Last) Nil else Seq(s"others ${rule.default.text}")
    val parts = rule.columns.toSeq.map { case (column, function) => s"$column ${text(function)}" } ++ others ++
      rule.groups.map(group => s"group ${group.name} by ${group.ordering.mkString(" and ")}")
    parts.mkString("column rules (", ", ", ")")
  }
}
