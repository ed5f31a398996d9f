package io.merganser.merge.columns

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.types.StructType

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import scala.collection.JavaConverters._
import scala.collection.immutable.SortedMap
import scala.util.Try

/**
 * Columns whose late-arriving versions are found by ordering fields of their own: two streams with two clocks, say,
 * that write one row.
 *
 * @param columns  those of the group, without its ordering fields
 * @param ordering the ordering fields, which are columns of the table, in the order they are compared; after a merge
 *                 they are those of the version with the larger values
 */
final case class ColumnGroup(name: String, columns: Seq[String], ordering: Seq[String]) {

  /** All columns that are merged by the group's ordering fields. */
  def members: Seq[String] = ordering ++ columns
}

/**
 * A merge rule as data: a function for each column, and groups of columns.
 *
 * @param columns  the functions of columns that do not have the default, by the column's name
 * @param default  the function of the others; one of [[ColumnFunction.ofAnyType]]
 * @param groups   by name; a column is in one of them at most
 */
final case class DeclaredRule private (
    columns: SortedMap[String, ColumnFunction],
    default: ColumnFunction,
    groups: Seq[ColumnGroup]
) {

  /** As tables store it: JSON, the same for equal rules. */
  def text: String = {
    val node = DeclaredRule.Mapper.createObjectNode().put("version", DeclaredRule.Version).put("default", default.text)
    val ofNames = node.putObject("columns")
    columns.foreach { case (name, function) => ofNames.put(name, function.text) }
    if (groups.nonEmpty) {
      val ofGroups = node.putObject("groups")
      groups.foreach { group =>
        val own = ofGroups.putObject(group.name)
        for ((key, names) <- Seq("ordering" -> group.ordering, "columns" -> group.columns)) {
          val array = own.putArray(key)
          names.foreach(name => array.add(name))
        }
      }
    }
    node.toString
  }

  /** Id of the merge strategy: name-based, so that it is the same for equal rules and for no other. */
  def strategyId: String = UUID.nameUUIDFromBytes(s"merganser.rule:$text".getBytes(UTF_8)).toString

  /** A group's ordering fields are those of the version with the larger values. */
  def of(column: String): ColumnFunction =
    if (groups.exists(_.ordering.contains(column))) ColumnFunction.Last else columns.getOrElse(column, default)

  /** The groups that have one of these columns: to merge them, all their ordering fields are needed. */
  def groupsOf(columns: Seq[String]): Seq[ColumnGroup] = groups.filter(_.members.exists(columns.contains))

  /**
   * Other columns that are needed to merge these: the ordering fields of their groups, what their expressions read, and
   * what these columns need.
   *
   * @param table the table's columns
   */
  def neededFor(columns: Seq[String], table: StructType): Seq[String] = {
    val needed = (groupsOf(columns).flatMap(_.ordering) ++ columns.flatMap(reads(_, table).toSeq.flatMap(_.all)))
      .distinct.filterNot(columns.contains)
    if (needed.isEmpty) Nil else needed ++ neededFor(columns ++ needed, table)
  }

  /** The columns that expressions make or read; of structs among them, no field may be left out. */
  def ofExpressions(table: StructType): Seq[String] =
    table.fieldNames.toSeq.flatMap(column => reads(column, table).toSeq.flatMap(column +: _.all)).distinct

  /**
   * What a column's expression reads; None without one.
   *
   * @throws io.merganser.merge.MerganserException RULE_EXPRESSION_INVALID
   */
  def reads(column: String, table: StructType): Option[ExpressionColumns] = of(column) match {
    case expression: ColumnFunction.Computed =>
      Some(expression.columns(table).fold(problem => throw problem.of(column, expression), identity))
    case _ => None
  }

  /** The function of a column whose name may be spelled in another case. */
  def ignoringCase(column: String): ColumnFunction =
    columns.getOrElse(column, columns.find(_._1.equalsIgnoreCase(column)).fold(default)(_._2))

  /** Whether a version that is merged twice changes nothing the second time. */
  def isIdempotent: Boolean = columns.values.forall(_.isIdempotent)

  /** Whether it is the rule that a table has anyway: the version with the larger ordering value. */
  def isPlain: Boolean = default == ColumnFunction.Last && columns.isEmpty && groups.isEmpty

  /** The same rule with other names, such as those of the table's schema. */
  def renamed(name: String => String): DeclaredRule =
    DeclaredRule.of(columns.toSeq.map { case (column, function) => name(column) -> function }.toMap, default,
      groups.map(group => ColumnGroup(group.name, group.columns.map(name), group.ordering.map(name))))
}

object DeclaredRule {

  /** Version of the text. */
  val Version = 1

  private val Mapper = new ObjectMapper

  /** The rule of a merge mode. */
  val Plain: DeclaredRule = of(Map.empty, ColumnFunction.Last)

  def of(
      columns: Map[String, ColumnFunction],
      default: ColumnFunction,
      groups: Seq[ColumnGroup] = Nil
  ): DeclaredRule =
    new DeclaredRule(SortedMap.empty[String, ColumnFunction] ++ columns.filter(_._2 != default), default,
      groups.map(group => group.copy(columns = group.columns.sorted)).sortBy(_.name))

  /** The rule, or why the text is none: a clause. */
  def parse(text: String): Either[String, DeclaredRule] =
    Try(Mapper.readTree(text)).toOption.filter(node => node != null && node.isObject) match {
      case None => Left("it is not a JSON object")
      case Some(node) =>
        val unknown = node.fieldNames.asScala.toSeq.diff(Seq("version", "default", "columns", "groups"))
        if (!Option(node.get("version")).exists(_.asText == Version.toString))
          Left(s"its version is ${Option(node.get("version")).fold("missing")(_.asText)}, not $Version")
        else if (unknown.nonEmpty) Left(s"it has '${unknown.head}'")
        else
          for {
            default <- defaultOf(node.get("default"))
            columns <- columnsOf(node.get("columns"))
            groups  <- groupsOf(node.get("groups"))
          } yield DeclaredRule.of(columns, default, groups)
    }

  private def defaultOf(node: JsonNode): Either[String, ColumnFunction] =
    if (node == null) Right(ColumnFunction.Last)
    else
      read(node).flatMap(function =>
        if (ColumnFunction.ofAnyType.contains(function)) Right(function)
        else Left(s"'$function' is not for columns of any type, as a default must be"))

  private def columnsOf(node: JsonNode): Either[String, Map[String, ColumnFunction]] =
    Option(node).toSeq.flatMap(_.fields().asScala).foldLeft[Either[String, Map[String, ColumnFunction]]](
      Right(Map.empty)) { (read, field) =>
      for (found <- read; function <- this.read(field.getValue)) yield found + (field.getKey -> function)
    }

  private def groupsOf(node: JsonNode): Either[String, Seq[ColumnGroup]] = {
    def names(of: JsonNode, key: String) = Option(of.get(key)).toSeq.flatMap(_.elements().asScala.map(_.asText))
    val groups = Option(node).toSeq.flatMap(_.fields().asScala).map { field =>
      ColumnGroup(field.getKey, names(field.getValue, "columns"), names(field.getValue, "ordering"))
    }
    groups.find(_.ordering.isEmpty).map(group => s"group '${group.name}' has no ordering fields").toLeft(groups)
  }

  private def read(node: JsonNode): Either[String, ColumnFunction] =
    ColumnFunction.parse(node.asText).toRight(s"'${node.asText}' is not a function")
}
