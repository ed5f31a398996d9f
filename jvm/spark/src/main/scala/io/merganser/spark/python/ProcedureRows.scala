package io.merganser.spark.python

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.spark.sql.procedures.{Arguments, Procedure, Procedures}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{CreateMap, Expression, Literal}
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

import scala.collection.JavaConverters._

/** The rows of a procedure as JSON. */
private[python] object ProcedureRows {
  private val mapper = new ObjectMapper

  /**
   * @param arguments strings, booleans, integers and objects of strings by parameter
   * @return an object for each row, whose fields are the columns in camel case
   */
  def of(
      session: SparkSession,
      procedure: String,
      arguments: JsonNode,
      options: Map[String, String]
  ): Iterator[ObjectNode] = {
    val definition = Procedures.byName(procedure).get
    definition.rows(session, checked(definition, arguments, options)).map(node(_, definition.result))
  }

  /** The arguments of a procedure, checked. */
  def checked(definition: Procedure, arguments: JsonNode, options: Map[String, String]): Arguments = {
    val named = arguments.fields().asScala.toSeq.map { argument =>
      val value = argument.getValue
      argument.getKey ->
        (if (value.isBoolean) Literal(value.asBoolean)
         else if (value.isInt) Literal(value.asInt)
         else if (value.isObject) map(value.fields().asScala.map(e => e.getKey -> e.getValue.asText).toMap)
         else Literal(value.asText))
    } ++ (if (options.isEmpty) Nil else Seq("options" -> map(options)))
    Arguments.check(definition, named)
  }

  /** The fields that the SQL tab shows the sums of, and their names there; none for a procedure that only reads. */
  def counts(procedure: String): Seq[(String, String)] =
    Procedures.byName(procedure).get.measures.map(name => camel(name) -> name.replace('_', ' '))

  private def map(entries: Map[String, String]): Expression =
    CreateMap(entries.toSeq.flatMap { case (k, v) => Seq(Literal(k), Literal(v)) })

  /** A row as an object, whose fields are the columns in camel case. */
  def node(row: Row, columns: StructType): ObjectNode = {
    val node = mapper.createObjectNode()
    columns.zip(row.toSeq).foreach { case (column, value) =>
      node.set[JsonNode](camel(column.name), json(value, column.dataType))
    }
    node
  }

  private def json(value: Any, dataType: DataType): JsonNode = (value, dataType) match {
    case (row: Row, columns: StructType) => node(row, columns)
    case (values: collection.Seq[_], ArrayType(element, _)) =>
      val array = mapper.createArrayNode()
      values.foreach(v => array.add(json(v, element)))
      array
    case (entries: collection.Map[_, _], _) =>
      val node = mapper.createObjectNode()
      entries.foreach { case (key, entry) => node.set[JsonNode](key.toString, mapper.valueToTree[JsonNode](entry)) }
      node
    case _ => mapper.valueToTree[JsonNode](value)
  }

  private def camel(name: String): String = {
    val words = name.split('_')
    (words.head +: words.tail.toSeq.map(_.capitalize)).mkString
  }
}
