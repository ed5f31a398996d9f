package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Reads `CALL name(parameter => value, …)` for the procedures we have; all else is the parser's that was there before.
 *
 * Values are string literals, numbers, true, false and null.
 */
final class CallParser(protected val inner: ParserInterface) extends DelegatingParser {

  override def parsePlan(text: String): LogicalPlan = CallParser.parse(text).getOrElse(inner.parsePlan(text))
}

object CallParser {
  private val Call     = "(?is)\\s*CALL\\s+(?:system\\.)?([A-Za-z_][A-Za-z0-9_]*)\\s*\\((.*)\\)\\s*;?\\s*".r
  private val Argument = "(?s)\\s*([A-Za-z_][A-Za-z0-9_]*)\\s*=>\\s*('(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"\\\\]|\\\\.)*\"|[-+.A-Za-z0-9_]+)\\s*(,|$)".r

  /** None if the text is no CALL of a procedure of ours. */
  def parse(text: String): Option[LogicalPlan] = text match {
    case Call(name, arguments) => Procedure.byName(name).map(procedure => CallCommand(procedure.name, read(name, arguments)))
    case _                     => None
  }

  private def read(name: String, text: String): Map[String, String] = {
    var rest  = text
    var found = Map.empty[String, String]
    while (rest.trim.nonEmpty) {
      val next = Argument.findPrefixMatchOf(rest).getOrElse(throw MerganserException("CALL_SYNTAX", "procedure" -> name, "text" -> rest.trim))
      val key  = next.group(1).toLowerCase(java.util.Locale.ROOT)
      if (found.contains(key)) throw MerganserException("CALL_ARGUMENT_TWICE", "procedure" -> name, "argument" -> key)
      unquote(next.group(2)).foreach(value => found += key -> value)
      rest = rest.substring(next.end)
    }
    found
  }

  private def unquote(literal: String): Option[String] =
    if (literal.startsWith("'") || literal.startsWith("\""))
      Some(literal.substring(1, literal.length - 1).replace("''", "'").replaceAll("\\\\(.)", "$1"))
    else if (literal.equalsIgnoreCase("null")) None
    else Some(literal)
}
