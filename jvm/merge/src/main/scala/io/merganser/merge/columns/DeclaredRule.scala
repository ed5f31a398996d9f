package io.merganser.merge.columns

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json
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
 * @param delete   what a delete does that is not late-arriving by these ordering fields
 */
final case class ColumnGroup(
    name: String,
    columns: Seq[String],
    ordering: Seq[String],
    delete: DeletePolicy = DeletePolicy.Ignore
) {

  /** All columns that are merged by the group's ordering fields. */
  def members: Seq[String] = ordering ++ columns
}

/**
 * A merge rule as data: a function for each column, and groups of columns.
 *
 * @param columns  the functions of columns that do not have the default, by the column's name
 * @param default  the function of the others; one of [[ColumnFunction.ofAnyType]]
 * @param groups   by name; a column is in one of them at most
 * @param delete   what a delete does that is not late-arriving by the table's ordering fields
 * @param retract  which rows take back what others added; None if none does
 */
final case class DeclaredRule private (
    columns: SortedMap[String, ColumnFunction],
    default: ColumnFunction,
    groups: Seq[ColumnGroup],
    delete: DeletePolicy,
    retract: Option[Retraction]
) {

  /** As tables store it: JSON, the same for equal rules. */
  def text: String = {
    val node = Json.createObjectNode().put("version", DeclaredRule.Version).put("default", default.text)
    if (delete != DeletePolicy.RemoveRow) node.put("delete", delete.text)
    retract.foreach { retraction =>
      val values = node.putObject("retract").put("column", retraction.column).putArray("values")
      retraction.values.foreach(value => values.add(value))
    }
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
        if (group.delete != DeletePolicy.Ignore) own.put("delete", group.delete.text)
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

  /** The columns of whose structs no field may be left out: those that expressions make or read, or of a union. */
  def wholeColumns(table: StructType): Seq[String] =
    table.fieldNames.toSeq.flatMap { column =>
      reads(column, table).toSeq.flatMap(column +: _.all) ++ Some(column).filter(of(_).comparesParts)
    }.distinct

  /** The columns from which a retraction is subtracted. */
  def sums(table: Seq[String]): Seq[String] = table.filter(of(_) == ColumnFunction.Sum)

  /** Ordering fields of groups by which a delete removes the row: they are needed to merge any column. */
  def removing: Seq[String] = groups.filter(_.delete == DeletePolicy.RemoveRow).flatMap(_.ordering)

  /** Whether a delete with an ordering value does more than to remove the row by the table's ordering fields. */
  def decidesDeletes: Boolean =
    delete != DeletePolicy.RemoveRow || groups.exists(_.delete != DeletePolicy.Ignore)

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
  def isPlain: Boolean =
    default == ColumnFunction.Last && columns.isEmpty && groups.isEmpty && delete == DeletePolicy.RemoveRow &&
      retract.isEmpty

  /** The same rule with other names, such as those of the table's schema. */
  def renamed(name: String => String): DeclaredRule =
    DeclaredRule.of(columns.toSeq.map { case (column, function) => name(column) -> function }.toMap, default,
      groups.map(group => group.copy(columns = group.columns.map(name), ordering = group.ordering.map(name))), delete,
      retract.map(retraction => retraction.copy(column = name(retraction.column))))
}

object DeclaredRule {

  /** Version of the text. */
  val Version = 1

  /** The rule of a merge mode. */
  val Plain: DeclaredRule = of(Map.empty, ColumnFunction.Last)

  def of(
      columns: Map[String, ColumnFunction],
      default: ColumnFunction,
      groups: Seq[ColumnGroup] = Nil,
      delete: DeletePolicy = DeletePolicy.RemoveRow,
      retract: Option[Retraction] = None
  ): DeclaredRule =
    new DeclaredRule(SortedMap.empty[String, ColumnFunction] ++ columns.filter(_._2 != default), default,
      groups.map(group => group.copy(columns = group.columns.sorted)).sortBy(_.name), delete,
      retract.map(retraction => retraction.copy(values = retraction.values.distinct.sorted)))

  /** The rule, or why the text is none: a clause. */
  def parse(text: String): Either[String, DeclaredRule] =
    Try(Json.readTree(text)).toOption.filter(node => node != null && node.isObject) match {
      case None => Left("it is not a JSON object")
      case Some(node) =>
        val known   = Seq("version", "default", "delete", "retract", "columns", "groups")
        val unknown = node.fieldNames.asScala.toSeq.diff(known)
        if (!Option(node.get("version")).exists(_.asText == Version.toString))
          Left(s"its version is ${Option(node.get("version")).fold("missing")(_.asText)}, not $Version")
        else if (unknown.nonEmpty) Left(s"it has '${unknown.head}'")
        else
          for {
            default <- defaultOf(node.get("default"))
            columns <- columnsOf(node.get("columns"))
            groups  <- groupsOf(node.get("groups"))
            delete  <- deleteOf(node, DeletePolicy.RemoveRow)
            retract <- retractionOf(node.get("retract"))
          } yield DeclaredRule.of(columns, default, groups, delete, retract)
    }

  private def defaultOf(node: JsonNode): Either[String, ColumnFunction] =
    if (node == null) Right(ColumnFunction.Last)
    else
      read(node).flatMap(function =>
        if (ColumnFunction.ofAnyType.contains(function)) Right(function)
        else Left(s"'$function' does not apply to every column type, which a default must"))

  private def columnsOf(node: JsonNode): Either[String, Map[String, ColumnFunction]] =
    Option(node).toSeq.flatMap(_.fields().asScala).foldLeft[Either[String, Map[String, ColumnFunction]]](
      Right(Map.empty)) { (read, field) =>
      for (found <- read; function <- this.read(field.getValue)) yield found + (field.getKey -> function)
    }

  private def groupsOf(node: JsonNode): Either[String, Seq[ColumnGroup]] = {
    def names(of: JsonNode, key: String) = Option(of.get(key)).toSeq.flatMap(_.elements().asScala.map(_.asText))
    val groups = Option(node).toSeq.flatMap(_.fields().asScala).map { field =>
      val unknown = field.getValue.fieldNames.asScala.toSeq.diff(Seq("columns", "ordering", "delete"))
      if (unknown.nonEmpty) Left(s"group '${field.getKey}' has '${unknown.head}'")
      else
        deleteOf(field.getValue, DeletePolicy.Ignore).map(
          ColumnGroup(field.getKey, names(field.getValue, "columns"), names(field.getValue, "ordering"), _))
    }
    groups.collectFirst { case Left(reason) => reason }.toLeft(groups.collect { case Right(group) => group })
      .flatMap(found =>
        found.find(_.ordering.isEmpty).map(group => s"group '${group.name}' has no ordering fields").toLeft(found))
  }

  private def deleteOf(node: JsonNode, default: DeletePolicy): Either[String, DeletePolicy] =
    Option(node.get("delete")).map(_.asText).fold[Either[String, DeletePolicy]](Right(default))(text =>
      DeletePolicy.parse(text).toRight(s"'$text' is not an effect of deletes"))

  private def retractionOf(node: JsonNode): Either[String, Option[Retraction]] =
    if (node == null) Right(None)
    else {
      val values  = Option(node.get("values")).toSeq.flatMap(_.elements().asScala.map(_.asText))
      val unknown = node.fieldNames.asScala.toSeq.diff(Seq("column", "values"))
      if (unknown.nonEmpty) Left(s"its 'retract' has '${unknown.head}'")
      else if (values.isEmpty || node.get("column") == null) Left("its 'retract' lacks the column or the values")
      else Right(Some(Retraction(node.get("column").asText, values)))
    }

  private def read(node: JsonNode): Either[String, ColumnFunction] =
    ColumnFunction.parse(node.asText).toRight(s"'${node.asText}' is not a function")
}
