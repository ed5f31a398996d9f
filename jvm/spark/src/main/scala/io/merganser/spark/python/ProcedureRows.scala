package io.merganser.spark.python

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.merge.Json
import io.merganser.spark.sql.procedures.{Arguments, GivenParts, Procedure}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{CreateMap, Expression, Literal}
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

import scala.collection.JavaConverters._

/** Arguments and rows of calls as JSON. */
private[python] object ProcedureRows {

  /** @param json an object of strings, booleans, integers and objects of strings by parameter */
  def arguments(procedure: Procedure[_], json: String, parts: GivenParts): Arguments = {
    val named = Json.readTree(json).fields().asScala.toSeq.map(a => a.getKey -> literal(a.getValue))
    Arguments.check(procedure, named, parts)
  }

  private def literal(value: JsonNode): Expression =
    if (value.isBoolean) Literal(value.asBoolean)
    else if (value.isInt) Literal(value.asInt)
    else if (value.isLong) Literal(value.asLong)
    else if (value.isObject) map(value)
    else Literal(value.asText)

  private def map(entries: JsonNode): Expression =
    CreateMap(strings(entries).toSeq.flatMap { case (k, v) => Seq(Literal(k), Literal(v)) })

  /** An object of strings. */
  def strings(entries: JsonNode): Map[String, String] =
    entries.fields().asScala.map(e => e.getKey -> e.getValue.asText).toMap

  def strings(json: String): Map[String, String] = strings(Json.readTree(json))

  /** Rows as an array of objects, whose fields are the columns; times are in milliseconds since 1970. */
  def json(rows: Iterator[Row], columns: StructType): String = {
    val array = Json.createArrayNode()
    rows.foreach(row => array.add(node(row, columns)))
    array.toString
  }

  private def node(row: Row, columns: StructType): ObjectNode = {
    val node = Json.createObjectNode()
    columns.zip(row.toSeq).foreach { case (column, value) =>
      node.set[JsonNode](column.name, json(value, column.dataType))
    }
    node
  }

  private def json(value: Any, dataType: DataType): JsonNode = (value, dataType) match {
    case (row: Row, columns: StructType) => node(row, columns)
    case (values: collection.Seq[_], ArrayType(element, _)) =>
      val array = Json.createArrayNode()
      values.foreach(v => array.add(json(v, element)))
      array
    case (entries: collection.Map[_, _], _) =>
      val node = Json.createObjectNode()
      entries.foreach { case (key, entry) => node.set[JsonNode](key.toString, Json.valueToTree[JsonNode](entry)) }
      node
    case _ => Json.valueToTree[JsonNode](value)
  }
}
