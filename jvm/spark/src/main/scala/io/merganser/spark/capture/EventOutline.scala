package io.merganser.spark.capture

import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonParser, JsonToken}
import com.fasterxml.jackson.core.json.JsonReadFeature
import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import java.io.IOException
import scala.collection.mutable

/** What all steps need to know of an event in JSON, from reading it once, with no value converted. */
private[capture] object EventOutline {

  /**
   * Whether it is one JSON object; whether it is in a `payload`: Connect's converter writes `schema` and `payload` and
   * no others, and a row may have a column of either name; whether something follows the object, such as a second one,
   * which parsers ignore; a number for its `schema`, null without one; and of an event without a schema, the names of
   * the fields of its rows, one a line, null if it has no row.
   */
  private val Columns = new StructType().add("isObject", BooleanType).add("isWrapped", BooleanType)
    .add("hasTrailing", BooleanType).add("schema", LongType).add("names", StringType)

  private val NoEvent = Row(false, false, false, null, null)

  /** As Spark reads JSON. */
  private val factory: JsonFactory = new JsonFactoryBuilder().enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
    .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES).build()

  /**
   * The outline of a column of events.
   *
   * @param rows paths of the rows in an event; the empty path is the event, `data[0]` the first one of an array
   */
  def column(event: Column, rows: Seq[String]): Column = {
    val paths = rows.toArray
    udf(new UDF1[String, Row] { override def call(text: String): Row = of(text, paths) }, Columns)(event)
  }

  private def of(text: String, rows: Array[String]): Row =
    if (text == null) NoEvent
    else
      try new EventOutlineReader(text, factory.createParser(text), rows).read(NoEvent)
      catch { case _: IOException => NoEvent }
}

private final class EventOutlineReader(text: String, parser: JsonParser, rows: Array[String]) {
  import JsonToken._

  private val root            = mutable.Set.empty[String]
  private val bare, inPayload = new mutable.StringBuilder
  private var schema          = Option.empty[Long]

  def read(otherwise: Row): Row =
    if (parser.nextToken() != START_OBJECT) otherwise
    else {
      fields("", bare, isRoot = true)
      val trailing =
        try parser.nextToken() != null
        catch { case _: IOException => true }
      val wrapped = root("payload") && root.forall(name => name == "payload" || name == "schema")
      val names   = if (wrapped) inPayload else bare
      val number  = if (wrapped) schema else None
      Row(true, wrapped, trailing, number.map(Long.box).orNull,
        if (number.isDefined || names.isEmpty) null else names.toString)
    }

  /** Reads the fields of the object that begins at a path. */
  private def fields(path: String, names: mutable.StringBuilder, isRoot: Boolean): Unit = {
    val isRow = rows.contains(path)
    while (parser.nextToken() == FIELD_NAME) {
      val name = parser.currentName()
      if (isRow) names.append(name).append('\n')
      if (isRoot) root += name
      val value = parser.nextToken()
      if (isRoot && name == "schema" && value != VALUE_NULL) schema = Some(numberOfValue())
      else if (isRoot && name == "payload" && value == START_OBJECT) fields("", inPayload, isRoot = false)
      else if (value == START_OBJECT) {
        val below = if (path.isEmpty) name else s"$path.$name"
        if (rows.exists(row => row.startsWith(below))) fields(below, names, isRoot = false) else parser.skipChildren()
      } else if (value == START_ARRAY) elements(s"$name[0]", names)
    }
  }

  private def elements(path: String, names: mutable.StringBuilder): Unit = {
    var token = parser.nextToken()
    if (token == START_OBJECT && rows.contains(path)) {
      fields(path, names, isRoot = false)
      token = parser.nextToken()
    }
    while (token != END_ARRAY) {
      parser.skipChildren()
      token = parser.nextToken()
    }
  }

  /** A number for the text of the current value. */
  private def numberOfValue(): Long = {
    val start = parser.currentTokenLocation().getCharOffset.toInt
    parser.skipChildren()
    parser.finishToken()
    val bytes = text.substring(start, parser.currentLocation().getCharOffset.toInt).getBytes("UTF-8")
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, 42L)
  }
}
