package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import java.util.Locale

/**
 * Reads `CALL name(parameter => value, …)` for the procedures we have; all else is the parser's that was there before.
 *
 * Values are string literals, numbers, true, false and null; the first ones may stand without their parameter's name.
 */
final class CallParser(protected val inner: ParserInterface) extends DelegatingParser {

  override protected def own(text: String): Option[LogicalPlan] = CallParser.parse(text)
}

object CallParser {
  private val Call    = "(?is)\\s*CALL\\s+(?:system\\.)?([A-Za-z_][A-Za-z0-9_]*)\\s*\\((.*)\\)\\s*;?\\s*".r
  private val Literal = "'(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"\\\\]|\\\\.|\"\")*\"|[-+.A-Za-z0-9_]+"
  private val Argument = s"(?s)\\s*(?:([A-Za-z_][A-Za-z0-9_]*)\\s*=>\\s*)?($Literal)\\s*(,|$$)".r

  /**
   * None if the text is no CALL of a procedure of ours.
   *
   * @throws MerganserException CALL_SYNTAX or CALL_ARGUMENT_TWICE
   */
  def parse(text: String): Option[CallCommand] = text match {
    case Call(name, arguments) => Procedure.byName(name).map(procedure => CallCommand(procedure.name, read(procedure, arguments)))
    case _                     => None
  }

  private def read(procedure: Procedure, text: String): Map[String, String] = {
    var rest       = text
    var more       = rest.trim.nonEmpty
    var isNamed    = false
    var position   = 0
    var names      = Set.empty[String]
    var found      = Map.empty[String, String]
    def unreadable = MerganserException("CALL_SYNTAX", "procedure" -> procedure.name, "text" -> rest.trim)
    while (more) {
      val next = Argument.findPrefixMatchOf(rest).getOrElse(throw unreadable)
      isNamed ||= next.group(1) != null
      if (next.group(1) == null && (isNamed || position >= procedure.parameters.length)) throw unreadable
      val name = Option(next.group(1)).map(_.toLowerCase(Locale.ROOT)).getOrElse(procedure.parameters(position)._1)
      if (names(name)) throw MerganserException("CALL_ARGUMENT_TWICE", "procedure" -> procedure.name, "argument" -> name)
      names += name
      unquote(next.group(2)).foreach(value => found += name -> value)
      rest = rest.substring(next.end)
      more = next.group(3) == ","
      position += 1
    }
    found
  }

  private def unquote(literal: String): Option[String] = literal.head match {
    case quote @ ('\'' | '"') =>
      Some(literal.substring(1, literal.length - 1).replace(s"$quote$quote", quote.toString).replaceAll("\\\\(.)", "$1"))
    case _ => Some(literal).filterNot(_.equalsIgnoreCase("null"))
  }
}
