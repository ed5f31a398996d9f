package io.merganser.table.timeline

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import io.merganser.merge.Json
import org.apache.avro.Schema

import scala.collection.JavaConverters._

/**
 * Avro schemas whose strings Avro's generic readers return as `String`, not `Utf8`: Hudi's readers of its archive
 * expect that, and their own schemas have this property.
 */
private[timeline] object JavaStrings {

  private val Property = "avro.java.string"

  def of(schema: Schema): Schema = new Schema.Parser().parse(typed(Json.readTree(schema.toString)).toString)

  private def typed(node: JsonNode): JsonNode = node match {
    case text: TextNode if text.asText == "string" =>
      Json.createObjectNode().put("type", "string").put(Property, "String")
    case union: ArrayNode =>
      val types = Json.createArrayNode()
      union.elements.asScala.foreach(t => types.add(typed(t)))
      types
    case definition: ObjectNode => ofDefinition(definition)
    case other                  => other
  }

  private def ofDefinition(definition: ObjectNode): JsonNode = {
    definition.path("type").asText match {
      case "record" => definition.path("fields").elements.asScala.foreach { field =>
          field.asInstanceOf[ObjectNode].set[JsonNode]("type", typed(field.get("type")))
        }
      case "array"  => definition.set[JsonNode]("items", typed(definition.get("items")))
      case "map"    => definition.put(Property, "String").set[JsonNode]("values", typed(definition.get("values")))
      case "string" => definition.put(Property, "String")
      case _        => ()
    }
    definition
  }
}
