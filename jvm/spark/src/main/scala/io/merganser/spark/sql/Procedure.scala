package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.OpenTable
import io.merganser.spark.compact.{Compaction, Upgrade}
import io.merganser.spark.write.FrameWrite
import io.merganser.table.config.WriteConfig
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types._

/** A table service that SQL calls by name. */
trait Procedure {
  def name: String

  /** Names of its parameters, and what each is. */
  def parameters: Seq[(String, String)]

  /** Columns of its result. */
  def result: StructType

  def run(session: SparkSession, arguments: Map[String, String]): Seq[Row]
}

object Procedure {
  val all: Seq[Procedure] = Seq(RunCompaction, UpgradeTable, Help)

  def byName(name: String): Option[Procedure] = all.find(_.name.equalsIgnoreCase(name))

  /** The table that arguments name, by `table` or by `path`. */
  private[sql] def path(session: SparkSession, procedure: String, arguments: Map[String, String]): String =
    (arguments.get("path"), arguments.get("table")) match {
      case (Some(path), None)  => path
      case (None, Some(table)) => OpenTable.pathOf(session, table)
      case _                   => throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> procedure)
    }
}

/** CALL run_compaction(op => …, table => … | path => …, options => 'k=v,…') */
object RunCompaction extends Procedure {
  override val name = "run_compaction"

  override val parameters: Seq[(String, String)] = Seq(
    "op" -> "schedule, run, execute or scheduleandexecute",
    "table" -> "name of the table",
    "path" -> "path of the table, instead of its name",
    "options" -> "write options, as k=v,k=v"
  )

  override val result: StructType = StructType(Seq(
      StructField("timestamp", StringType),
      StructField("operation_size", IntegerType),
      StructField("state", StringType)
    ))

  override def run(session: SparkSession, arguments: Map[String, String]): Seq[Row] = {
    val path = Procedure.path(session, name, arguments)
    val options = arguments.get("options").toSeq.flatMap(_.split(",")).map(_.split("=", 2)).map {
      case Array(key, value) => key.trim -> value.trim
      case other             => throw MerganserException("CALL_OPTION_SYNTAX", "procedure" -> name, "text" -> other.mkString("="))
    }.toMap
    val settings = WriteConfig.parse(options, FrameWrite.sessionConf(session), OpenTable.load(session, path).config)
    arguments.getOrElse("op", throw MerganserException("CALL_ARGUMENT_MISSING", "procedure" -> name, "argument" -> "op")).toLowerCase match {
      case "schedule"           => Compaction.schedule(session, path).map(Row(_, null, "REQUESTED")).toSeq
      case "run" | "execute"    => done(Compaction.run(session, path, settings))
      case "scheduleandexecute" => done(Compaction.scheduleAndRun(session, path, settings))
      case other => throw MerganserException("CALL_ARGUMENT_INVALID", "procedure" -> name, "argument" -> "op", "value" -> other,
          "allowed" -> "schedule, run, execute, scheduleandexecute")
    }
  }

  private def done(result: io.merganser.spark.compact.CompactionResult): Seq[Row] =
    result.instant.map(Row(_, result.filesWritten, "COMPLETED")).toSeq
}

/** CALL upgrade_table(table => … | path => …, to_version => 'NINE') */
object UpgradeTable extends Procedure {
  override val name = "upgrade_table"

  override val parameters: Seq[(String, String)] = Seq(
    "table" -> "name of the table",
    "path" -> "path of the table, instead of its name",
    "to_version" -> "NINE"
  )

  override val result: StructType = StructType(Seq(StructField("result", BooleanType)))

  override def run(session: SparkSession, arguments: Map[String, String]): Seq[Row] = {
    val path = Procedure.path(session, name, arguments)
    arguments.get("to_version").filterNot(v => v.equalsIgnoreCase("NINE") || v == "9").foreach { other =>
      throw MerganserException("CALL_ARGUMENT_INVALID", "procedure" -> name, "argument" -> "to_version", "value" -> other,
        "allowed" -> "NINE")
    }
    Upgrade.run(session, path, Map.empty)
    Seq(Row(true))
  }
}

/** CALL help() lists the procedures; CALL help(cmd => name) the parameters of one. */
object Help extends Procedure {
  override val name = "help"

  override val parameters: Seq[(String, String)] = Seq("cmd" -> "name of a procedure")

  override val result: StructType = StructType(Seq(StructField("result", StringType)))

  override def run(session: SparkSession, arguments: Map[String, String]): Seq[Row] =
    arguments.get("cmd") match {
      case Some(cmd) =>
        val found = Procedure.byName(cmd).getOrElse(throw MerganserException("PROCEDURE_UNKNOWN", "procedure" -> cmd,
            "known" -> Procedure.all.map(_.name).mkString(", ")))
        found.parameters.map { case (parameter, meaning) => Row(s"$parameter: $meaning") }
      case None => Procedure.all.map(p => Row(p.name))
    }
}

final case class CallCommand(procedure: String, arguments: Map[String, String]) extends LeafRunnableCommand {
  private def found: Procedure = Procedure.byName(procedure).get

  override val output: Seq[Attribute] = found.result.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  override def run(session: SparkSession): Seq[Row] = {
    val known = found.parameters.map(_._1)
    arguments.keys.find(!known.contains(_)).foreach { key =>
      throw MerganserException("CALL_ARGUMENT_UNKNOWN", "procedure" -> procedure, "argument" -> key, "known" -> known.mkString(", "))
    }
    found.run(session, arguments)
  }
}
