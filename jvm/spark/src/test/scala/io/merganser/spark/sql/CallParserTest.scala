package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.scalatest.funsuite.AnyFunSuite

class CallParserTest extends AnyFunSuite {

  private def arguments(text: String): Map[String, String] = CallParser.parse(text).get.arguments

  private def condition(text: String): String = intercept[MerganserException](CallParser.parse(text)).condition

  test("named arguments come in any order, any case of the names, and any white space") {
    val expected = CallCommand("run_compaction", Map("op" -> "run", "table" -> "db.t"))
    assert(CallParser.parse("CALL run_compaction(op => 'run', table => 'db.t')").contains(expected))
    assert(CallParser.parse("\n call\tRUN_Compaction (\n TABLE=>\"db.t\" ,\n Op   =>'run'\n) ; ").contains(expected))
    assert(CallParser.parse("CALL system.run_compaction(op => 'run', table => 'db.t')").contains(expected))
  }

  test("a call may have no arguments") {
    assert(CallParser.parse("CALL help()").contains(CallCommand("help", Map.empty)))
    assert(CallParser.parse("call help ( )").contains(CallCommand("help", Map.empty)))
  }

  test("leading arguments may stand by position, in the order of the parameters") {
    assert(arguments("CALL run_compaction('run', 'db.t')") == Map("op" -> "run", "table" -> "db.t"))
    assert(arguments("CALL run_compaction('run', path => '/x')") == Map("op" -> "run", "path" -> "/x"))
    assert(condition("CALL run_compaction(op => 'run', 'db.t')") == "CALL_SYNTAX")
    assert(condition("CALL help('a', 'b')") == "CALL_SYNTAX")
  }

  test("a string keeps what looks like syntax, and quotes that are doubled or escaped") {
    assert(arguments("CALL run_compaction(options => 'a=1,b=(x) => y', op => 'r''u\\'n')") == Map("options" -> "a=1,b=(x) => y",
      "op" -> "r'u'n"))
    assert(arguments("CALL run_compaction(path => \"/it's/here\")") == Map("path" -> "/it's/here"))
  }

  test("numbers and words are taken as they stand, and null is as good as nothing") {
    assert(arguments("CALL run_compaction(op => -1.5, table => true, path => NULL)") == Map("op" -> "-1.5", "table" -> "true"))
  }

  test("an argument given twice is refused, also when one of the two stands by position") {
    assert(condition("CALL run_compaction(op => 'run', OP => 'run')") == "CALL_ARGUMENT_TWICE")
    assert(condition("CALL run_compaction('run', op => 'run')") == "CALL_ARGUMENT_TWICE")
  }

  test("what is no list of arguments is refused") {
    Seq("op 'run'", "op => ", "op => 'run' table => 't'", "op => 'run',", ", op => 'run'", "op => 'run", "op = 'run'").foreach { text =>
      assert(condition(s"CALL run_compaction($text)") == "CALL_SYNTAX", text)
    }
  }

  test("other statements and other procedures are left to Spark") {
    Seq("SELECT 1", "CALL other(x => 1)", "CALL cat.db.run_compaction(op => 'run')", "SELECT 'CALL help()'", "CALL help").foreach { text =>
      assert(CallParser.parse(text).isEmpty, text)
    }
  }
}
