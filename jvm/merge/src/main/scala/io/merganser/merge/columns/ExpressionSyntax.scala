package io.merganser.merge.columns

import io.merganser.merge.columns.RuleExpression.{New, Old}
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedFunction, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.types.StructField

import java.util.Locale

/** What expressions of rules may have. */
private[columns] object ExpressionSyntax {

  /**
   * The functions that an expression may call. All Spark lines have them and give the same values; none depends on a
   * session, a locale, a time zone, the processor or the time.
   */
  val Functions: Seq[String] = Seq(
    "abs", "add_months", "array", "array_contains", "array_distinct", "array_except", "array_intersect", "array_join",
    "array_max", "array_min", "array_position", "array_remove", "array_repeat", "array_union", "arrays_overlap",
    "bround", "cardinality", "ceil", "ceiling", "char_length", "character_length", "coalesce", "concat", "concat_ws",
    "contains", "date_add", "date_sub", "datediff", "day", "dayofmonth", "element_at", "endswith", "flatten", "floor",
    "greatest", "if", "ifnull", "instr", "isnan", "isnotnull", "isnull", "last_day", "least", "left", "length",
    "locate",
    "lpad", "ltrim", "map_keys", "map_values", "md5", "mod", "month", "named_struct", "nanvl", "negative", "nullif",
    "nvl", "nvl2", "pmod", "position", "positive", "quarter", "repeat", "replace", "reverse", "right", "round", "rpad",
    "rtrim", "sha2", "sign", "signum", "size", "slice", "sort_array", "sqrt", "startswith", "struct", "substr",
    "substring", "trim", "year"
  )

  /** Operators that are parsed as functions by Spark 4. */
  private val Operators = Set("between")

  private val allowed = Functions.toSet ++ Operators

  private val Remedy = s"Write $Old.column or $New.column"

  /** The expression as parsed, or the first of its parts that is not possible. */
  def problem(parsed: Expression): Either[ExpressionProblem, Expression] =
    parsed.collectFirst(Function.unlift(problemOf)).toLeft(parsed)

  /** The expression as a value of the column, cast as an INSERT would, or why it is none. */
  def assigned(value: Expression, column: StructField): Either[ExpressionProblem, Expression] =
    if (value.dataType == column.dataType) Right(value)
    else if (Cast.canANSIStoreAssign(value.dataType, column.dataType))
      Right(Cast(value, column.dataType, Some("UTC"), EvalMode.ANSI))
    else
      Left(ExpressionProblem(
          s"its type is ${value.dataType.catalogString}, and the column's is ${column.dataType.catalogString}",
          s"Cast it: cast(… AS ${column.dataType.sql})"))

  /** What only shows in the resolved expression. */
  def resolvedProblem(resolved: Expression): Option[ExpressionProblem] =
    resolved.find(part =>
      !part.deterministic || part.isInstanceOf[Unevaluable] || part.isInstanceOf[Generator] ||
        part.isInstanceOf[UserDefinedExpression]).map { part =>
      ExpressionProblem(s"'${part.prettyName}' is not a function of the two versions alone",
        s"Use ${New} and ${Old} columns, constants and operators")
    }

  private def problemOf(part: Expression): Option[ExpressionProblem] = part match {
    case UnresolvedAttribute(version +: _ +: _) if Seq(Old, New).exists(_.equalsIgnoreCase(version)) => None
    case attribute: UnresolvedAttribute =>
      Some(ExpressionProblem(s"'${attribute.name}' is a column of neither version", Remedy))
    case function: UnresolvedFunction =>
      val name = function.nameParts.mkString(".")
      if (!allowed(name.toLowerCase(Locale.ROOT)))
        Some(ExpressionProblem(s"it calls '$name', which is not a function that rule expressions may call",
            "Call greatest, coalesce, if, concat_ws, or another function listed on the page on rule expressions"))
      else if (function.isDistinct || function.filter.isDefined || ignoresNulls(function))
        Some(ExpressionProblem(s"'$name' is called as an aggregate", "Call it with values of the two versions alone"))
      else None
    case _: SubqueryExpression => Some(ExpressionProblem("it has a subquery", s"Use columns of the two versions alone"))
    case _: AggregateExpression | _: WindowExpression | _: UnresolvedWindowExpression =>
      Some(ExpressionProblem("it contains an aggregate or window function", "Use functions of the two versions alone"))
    case _: LambdaFunction => Some(ExpressionProblem("it has a lambda function", "Use functions without lambdas"))
    case _: UnresolvedStar => Some(ExpressionProblem("it has a '*'", Remedy))
    case _: Literal        => None
    case leaf: LeafExpression =>
      Some(ExpressionProblem(s"'${leaf.sql}' is neither a constant nor a column of a version", Remedy))
    case _ => None
  }

  /** A Boolean in Spark 3, and an option of one in Spark 4. */
  private def ignoresNulls(function: UnresolvedFunction): Boolean =
    Seq[Any](true, Some(true)).contains(function.ignoreNulls)
}
