package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.merge.laws.{LawResult, RuleCheck}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.RuleService
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.rule.{CheckedRule, RuleLaws}
import io.merganser.table.schema.MetaColumns
import io.merganser.testing.MergeLaws
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types._

/**
 * CALL check_rule(table => … | path => … | columns => …): which laws the merge rule of a table has, or that of a table
 * that would be created with these columns and options.
 */
object CheckRule extends Procedure[LawResult] {
  override val name = "check_rule"

  /** Rows of the table whose values are tried. */
  private val OwnRows = 200

  override val parameters = Seq(
    Parameter.table,
    Parameter("cases", IntegerType, "how many random cases to try for each law",
      default = Some(RuleCheck.DefaultCases.toString)),
    Parameter("seed", LongType, "seed of the random cases: the same seed tries the same cases", default = Some("0")),
    Parameter.path,
    Parameter("columns", StringType,
      "columns of a table that does not exist, with their types: id INT, ts BIGINT; " +
        "`options` are those of a write that would create it"),
    Parameter.flag("store",
      "true: the result is stored with the table's rule, so that merges do not rely on refuted laws"),
    Parameter.filter,
    Parameter.options
  )

  override val columns = ResultColumns[LawResult](
    string("law", _.law.name),
    string("meaning", _.law.meaning),
    boolean("holds", _.holds.map(Boolean.box).orNull),
    boolean("relied_on", _.isClaimed.map(Boolean.box).orNull),
    int("cases", _.cases),
    string("counterexample", _.counterexample.orNull)
  )

  override protected def run(session: SparkSession, arguments: Arguments): Seq[LawResult] = {
    val cases  = arguments.int("cases", least = 1).getOrElse(RuleCheck.DefaultCases)
    val seed   = arguments.long("seed").getOrElse(0L)
    val stores = arguments.flag("store")
    arguments.string("columns") match {
      case Some(_) if arguments.string("table").orElse(arguments.string("path")).isDefined =>
        throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> name)
      case Some(_) if stores =>
        throw arguments.invalid("store", "true", "false where there is no table, but `columns`")
      case Some(text) =>
        val columns = CreateTable.schema(arguments, text, "columns with types, such as 'id INT, ts BIGINT'")
        MergeLaws.check(columns, arguments.options(Parameter.options.name), cases, seed,
          FrameWrite.sessionConf(session))
      case None => ofTable(session, arguments, cases, seed, stores)
    }
  }

  private def ofTable(session: SparkSession, arguments: Arguments, cases: Int, seed: Long, stores: Boolean) = {
    val table    = OpenTable.load(session, arguments.tablePath(session))
    val settings = arguments.settings(session, table)
    if (stores) settings.requireNoDryRun("store the check of the rule of", table.config.name)
    val columns = MetaColumns.ofUser(table.schema)
    val toRow   = CatalystTypeConverters.createToCatalystConverter(columns)
    val rows = session.read.format("merganser").options(arguments.options(Parameter.options.name))
      .load(table.storage.basePath.toString).select(columns.fieldNames.map(quoted): _*).limit(OwnRows).collect()
    val own     = rows.toSeq.map(toRow(_).asInstanceOf[InternalRow])
    val results = RuleLaws.check(settings.rule, table.config, columns, own, cases, seed)
    if (stores)
      RuleService.record(session, arguments.tablePath(session), CheckedRule(table.config, results, own.size))
    results
  }

  private def quoted(name: String) = org.apache.spark.sql.functions.col(s"`${name.replace("`", "``")}`")
}
