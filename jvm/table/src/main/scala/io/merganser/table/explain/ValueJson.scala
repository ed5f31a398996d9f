package io.merganser.table.explain

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.merge.{Json, RowLayout}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._

import java.util.Base64

/**
 * Values of rows as JSON, to be shown: numbers, booleans, strings, and what has other types as the string that a cast
 * gives; bytes in Base64. Null is null.
 *
 * @param zone in which timestamps are shown
 */
final class ValueJson(zone: String) extends Serializable {

  /** @param ordinals positions of the columns to show, by their names in `schema` */
  def row(row: InternalRow, schema: StructType, ordinals: Seq[Int]): String = {
    val node = Json.createObjectNode()
    ordinals.foreach(i => put(node, schema(i).name, RowLayout.valueAt(row, i, schema(i).dataType), schema(i).dataType))
    node.toString
  }

  def values(named: Seq[(String, Any, DataType)]): String = {
    val node = Json.createObjectNode()
    named.foreach { case (name, value, dataType) => put(node, name, value, dataType) }
    node.toString
  }

  private def put(node: ObjectNode, name: String, value: Any, dataType: DataType): Unit = {
    node.set[JsonNode](name, json(value, dataType))
    ()
  }

  private def json(value: Any, dataType: DataType): JsonNode = (value, dataType) match {
    case (null, _) => Json.getNodeFactory.nullNode
    case (_: Boolean | _: Byte | _: Short | _: Int | _: Long | _: Float | _: Double,
          BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType) =>
      Json.valueToTree[JsonNode](value)
    case (decimal: Decimal, _) => Json.getNodeFactory.numberNode(decimal.toJavaBigDecimal)
    case (bytes: Array[Byte], BinaryType) =>
      Json.getNodeFactory.textNode(Base64.getEncoder.encodeToString(bytes))
    case (struct: InternalRow, fields: StructType) =>
      val node = Json.createObjectNode()
      fields.indices.foreach(i =>
        put(node, fields(i).name, RowLayout.valueAt(struct, i, fields(i).dataType), fields(i).dataType))
      node
    case (array: ArrayData, ArrayType(element, _)) =>
      val node = Json.createArrayNode()
      array.foreach(element, (_, v) => { node.add(json(v, element)); () })
      node
    case (map: MapData, MapType(key, of, _)) =>
      val node = Json.createObjectNode()
      map.foreach(key, of, (k, v) => put(node, text(k, key), v, of))
      node
    case _ => Json.getNodeFactory.textNode(text(value, dataType))
  }

  private def text(value: Any, dataType: DataType): String =
    String.valueOf(Cast(Literal.create(value, dataType), StringType, Some(zone)).eval())
}

private object ValueJson {}
