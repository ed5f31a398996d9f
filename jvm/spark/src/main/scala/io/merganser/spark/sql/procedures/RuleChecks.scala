package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.merge.laws.RuleCheck
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.RuleService
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CheckedRule, RuleLaws}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.{NewTable, WriteConfig}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types._

import scala.util.control.NonFatal

/**
 * CALL check_rule(table => … | path => … | columns => …): which laws the merge rule of a table has, or that of a table
 * that would be created with these columns and options.
 */
object CheckRule extends Procedure {
  override val name = "check_rule"

  /** Rows of the table whose values are tried. */
  private val OwnRows = 200

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("cases", IntegerType, "how many random cases to try for each law",
      default = Some(RuleCheck.DefaultCases.toString)),
    Parameter("seed", LongType, "the same cases are tried for the same seed", default = Some("0")),
    Parameter.path,
    Parameter("columns", StringType,
      "columns of a table that there is not, with their types: id INT, ts BIGINT; " +
        "`options` are those of a write that creates it"),
    Parameter("store", BooleanType,
      "true: what is found is stored beside the table's rule; a refuted law is not " +
        "relied on then", default = Some("false")),
    Parameter.filter,
    Parameter.options
  )

  override val result: StructType = Procedure.columns(
    "law" -> StringType,
    "meaning" -> StringType,
    "holds" -> BooleanType,
    "relied_on" -> BooleanType,
    "cases" -> IntegerType,
    "counterexample" -> StringType
  )

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val cases = arguments.int("cases").getOrElse(RuleCheck.DefaultCases)
    if (cases < 1) throw arguments.invalid("cases", cases.toString, "1 or more")
    val (settings, config, columns, own) = arguments.string("columns") match {
      case None => ofTable(session, arguments)
      case Some(_) if arguments.string("table").orElse(arguments.string("path")).isDefined =>
        throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> name)
      case Some(text) => ofColumns(session, arguments, text)
    }
    val stores = arguments.boolean("store").getOrElse(false)
    if (stores) {
      if (arguments.string("columns").isDefined)
        throw arguments.invalid("store", "true", "false where there is no table, but `columns`")
      settings.requireNoDryRun("store the check of the rule of", config.name)
    }
    val results = RuleLaws.check(settings.rule, config, columns, own, cases, arguments.long("seed").getOrElse(0L))
    if (stores)
      RuleService.record(session, arguments.tablePath(session), CheckedRule(config, results, own.size))
    results.map { result =>
      Row(result.law.name, result.law.meaning, result.holds.map(Boolean.box).orNull,
        result.isClaimed.map(Boolean.box).orNull, result.cases, result.counterexample.orNull)
    }
  }

  private def ofTable(session: SparkSession, arguments: Arguments) = {
    val table    = OpenTable.load(session, arguments.tablePath(session))
    val settings = arguments.settings(session, table)
    val columns  = MetaColumns.ofUser(table.schema)
    val toRow    = CatalystTypeConverters.createToCatalystConverter(columns)
    val rows = session.read.format("merganser").options(arguments.options(Parameter.options.name))
      .load(table.storage.basePath.toString).select(columns.fieldNames.map(quoted): _*).limit(OwnRows).collect()
    (settings, table.config, columns, rows.toSeq.map(toRow(_).asInstanceOf[InternalRow]))
  }

  private def ofColumns(session: SparkSession, arguments: Arguments, text: String) = {
    val columns =
      try AvroSchemas.stored(parsed(text))
      catch {
        case NonFatal(_) => throw arguments.invalid("columns", text, "columns with types, such as 'id INT, ts BIGINT'")
      }
    val options  = arguments.options(Parameter.options.name)
    val conf     = FrameWrite.sessionConf(session)
    val config   = TableConfig(NewTable.properties(options, columns, "a table", sessionConf = conf))
    val settings = WriteConfig.parse(options, conf, config, creating = true)
    (settings, config, columns, Nil)
  }

  /** Columns as SQL has them, or as the JSON of a schema. */
  private def parsed(text: String): StructType =
    if (text.trim.startsWith("{")) DataType.fromJson(text).asInstanceOf[StructType] else StructType.fromDDL(text)

  private def quoted(name: String) = org.apache.spark.sql.functions.col(s"`${name.replace("`", "``")}`")
}
