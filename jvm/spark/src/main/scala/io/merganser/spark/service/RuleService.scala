package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.RuleUpdate
import io.merganser.table.rule.{ChangedPart, CheckedRule, RuleChange}
import io.merganser.table.settings.TableAccess
import org.apache.spark.sql.SparkSession

/** Changes the merge rule of a table that has rows; they stay as they are, and later versions merge by the new one. */
object RuleService {

  /**
   * @param parts     options of the rule that change
   * @param compacted file slices whose logs are merged by the rule of before, or that would be
   */
  final case class Result(parts: Seq[ChangedPart], compacted: Int)

  /**
   * Changes the rule, where no stored version is still to be merged.
   *
   * @param set     options of a rule
   * @param removed options that the rule is not to have
   * @throws io.merganser.merge.MerganserException what [[RuleChange.of]] and [[RuleUpdate.run]] throw
   */
  def change(session: SparkSession, path: String, set: Map[String, String], removed: Set[String]): Seq[ChangedPart] = {
    val table  = OpenTable.load(session, path)
    val access = TableAccess.of(session.conf.getAll, table.config)
    RuleUpdate.run(table.storage, access)(RuleChange.of(_, table.schema, set, removed)).parts
  }

  /**
   * Stores what a check of the rule found.
   *
   * @throws io.merganser.merge.MerganserException what [[RuleUpdate.record]] throws
   */
  def record(session: SparkSession, path: String, checked: CheckedRule): Unit = {
    val table = OpenTable.load(session, path)
    RuleUpdate.record(table.storage, TableAccess.of(session.conf.getAll, table.config), checked)
  }

  /** What [[compactAndChange]] would do. */
  def preview(table: OpenTable, set: Map[String, String]): Result = {
    val parts = RuleChange.of(table.config, table.schema, set).parts
    Result(parts, if (parts.isEmpty) 0 else RuleUpdate.withLogs(table.storage, table.config, table.timeline).size)
  }

  /** Merges all logs by the rule that the table has, then changes it. */
  def compactAndChange(scope: ServiceScope, set: Map[String, String]): Result = {
    import scope._
    settings.requireNoDryRun("change the merge rule of", table.config.name)
    val expected = preview(table, set)
    if (expected.compacted > 0) CompactionService.compactAll(scope)
    Result(change(session, table.storage.basePath.toString, set, Set.empty), expected.compacted)
  }
}
