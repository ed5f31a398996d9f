package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.sql.procedures.{CallCommand, Procedure, ProcedureList, Procedures}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{PosParameter, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.{SQLConf, VariableSubstitution}

import scala.util.control.NonFatal

/**
 * Parses `CALL name(parameter => value, …)` for our procedures, and `CREATE TABLE … LIKE` with names that Spark's
 * parser does not take; every other statement goes to the parser before it.
 *
 * A procedure's name is unqualified, or qualified by `system` or by one of our catalogs. Values are constant
 * expressions or parameter markers; leading arguments may be positional.
 *
 * @param catalogs class names of our catalogs
 */
final class CallParser(
    session: SparkSession,
    protected val inner: ParserInterface,
    catalogs: Set[String],
    procedures: ProcedureList = Procedures
) extends DelegatingParser {

  override protected def own(text: String): Option[LogicalPlan] =
    call(text).orElse(CreateTableLikes.ofText(session, text, inner))

  private def call(text: String): Option[LogicalPlan] = CallParser.read(text).flatMap { call =>
    val parts = inner.parseMultipartIdentifier(call.name)
    CallParser.catalogOf(parts) match {
      case Some(catalog) if !isOurs(catalog) => None
      case catalog =>
        procedures.byName(parts.last) match {
          case Some(procedure)           => Some(CallParser.command(procedure, call, inner))
          case None if catalog.isDefined => throw unknown(parts)
          case None if parts.length <= 2 && isOurs(session.catalog.currentCatalog()) =>
            Some(innerOrUnknown(unknown(parts), text))
          case None => None
        }
    }
  }

  private def isOurs(catalog: String): Boolean =
    session.conf.getOption(s"spark.sql.catalog.$catalog").exists(catalogs)

  /** The procedure may be another extension's; Spark itself has procedures of other catalogs only. */
  private def innerOrUnknown(unknown: MerganserException, text: String): LogicalPlan = {
    val plan =
      try inner.parsePlan(text)
      catch { case e: ParseException => throw unknown.causedBy(e) }
    if (plan.nodeName == "Call") throw unknown else plan
  }

  private def unknown(parts: Seq[String]): MerganserException =
    procedures.unknown(parts.mkString("."))
}

private[sql] object CallParser {

  /** The parsed statement, with variables substituted as Spark's parser does; None if it is not a CALL. */
  def read(text: String): Option[CallText] =
    CallText.parse(new VariableSubstitution().substitute(text), !SQLConf.get.escapedStringLiterals)

  /** The catalog that qualifies a procedure's name: `catalog.name` or `catalog.system.name`. */
  private def catalogOf(parts: Seq[String]): Option[String] = parts.init match {
    case Seq() | Seq(System())  => None
    case Seq(catalog)           => Some(catalog)
    case Seq(catalog, System()) => Some(catalog)
    case qualifiers             => Some(qualifiers.mkString("."))
  }

  private object System {
    def unapply(name: String): Boolean = name.equalsIgnoreCase("system")
  }

  /**
   * @param inner parses the values
   * @throws MerganserException CALL_SYNTAX, CALL_ARGUMENT_TWICE or CALL_ARGUMENT_UNKNOWN
   */
  def command(procedure: Procedure[_], call: CallText, inner: ParserInterface): CallCommand = {
    val known = procedure.parameters.map(_.name)
    var names = Vector.empty[String]
    call.arguments.foreach { argument =>
      if (argument.value.trim.isEmpty) throw unreadable(procedure, argument)
      val name = argument.name match {
        case Some(written) =>
          known.find(_.equalsIgnoreCase(written)).getOrElse(
            throw MerganserException("CALL_ARGUMENT_UNKNOWN", "procedure" -> procedure.name, "argument" -> written,
              "known" -> known.mkString(", ")))
        case None if names.length < known.length && call.arguments.take(names.length).forall(_.name.isEmpty) =>
          known(names.length)
        case None => throw unreadable(procedure, argument)
      }
      if (names.contains(name))
        throw MerganserException("CALL_ARGUMENT_TWICE", "procedure" -> procedure.name, "argument" -> name)
      names :+= name
    }
    CallCommand(procedure, names, call.arguments.map(value(procedure, _, inner)))
  }

  private def value(procedure: Procedure[_], argument: CallText.Argument, inner: ParserInterface): Expression = {
    val parsed =
      try inner.parseExpression(argument.value.trim)
      catch { case NonFatal(e) => throw unreadable(procedure, argument).causedBy(e) }
    parsed match {
      case EqualTo(_: UnresolvedAttribute, _) if argument.name.isEmpty =>
        throw unreadable(procedure, argument) // = instead of =>
      case expression =>
        // Unnamed markers are identified and ordered by their position in the statement.
        expression.transform { case marker: PosParameter => PosParameter(argument.start + marker.pos) }
    }
  }

  private def unreadable(procedure: Procedure[_], argument: CallText.Argument): MerganserException =
    MerganserException("CALL_SYNTAX", "procedure" -> procedure.name,
      "text" -> (argument.name.fold("")(_ + " => ") + argument.value.trim))
}
