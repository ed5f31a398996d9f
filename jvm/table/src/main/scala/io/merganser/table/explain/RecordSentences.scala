package io.merganser.table.explain

import io.merganser.merge.{RowLayout, Version}
import io.merganser.merge.buffer.{Outcome, TraceStep}
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
  def ordering(version: Version): Option[String] = {
    def isProvided(at: Int) = version.provided == null || version.provided(at)
    val fields              = layout.ordering.filter(field => isProvided(field.ordinal))
    if (fields.isEmpty || version.isUnconditional) None
    else Some(json.values(fields.toSeq.map(field => (field.name, field.valueIn(version.row), field.dataType))))
  }

  def merged(step: TraceStep, decision: RecordDecision): String = {
    val TraceStep(version, before, after, outcome) = step
    val wasRow                                     = before != null && !before.isDelete
    outcome match {
      case Outcome.Unchanged                  => "a partial row without a row that it belongs to is ignored"
      case Outcome.Inserted if before == null => "nothing was stored"
      case Outcome.Inserted                   => s"${by(version, before)} after a delete"
      case Outcome.Absent => "a delete of a row that is not there; its tombstone stays until a compaction"
      case Outcome.Late if version.isDelete && rule.decidesDeletes =>
        s"the row before stays: the delete is late-arriving or ignored, by $ruleName"
      case Outcome.Late => s"the ${if (wasRow) "row" else "delete"} before stays: ${comparison(version, before)}"
      case Outcome.Deleted =>
        if (version.isUnconditional) "an unconditional delete removes whatever is older"
        else if (version.isDelete) s"the delete won: ${comparison(version, before)}"
        else s"$ruleName made a delete of it"
      case _ => changed(decision, version, before, after)
    }
  }

  private def changed(decision: RecordDecision, version: Version, before: Version, after: Version): String = {
    val isWhole = after.row eq version.row
    decision match {
      case RecordDecision.Filled => s"columns without a value are filled: ${comparison(version, before)}"
      case _ if isWhole          => by(version, before)
      case _ if version.isPartial =>
        s"its columns replace those of the row: ${comparison(version, before)}"
      case _ => s"the row is made of both versions by $ruleName: ${comparison(version, before)}"
    }
  }

  private def by(version: Version, before: Version): String = s"it is the row: ${comparison(version, before)}"

  private def comparison(version: Version, before: Version): String =
    if (before != null && before.isUnconditional) "an unconditional delete loses to whatever is newer"
    else (ordering(version), Option(before).flatMap(ordering)) match {
      case (Some(newer), Some(older))                      => s"$newer against $older, by $ruleName"
      case (None, Some(older)) if layout.ordering.nonEmpty => s"no ordering value against $older, by $ruleName"
      case _                                               => s"the newer commit, by $ruleName"
    }

  /** Of a row that a write has put into a base file. */
  def written(decision: RecordDecision, before: Version, row: InternalRow): String =
    if (before == null) "nothing was stored in the file slice before"
    else {
      val version = new Version().set(row, isDelete = false, isUnconditional = false)
      s"a write replaced the row of the file slice before: ${comparison(version, before)}" +
        (if (decision == RecordDecision.Tie) "; of equal ordering values the newer version wins" else "")
    }

  def stored(instant: String, commit: String, differs: Boolean): String =
    s"the base file of $instant has the row of commit $commit" +
      (if (differs) ", which is not what the retained versions result in" else "")

  def gone(instant: String): String = s"the base file of $instant does not have the row any more"

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
      s"no row results; $dropped, ${if (retains) "a delete is retained for a time" else "deletes too"}"
    else if (live == null)
      s"the row is removed and $dropped, the delete too: a late-arriving version would be a row again" +
        (if (retains) " once the delete is not retained any more" else "")
    else if (stored == null) s"the row of commit $commit is written into a base file; $dropped"
    else if (live.row eq stored.row) s"the row stays as it is; $dropped"
    else s"the row of commit $commit replaces the one in the base file; $dropped"
  }

  private def ruleName: String = RecordSentences.nameOf(rule)
}

object RecordSentences {

  /** A table's rule in a few words. */
  def nameOf(rule: StoredRule): String = rule match {
    case StoredRule.ByMode(mode, _, None)    => mode.name
    case StoredRule.ByMode(mode, _, Some(_)) => s"${mode.name} with filled columns"
    case StoredRule.ByPayload(payload, _, _) => payload.getClass.getSimpleName.stripSuffix("$")
    case user: StoredRule.UserMerger         => user.source.className
    case declared: StoredRule.Declared =>
      declared.rule.columns.map { case (column, function) => s"$column ${function.text}" }
        .mkString("column rules (", ", ", ")")
    case StoredRule.Unmerged => "no rule"
  }
}
