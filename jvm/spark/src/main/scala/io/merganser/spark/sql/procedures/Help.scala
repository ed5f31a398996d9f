package io.merganser.spark.sql.procedures

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL help() lists the procedures; CALL help(cmd => name) the parameters and the result of one. */
final class Help(all: => Seq[Procedure[_]]) extends Procedure[String] {
  override val name = "help"

  override val parameters = Seq(Parameter("cmd", StringType, "name of a procedure"))

  override val columns = ResultColumns[String](string("result", identity))

  override def run(session: SparkSession, arguments: Arguments): Seq[String] = arguments.string("cmd") match {
    case None => all.map(_.name)
    case Some(cmd) =>
      val procedure = all.find(_.name.equalsIgnoreCase(cmd)).getOrElse(throw Procedure.unknown(cmd, all.map(_.name)))
      procedure.parameters.map(describe) ++ procedure.result.map(f => s"returns ${f.name} ${f.dataType.sql}")
  }

  private def describe(parameter: Parameter): String = {
    val more = (if (parameter.isRequired) Some("required") else None) ++ parameter.default.map(d => s"default $d")
    val note = if (more.isEmpty) "" else more.mkString(" (", ", ", ")")
    s"${parameter.name} ${Arguments.describe(parameter.dataType)}: ${parameter.meaning}$note"
  }
}
