package io.merganser.merge.columns

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedExtractValue, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Project}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

import java.util.Locale
import scala.collection.concurrent.TrieMap
import scala.util.control.NonFatal

/** Why an expression is not possible, and what to do about it: two clauses. */
final case class ExpressionProblem(reason: String, remedy: String) {

  /** The error where rows are to be merged by it. */
  def of(column: String, expression: ColumnFunction): MerganserException =
    MerganserException("RULE_EXPRESSION_INVALID", "column" -> column, "expression" -> expression, "reason" -> reason,
      "remedy" -> remedy)
}

/** The columns that an expression reads of each of the two versions. */
final case class ExpressionColumns(older: Seq[String], newer: Seq[String]) {
  def all: Seq[String] = (older ++ newer).distinct
}

/**
 * An SQL expression over two versions of a row: `old.x` is a column of the version that was committed first, `new.x` of
 * the other. Its value depends on these columns and on nothing else: neither on a session, its settings or its
 * functions, nor on the time. Integers that overflow and values that cannot be cast are errors, and times are in UTC.
 *
 * Needs no session: Catalyst's parser and analyzer run with settings and functions of their own.
 */
private[merge] final class RuleExpression(sql: String) extends Serializable {
  import RuleExpression._

  @transient private lazy val parsed: Either[ExpressionProblem, Expression] = ExpressionSettings.during {
    try ExpressionSyntax.problem(CatalystSqlParser.parseExpression(sql))
    catch {
      case failure if NonFatal(failure) => Left(ExpressionProblem(firstLine(failure), "Correct the expression"))
    }
  }

  /** The columns that it reads, as the schema spells them. */
  def columns(schema: StructType): Either[ExpressionProblem, ExpressionColumns] = parsed.flatMap { tree =>
    val found = tree.collect { case UnresolvedAttribute(version +: column +: _) =>
      version.equalsIgnoreCase(Old) -> field(schema, column).map(_.name).toRight(column)
    }
    found.collectFirst { case (isOld, Left(column)) =>
      ExpressionProblem(s"the table has no column '$column', which is read as ${if (isOld) Old else New}.$column",
        s"Name one of ${schema.fieldNames.mkString(", ")}")
    }.toLeft {
      val (older, newer)                                    = found.partition(_._1)
      def names(of: Seq[(Boolean, Either[String, String])]) = of.collect { case (_, Right(name)) => name }.distinct
      ExpressionColumns(names(older), names(newer))
    }
  }

  /**
   * The function that it is a call of, in lower case, and of which version each argument is, where all of them are a
   * column's own values; the name is empty if it is one of these and no call.
   */
  def callOn(schema: StructType, column: String): Option[(String, Seq[String])] = {
    def versions(arguments: Seq[Expression]) = {
      val found = arguments.collect {
        case UnresolvedAttribute(Seq(version, name)) if field(schema, name).exists(_.name == column) =>
          if (version.equalsIgnoreCase(Old)) Old else New
      }
      Some(found).filter(_.size == arguments.size)
    }
    parsed.toOption.flatMap {
      case call: UnresolvedFunction => versions(call.arguments).map(call.nameParts.last.toLowerCase(Locale.ROOT) -> _)
      case other                    => versions(Seq(other)).map("" -> _)
    }
  }

  /**
   * The expression as the value of a column: over the columns of the schema for the older version, then those for the
   * newer one, as bound references.
   */
  def over(schema: StructType, column: String): Either[ExpressionProblem, Expression] =
    columns(schema).flatMap { reads =>
      val read = StructType(schema.filter(f => reads.all.contains(f.name)))
      schema.find(_.name == column) match {
        case None => Left(ExpressionProblem(s"the table has no column '$column'", "Name a column of the table"))
        case Some(target) =>
          val key = (sql, target.name, (target +: read).map(f => f.name -> f.dataType))
          val found = Resolved.get(key).map(Right(_)).getOrElse {
            val resolved = ExpressionSettings.during(resolve(read, target))
            resolved.foreach { expression =>
              if (Resolved.size >= MostResolved) Resolved.clear()
              Resolved.put(key, expression)
            }
            resolved
          }
          found.map(value => ExpressionSettings.during(shifted(value, read, schema)))
      }
    }

  private def resolve(read: StructType, target: StructField): Either[ExpressionProblem, Expression] =
    for {
      tree     <- parsed
      resolved <- analyzed(tree, read)
      value    <- ExpressionSyntax.assigned(resolved, target)
    } yield value

  private def analyzed(tree: Expression, read: StructType): Either[ExpressionProblem, Expression] = {
    val (older, newer) = (attributes(read), attributes(read))
    val named = tree.transformUp { case UnresolvedAttribute(version +: column +: inner) =>
      val of = if (version.equalsIgnoreCase(Old)) older else newer
      val value: Expression = field(read, column).map(f => of(read.fieldIndex(f.name))).getOrElse(
        throw new IllegalStateException(s"column '$column' is not among ${read.fieldNames.mkString(", ")}"))
      inner.foldLeft(value)((struct, name) => UnresolvedExtractValue(struct, Literal(name)))
    }
    try {
      val plan  = Project(Seq(Alias(named, "value")()), LocalRelation(older ++ newer))
      val value = ReplaceExpressions(ExpressionSettings.analyzer().executeAndCheck(plan, new QueryPlanningTracker))
      val child = value.expressions.head match {
        case Alias(child, _) => child
        case other           => throw new IllegalStateException(s"'$other' is not the value")
      }
      val bound = BindReferences.bindReference(child, older ++ newer)
      ExpressionSyntax.resolvedProblem(bound).toLeft(bound)
    } catch {
      case failure: IllegalStateException => throw failure
      case failure if NonFatal(failure) =>
        Left(ExpressionProblem(firstLine(failure), "Correct the expression; a cast converts one type to another"))
    }
  }

  private def attributes(read: StructType): Seq[AttributeReference] =
    read.map(f => AttributeReference(f.name, f.dataType)())
}

private[merge] object RuleExpression {

  /** How expressions name the version that was committed first. */
  val Old = "old"

  /** How they name the other version. */
  val New = "new"

  /** Resolved expressions by text, column and the columns that are read: the files of a table have the same ones. */
  private val Resolved = TrieMap.empty[(String, String, Seq[(String, DataType)]), Expression]

  private val MostResolved = 500

  /** The column of this name, or the only one whose name differs from it in case alone. */
  private def field(schema: StructType, name: String): Option[StructField] =
    schema.find(_.name == name).orElse(
      Some(schema.filter(_.name.equalsIgnoreCase(name))).filter(_.size == 1).map(_.head))

  /** The same over all columns of the schema. */
  private def shifted(value: Expression, read: StructType, schema: StructType): Expression = value.transform {
    case BoundReference(i, dataType, _) =>
      val at = schema.fieldIndex(read(i % read.length).name)
      BoundReference(if (i < read.length) at else schema.length + at, dataType, nullable = true)
  }

  /** The first line of an error of Spark's, without its class. */
  def firstLine(failure: Throwable): String =
    String.valueOf(failure.getMessage).split('\n').map(_.trim).find(_.nonEmpty).getOrElse(failure.toString)
      .stripSuffix(".")
}
