package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.sql.procedures.{Arguments, CallCommand, Procedures}
import org.apache.spark.sql.catalyst.analysis.PosParameter
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.scalatest.funsuite.AnyFunSuite

class CallParserSuite extends AnyFunSuite {

  private def call(text: String): Option[CallCommand] = CallParser.read(text).flatMap { read =>
    Procedures.byName(CatalystSqlParser.parseMultipartIdentifier(read.name).last).map(CallParser.command(_, read,
        CatalystSqlParser))
  }

  private def arguments(text: String): Map[String, Any] = {
    val found = call(text).get
    found.names.zip(found.values.map(_.eval()).map(v => if (v == null) null else v.toString)).toMap
  }

  private def condition(text: String): String = intercept[MerganserException](checked(text)).condition

  private def checked(text: String): Arguments = {
    val found = call(text).get
    Arguments.check(found.procedure, found.names.zip(found.values))
  }

  test("named arguments are parsed in any order, case and white space") {
    val expected = Map("op" -> "run", "table" -> "db.t")
    Seq(
      "CALL run_compaction(op => 'run', table => 'db.t')",
      "\n call\tRUN_Compaction (\n TABLE=>\"db.t\" ,\n Op   =>'run'\n) ; ",
      "CALL system.run_compaction(op => 'run', table => 'db.t')",
      "CALL `system` . `run_compaction`(`op` => 'run', `table` => 'db.t')"
    ).foreach(text => assert(arguments(text) == expected, text))
  }

  test("comments are ignored wherever white space is allowed") {
    val text =
      "-- CALL help()\n/* a /* nested */ one */ CALL /* its name */ run_compaction( -- op => 'no'\n" +
        " op => 'run' /*, op => 'no' */, table => '-- no comment /* nor here' )\n-- the end"
    assert(arguments(text) == Map("op" -> "run", "table" -> "-- no comment /* nor here"))
  }

  test("a call may have no arguments") {
    assert(call("CALL help()").contains(CallCommand(Procedures.byName("help").get, Nil, Nil)))
    assert(call("call help ( /* none */ )").contains(CallCommand(Procedures.byName("help").get, Nil, Nil)))
  }

  test("leading arguments are parsed by position, in the order of the parameters") {
    assert(arguments("CALL run_compaction('run', 'db.t')") == Map("op" -> "run", "table" -> "db.t"))
    assert(arguments("CALL run_compaction('run', path => '/x')") == Map("op" -> "run", "path" -> "/x"))
    assert(condition("CALL run_compaction(op => 'run', 'db.t')") == "CALL_SYNTAX")
    assert(condition("CALL help('a', 'b')") == "CALL_SYNTAX")
  }

  test("a string keeps characters of the syntax and escaped quotes") {
    assert(arguments("CALL run_compaction(options => 'a=1,b=(x) => y', op => 'r\\'u\\'n')") ==
      Map("options" -> "a=1,b=(x) => y", "op" -> "r'u'n"))
    assert(arguments("CALL run_compaction(path => \"/it's/here\", op => r'\\')") == Map("path" -> "/it's/here",
      "op" -> "\\"))
  }

  test("a value may be computed or negative, and null counts as no argument") {
    assert(checked("CALL show_commits(table => 'a' '.b', limit => 1 + 2)").int("limit").contains(3))
    assert(checked("CALL show_commits(table => 't', limit => -1)").int("limit").contains(-1))
    val call = checked("CALL rollback_failed_writes(path => '/x', table => NULL, options => 'a=1, b = x=y')")
    assert(call.options("options") == Map("a" -> "1", "b" -> "x=y"))
    assert(call.string("table").isEmpty)
  }

  test("parameter markers without a name keep their order") {
    val values = call("CALL run_compaction(?, path => ?, options => 'a=?')").get.values
    val places = values.collect { case PosParameter(at) => at }
    assert(places.length == 2)
    assert(places == places.sorted)
    assert(places.distinct == places)
  }

  test("an argument given twice is refused, also if one is given by position") {
    assert(condition("CALL run_compaction(op => 'run', OP => 'run')") == "CALL_ARGUMENT_TWICE")
    assert(condition("CALL run_compaction('run', op => 'run')") == "CALL_ARGUMENT_TWICE")
  }

  test("a malformed list of arguments is refused") {
    for (
      text <- Seq("op 'run'", "op => ", "op => 'run' table => 't'", "op => 'run',", ", op => 'run'", "op => 'run",
        "op = 'run'")
    ) assert(condition(s"CALL run_compaction($text)") == "CALL_SYNTAX", text)
  }

  test("an unknown, mistyped or missing argument is refused by the parameter's name") {
    val wrongType = intercept[MerganserException](checked("CALL show_commits(table => 't', limit => 'many')"))
    assert(wrongType.condition == "CALL_ARGUMENT_TYPE")
    assert(wrongType.parameters("argument") == "limit")
    assert(wrongType.parameters("expected") == "INT")
    assert(condition("CALL run_compaction(op => 1)") == "CALL_ARGUMENT_TYPE")
    assert(condition("CALL run_compaction(op => rand())") == "CALL_ARGUMENT_NOT_CONSTANT")
    assert(condition("CALL show_commits(limt => 1)") == "CALL_ARGUMENT_UNKNOWN")
    assert(condition("CALL run_compaction(table => 't')") == "CALL_ARGUMENT_MISSING")
  }

  test("other statements are not parsed as calls") {
    Seq("SELECT 1", "SELECT 'CALL help()'", "CALL help", "/* CALL help() */ SELECT 1", "CALL help() SELECT 1",
      "-- CALL help()").foreach {
      text => assert(CallParser.read(text).isEmpty, text)
    }
  }
}
