package io.merganser.merge.columns

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import scala.collection.JavaConverters._
import scala.collection.immutable.SortedMap
import scala.util.Try

/**
 * A merge rule as data: a function for each column.
 *
 * @param columns  the functions of columns that do not have the default, by the column's name
 * @param default  the function of the others; one of [[ColumnFunction.ofAnyType]]
 */
final case class DeclaredRule private (columns: SortedMap[String, ColumnFunction], default: ColumnFunction) {

  /** As tables store it: JSON, the same for equal rules. */
  def text: String = {
    val node    = DeclaredRule.Mapper.createObjectNode().put("version", DeclaredRule.Version).put("default", default.text)
    val ofNames = node.putObject("columns")
    columns.foreach { case (name, function) => ofNames.put(name, function.text) }
    node.toString
  }

  /** Id of the merge strategy: name-based, so that it is the same for equal rules and for no other. */
  def strategyId: String = UUID.nameUUIDFromBytes(s"merganser.rule:$text".getBytes(UTF_8)).toString

  def of(column: String): ColumnFunction = columns.getOrElse(column, default)

  /** The function of a column whose name may be spelled in another case. */
  def ignoringCase(column: String): ColumnFunction =
    columns.getOrElse(column, columns.find(_._1.equalsIgnoreCase(column)).fold(default)(_._2))

  /** Whether a version that is merged twice changes nothing the second time. */
  def isIdempotent: Boolean = columns.values.forall(_.isIdempotent)

  /** Whether it is the rule that a table has anyway: the version with the larger ordering value. */
  def isPlain: Boolean = default == ColumnFunction.Last && columns.isEmpty

  /** The same rule with other names, such as those of the table's schema. */
  def renamed(name: String => String): DeclaredRule =
    DeclaredRule.of(columns.toSeq.map { case (column, function) => name(column) -> function }.toMap, default)
}

object DeclaredRule {

  /** Version of the text. */
  val Version = 1

  private val Mapper = new ObjectMapper

  /** The rule of a merge mode. */
  val Plain: DeclaredRule = of(Map.empty, ColumnFunction.Last)

  def of(columns: Map[String, ColumnFunction], default: ColumnFunction): DeclaredRule =
    new DeclaredRule(SortedMap.empty[String, ColumnFunction] ++ columns.filter(_._2 != default), default)

  /** The rule, or why the text is none: a clause. */
  def parse(text: String): Either[String, DeclaredRule] =
    Try(Mapper.readTree(text)).toOption.filter(node => node != null && node.isObject) match {
      case None => Left("it is not a JSON object")
      case Some(node) =>
        val unknown = node.fieldNames.asScala.toSeq.diff(Seq("version", "default", "columns"))
        if (!Option(node.get("version")).exists(_.asText == Version.toString))
          Left(s"its version is ${Option(node.get("version")).fold("missing")(_.asText)}, not $Version")
        else if (unknown.nonEmpty) Left(s"it has '${unknown.head}'")
        else
          for {
            default <- Option(node.get("default")).fold[Either[String, ColumnFunction]](Right(ColumnFunction.Last))(read)
            columns <- columnsOf(node.get("columns"))
          } yield DeclaredRule.of(columns, default)
    }

  private def columnsOf(node: JsonNode): Either[String, Map[String, ColumnFunction]] =
    Option(node).toSeq.flatMap(_.fields().asScala).foldLeft[Either[String, Map[String, ColumnFunction]]](
      Right(Map.empty)) { (read, field) =>
      for (found <- read; function <- this.read(field.getValue)) yield found + (field.getKey -> function)
    }

  private def read(node: JsonNode): Either[String, ColumnFunction] =
    ColumnFunction.parse(node.asText).toRight(s"'${node.asText}' is not a function")
}
