package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.ServiceScope
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.TableNames
import io.merganser.table.options.OptionKind
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, MapData}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The arguments of one call, checked against the procedure's parameters: each has its parameter's type, or is absent.
 */
final class Arguments private (of: Procedure[_], values: Map[String, Any], parts: GivenParts) {

  private def procedure: String = of.name

  def string(parameter: String): Option[String]   = values.get(parameter).map(_.asInstanceOf[String])
  def int(parameter: String): Option[Int]         = values.get(parameter).map(_.asInstanceOf[Long].toInt)
  def long(parameter: String): Option[Long]       = values.get(parameter).map(_.asInstanceOf[Long])
  def boolean(parameter: String): Option[Boolean] = values.get(parameter).map(_.asInstanceOf[Boolean])

  /** Whether a flag is true, or is so by its parameter's default. */
  def flag(parameter: String): Boolean = boolean(parameter).getOrElse(default(parameter).contains("true"))

  def isDryRun: Boolean = flag("dry_run")

  /** @throws MerganserException CALL_ARGUMENT_INVALID if there is one and it is less */
  def int(parameter: String, least: Int): Option[Int] = {
    int(parameter).filter(_ < least).foreach(n => throw invalid(parameter, n.toString, s"$least or more"))
    int(parameter)
  }

  private def default(parameter: String): Option[String] = of.parameters.find(_.name == parameter).flatMap(_.default)

  /** Separated by commas. */
  def names(parameter: String): Seq[String] = string(parameter).toSeq.flatMap(OptionKind.NameList.split)

  /** In milliseconds since 1970. */
  def time(parameter: String): Option[Long] = values.get(parameter).map(_.asInstanceOf[Long] / 1000L)

  /** The arguments as text, by parameter in the order of the parameters. */
  def all: Seq[(String, String)] =
    of.parameters.map(_.name).flatMap(name => values.get(name).map(v => name -> v.toString))

  /** Empty if there are none. */
  def options(parameter: String): Map[String, String] =
    values.get(parameter).fold(Map.empty[String, String])(_.asInstanceOf[Map[String, String]])

  /** The rows of a frame that a program gives; else of what the argument names. */
  def frame(parameter: String)(read: String => DataFrame): Option[DataFrame] =
    parts.frame.orElse(string(parameter).map(read))

  /** A condition that a program gives as a column, or as SQL. */
  def condition(parameter: String): Option[Column] = parts.columns.get(parameter).orElse(string(parameter).map(expr))

  /** The statement, with the parts that a program gives beside its text. */
  def statement(text: String): BoundStatement =
    BoundStatement(text, parts.expressions, options(Parameter.names.name))

  /** The table that arguments name; it is loaded once. */
  def table(session: SparkSession): OpenTable = {
    if (opened.isEmpty) opened = Some(OpenTable.load(session, tablePath(session)))
    opened.get
  }

  private var opened: Option[OpenTable] = None

  /** Settings of a call that changes a table: by its options, the session's configuration and the table. */
  def settings(
      session: SparkSession,
      table: OpenTable,
      named: Map[String, String] = options(Parameter.options.name)
  ): WriteConfig = WriteConfig.parse(named, FrameWrite.sessionConf(session), table.config, needsRule = false,
    makesKeys = false)

  /** What a service of the table works on. */
  def scope(session: SparkSession, table: OpenTable): ServiceScope =
    ServiceScope(session, table, settings(session, table))

  /** The argument of a required parameter. */
  def required(parameter: String): String =
    string(parameter).getOrElse(throw new IllegalStateException(s"'$parameter' of $procedure is not required"))

  /** Condition on the rows of the result. */
  def filter: Option[String] = string(Parameter.filter.name)

  /**
   * The limit, which may be one of the rows or of something else; None for all.
   *
   * @throws MerganserException CALL_ARGUMENT_INVALID if it is negative
   */
  def limit: Option[Int] = int("limit", least = 0).orElse(default("limit").map(_.toInt))

  /**
   * The planned instants to run, oldest first: those named, or all, and no more than the limit.
   *
   * @param named by the parameter
   * @param what  the planned ones are
   * @throws MerganserException CALL_ARGUMENT_INVALID if one is not planned
   */
  def chosen(parameter: String, named: Seq[String], planned: Seq[String], what: String): Seq[String] = {
    named.find(!planned.contains(_)).foreach { instant =>
      throw invalid(parameter, instant,
        if (planned.isEmpty) s"$what, of which there are none" else planned.mkString(", "))
    }
    val toRun = if (named.isEmpty) planned else planned.filter(named.contains)
    int("limit").fold(toRun)(toRun.take)
  }

  /** The path of the table that arguments name, by `table` or by `path`. */
  def tablePath(session: SparkSession): String = (string("path"), string("table")) match {
    case (Some(path), None)  => path
    case (None, Some(table)) => TableNames.pathOf(session, table)
    case _                   => throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> procedure)
  }

  /** The error of an argument that a call needs. */
  def missing(parameter: String): MerganserException =
    MerganserException("CALL_ARGUMENT_MISSING", "procedure" -> procedure, "argument" -> parameter)

  /** @throws MerganserException CALL_ARGUMENT_INVALID */
  def invalid(parameter: String, value: String, allowed: String): MerganserException =
    MerganserException("CALL_ARGUMENT_INVALID", "procedure" -> procedure, "argument" -> parameter, "value" -> value,
      "allowed" -> allowed)
}

/**
 * What a program gives beside values.
 *
 * @param frame       rows, in place of the table or view that an argument names
 * @param columns     conditions by the parameters that they are of
 * @param expressions by the words that a statement has in their places
 */
final case class GivenParts(
    frame: Option[DataFrame] = None,
    columns: Map[String, Column] = Map.empty,
    expressions: Map[String, Expression] = Map.empty
)

object Arguments {

  /**
   * @param named names and values as in the statement, the values resolved
   * @throws MerganserException CALL_ARGUMENT_UNKNOWN, CALL_ARGUMENT_TYPE, CALL_ARGUMENT_NOT_CONSTANT,
   *                            CALL_ARGUMENT_MISSING or CALL_OPTION_SYNTAX
   */
  def check(
      procedure: Procedure[_],
      named: Seq[(String, Expression)],
      parts: GivenParts = GivenParts()
  ): Arguments = {
    val values = named.flatMap { case (name, expression) =>
      val parameter = procedure.parameters.find(_.name.equalsIgnoreCase(name)).getOrElse(
        throw MerganserException("CALL_ARGUMENT_UNKNOWN", "procedure" -> procedure.name, "argument" -> name,
          "known" -> procedure.parameters.map(_.name).mkString(", ")))
      value(procedure, parameter, expression).map(parameter.name -> _)
    }.toMap
    def isGiven(p: Parameter) = values.contains(p.name) || p.takesFrame && parts.frame.isDefined
    procedure.parameters.find(p => p.isRequired && !isGiven(p)).foreach { missing =>
      throw new Arguments(procedure, values, parts).missing(missing.name)
    }
    new Arguments(procedure, values, parts)
  }

  /** None for null, which counts as absent. */
  private def value(procedure: Procedure[_], parameter: Parameter, expression: Expression): Option[Any] = {
    if (!expression.foldable)
      throw MerganserException("CALL_ARGUMENT_NOT_CONSTANT", "procedure" -> procedure.name,
        "argument" -> parameter.name,
        "value" -> expression.sql)
    val found = expression.eval()
    def wrong = MerganserException("CALL_ARGUMENT_TYPE", "procedure" -> procedure.name, "argument" -> parameter.name,
      "value" -> expression.sql,
      "type" -> expression.dataType.sql, "expected" -> describe(parameter.dataType))
    if (found == null) None
    else Some((parameter.dataType, expression.dataType) match {
      case (StringType, _: StringType)                                       => found.toString
      case (BooleanType, BooleanType)                                        => found
      case (IntegerType, ByteType | ShortType | IntegerType)                 => found.asInstanceOf[Number].longValue
      case (LongType, ByteType | ShortType | IntegerType | LongType)         => found.asInstanceOf[Number].longValue
      case (TimestampType, TimestampType)                                    => found
      case (TimestampType, _: StringType)                                    => time(found, wrong)
      case (Parameter.OptionsType, _: StringType)                            => options(procedure.name, found.toString)
      case (Parameter.OptionsType, MapType(_: StringType, _: StringType, _)) => options(found.asInstanceOf[MapData])
      case (Parameter.OptionsType, MapType(NullType, NullType, _))           => Map.empty[String, String] // map()
      case _                                                                 => throw wrong
    })
  }

  /** A time in the session's zone, in microseconds since 1970. */
  private def time(text: Any, wrong: => MerganserException): Long = DateTimeUtils.stringToTimestamp(
    UTF8String.fromString(text.toString), DateTimeUtils.getZoneId(SQLConf.get.sessionLocalTimeZone)).getOrElse(
    throw wrong)

  private def options(procedure: String, text: String): Map[String, String] =
    text.split(",").filter(_.trim.nonEmpty).map(_.split("=", 2)).map {
      case Array(key, value) => key.trim -> value.trim
      case other =>
        throw MerganserException("CALL_OPTION_SYNTAX", "procedure" -> procedure, "text" -> other.mkString("="))
    }.toMap

  private def options(map: MapData): Map[String, String] = {
    def strings(array: org.apache.spark.sql.catalyst.util.ArrayData) =
      array.toArray[UTF8String](StringType).map(String.valueOf(_))
    strings(map.keyArray()).zip(strings(map.valueArray())).toMap
  }

  private[procedures] def describe(dataType: DataType): String =
    if (dataType == Parameter.OptionsType) "STRING or MAP<STRING, STRING>" else dataType.sql
}
