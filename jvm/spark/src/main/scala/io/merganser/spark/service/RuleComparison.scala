package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.explain.RecordSentences
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.{NewTable, WriteConfig}
import io.merganser.table.slice.FileSlice
import io.merganser.table.verify.{GroupComparison, OtherRule, RuleDifference, RuleReplay}
import org.apache.spark.sql.merganser.Partitions

/**
 * The rows of a table under its rule and under another one, as far as versions are retained.
 *
 * @param stored   the table's rule, in a few words
 * @param other    the other rule
 * @param oldest   instant of the oldest file that was read; None in an empty table
 * @param notes    what could not be seen, a sentence each
 */
final case class ComparisonReport(
    stored: String,
    other: String,
    fileGroups: Int,
    oldest: Option[String],
    found: GroupComparison,
    notes: Seq[String]
) {

  /** As steps of an upgrade. */
  private[service] def steps: Seq[PreviewedStep] = {
    val summary = s"from $stored to $other: ${found.differing} of ${found.compared} rows with several retained " +
      s"versions would be merged otherwise. ${notes.mkString(" ")}"
    val compare = PreviewedStep("compare", "rule", detail = summary)
    val counts =
      if (found.differing == 0) Nil
      else PreviewedStep.rows("rows that the rules merge otherwise", "differ" -> found.differing)
    compare +: counts ++: found.examples.map { d =>
      PreviewedStep("differ", d.key, Some(d.partitionPath),
        detail =
          s"${d.columns.mkString(", ")}: ${d.stored.getOrElse("no row")} -> ${d.other.getOrElse("no row")}",
        before = d.stored, after = d.other)
    }
  }
}

/** What another merge rule would have made of a table's rows. Changes nothing. */
object RuleComparison {

  /**
   * @param options of a write that creates a table with the other rule; key and partition columns are the table's, and
   *                so are ordering fields that they do not name
   * @param most    rows to return
   * @throws io.merganser.merge.MerganserException what the creation of such a table throws
   */
  def of(scope: ServiceScope, options: Map[String, String], most: Int): ComparisonReport = {
    import scope.{session, table}
    val own     = table.config
    val conf    = session.conf.getAll
    val ordered = Options.OrderingFields.names.exists(options.contains) || own.orderingFields.isEmpty
    val named = Map(Options.RecordKey.key -> own.recordKeyFields.mkString(",")) ++
      (if (ordered) Map.empty else Map(Options.OrderingFields.key -> own.orderingFields.mkString(","))) ++ options
    val config = TableConfig(NewTable.properties(named, table.schema, own.name, sessionConf = conf))
    compared(scope, OtherRule(config, WriteConfig.parse(named, conf, config, creating = true).rule), most)
  }

  /** The same for the properties that an upgrade gives the table. */
  private[service] def ofUpgrade(scope: ServiceScope, upgraded: TableConfig, most: Int): ComparisonReport =
    compared(scope, OtherRule(upgraded, StoredRule.of(upgraded, scope.settings.mergerClasses)), most)

  private def compared(scope: ServiceScope, other: OtherRule, most: Int): ComparisonReport = {
    import scope.{session, settings, table}
    val current = table.view.slices.map(_.group).toSet
    val groups = table.view.allSlices(table.view.partitions).filter(slice => current(slice.group))
      .groupBy(_.group).toSeq.sortBy { case (group, _) => (group.partitionPath, group.fileId) }
      .map(group => ofOneRule(table, group._2.sortBy(_.baseInstant).toIndexedSeq)).filter(_.nonEmpty)
    val replay =
      new RuleReplay(table.snapshot(settings.rule), other, session.sessionState.conf.sessionLocalTimeZone, most)
    val found =
      if (groups.isEmpty) Nil
      else {
        val tasks = math.min(groups.size, 4 * session.sparkContext.defaultParallelism)
        ServiceStep(session, table, "compare merge rules") {
          Partitions.collect(session.sparkContext.parallelize(groups, tasks))(_.map(replay.of))
        }
      }
    val all = found.foldLeft(GroupComparison(0, 0, 0, Nil))(_ + _)
    ComparisonReport(
      named(settings.rule),
      named(other.rule),
      groups.size,
      groups.map(_.head.baseInstant).reduceOption((a, b) => if (a < b) a else b),
      all.copy(examples = first(all.examples, most)),
      notes(table, all)
    )
  }

  private def named(rule: StoredRule): String =
    RecordSentences.nameOf(rule) +
      (if (rule.orderingFields.isEmpty) "" else rule.orderingFields.mkString(" by ", " and ", ""))

  /** Those after the last slice whose logs were written under another rule than the table's. */
  private def ofOneRule(table: OpenTable, slices: IndexedSeq[FileSlice]): IndexedSeq[FileSlice] =
    slices.drop(slices.lastIndexWhere(!_.isOfRule(table.config)) + 1)

  private def first(examples: Seq[RuleDifference], most: Int): Seq[RuleDifference] =
    examples.sortBy(d => (d.partitionPath, d.key)).take(most)

  private def notes(table: OpenTable, all: GroupComparison): Seq[String] = {
    val single = all.rows - all.compared
    Seq(
      if (single > 0)
        Some(s"$single of ${all.rows} rows have one retained version: what was merged into it before cannot be seen.")
      else None,
      table.config.ruleSince.filter(_ => table.config.isMergeOnRead).map(since =>
        s"The merge rule was changed after $since: versions in logs of before are not compared."),
      Some("Where a write rewrote a base file, " +
        (if (table.config.isMergeOnRead) "to put new keys into it, " else "as all writes to this table do, ") +
        "versions that lost are in no file."),
      Some("The oldest retained row of a key is what both rules begin with, and versions of one batch are as its " +
        "write has combined them.")
    ).flatten
  }
}
