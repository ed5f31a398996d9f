package io.merganser.table.schema

import com.fasterxml.jackson.core.{JsonFactory, JsonGenerator}
import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json

import java.io.StringWriter
import scala.collection.JavaConverters._

/** The JSON of [[InternalSchema]]: one version in a commit's metadata, all versions in a file of their own. */
object InternalSchemaJson {
  import ColumnKind._

  /** `{"schemas":[…]}`, newest version first. */
  def ofAll(versions: Seq[InternalSchema]): String = written { out =>
    out.writeStartObject()
    out.writeArrayFieldStart("schemas")
    versions.foreach(write(_, out))
    out.writeEndArray()
    out.writeEndObject()
  }

  def of(schema: InternalSchema): String = written(write(schema, _))

  /** @throws IllegalArgumentException or a Jackson error if the text is no such JSON */
  def parseAll(json: String): Seq[InternalSchema] = {
    val schemas = Json.readTree(json).path("schemas")
    if (!schemas.isArray) throw new IllegalArgumentException("it has no list of schemas")
    schemas.elements().asScala.map(schema).toVector
  }

  def parse(json: String): InternalSchema = schema(Json.readTree(json))

  private def written(content: JsonGenerator => Unit): String = {
    val text = new StringWriter
    val out  = new JsonFactory().createGenerator(text)
    content(out)
    out.close()
    text.toString
  }

  private def write(schema: InternalSchema, out: JsonGenerator): Unit = {
    out.writeStartObject()
    out.writeNumberField("max_column_id", schema.maxColumnId)
    out.writeNumberField("version_id", schema.version)
    writeRecord(schema.columns, out)
    out.writeEndObject()
  }

  private def writeRecord(columns: Seq[SchemaColumn], out: JsonGenerator): Unit = {
    out.writeStringField("type", "record")
    out.writeArrayFieldStart("fields")
    columns.foreach { column =>
      out.writeStartObject()
      out.writeNumberField("id", column.id)
      out.writeStringField("name", column.name)
      out.writeBooleanField("optional", column.isOptional)
      out.writeFieldName("type")
      write(column.kind, out)
      column.doc.foreach(out.writeStringField("doc", _))
      out.writeEndObject()
    }
    out.writeEndArray()
  }

  private def write(kind: ColumnKind, out: JsonGenerator): Unit = kind match {
    case Scalar(name) => out.writeString(name)
    case Record(columns) =>
      out.writeStartObject()
      writeRecord(columns, out)
      out.writeEndObject()
    case Elements(element) =>
      out.writeStartObject()
      out.writeStringField("type", "array")
      writePart("element", element, out)
      out.writeBooleanField("element_optional", element.isOptional)
      out.writeEndObject()
    case Entries(key, value) =>
      out.writeStartObject()
      out.writeStringField("type", "map")
      writePart("key", key, out)
      writePart("value", value, out)
      out.writeBooleanField("value_optional", value.isOptional)
      out.writeEndObject()
  }

  private def writePart(name: String, part: SchemaColumn, out: JsonGenerator): Unit = {
    out.writeNumberField(s"${name}_id", part.id)
    out.writeFieldName(name)
    write(part.kind, out)
  }

  private def schema(node: JsonNode): InternalSchema = {
    val columns = this.columns(node)
    val largest = columns.flatMap(ids).foldLeft(-1)(math.max(_, _))
    val stored  = field(node, "max_column_id")
    InternalSchema(field(node, "version_id").asLong(0L),
      if (stored.isNumber) math.max(stored.asInt, largest) else largest,
      columns)
  }

  private def ids(column: SchemaColumn): Seq[Int] = column.id +: (column.kind match {
    case Record(columns)     => columns.flatMap(ids)
    case Elements(element)   => ids(element)
    case Entries(key, value) => ids(key) ++ ids(value)
    case _: Scalar           => Nil
  })

  private def columns(record: JsonNode): Seq[SchemaColumn] = {
    val fields = record.path("fields")
    if (!fields.isArray) throw new IllegalArgumentException("a record has no fields")
    fields.elements().asScala.map { node =>
      if (!node.path("id").isNumber || !node.path("name").isTextual)
        throw new IllegalArgumentException("a column has no id or no name")
      SchemaColumn(node.path("id").asInt, node.path("name").asText, node.path("optional").asBoolean(true),
        kind(node.path("type")), Option(node.get("doc")).map(_.asText))
    }.toVector
  }

  private def kind(node: JsonNode): ColumnKind =
    if (node.isTextual) Scalar(node.asText)
    else node.path("type").asText match {
      case "record" => Record(columns(node))
      case "array"  => Elements(part(node, "element", node.path("element_optional").asBoolean(true)))
      case "map" => Entries(part(node, "key", isOptional = false),
          part(node, "value", node.path("value_optional").asBoolean(true)))
      case other => throw new IllegalArgumentException(s"there is no type '$other'")
    }

  private def part(node: JsonNode, name: String, isOptional: Boolean): SchemaColumn =
    SchemaColumn(field(node, s"${name}_id").asInt, name, isOptional, kind(node.path(name)))

  /** Early releases wrote a hyphen where later ones write an underscore. */
  private def field(node: JsonNode, name: String): JsonNode =
    if (node.has(name)) node.get(name) else node.path(name.replace('_', '-'))
}
