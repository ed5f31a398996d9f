package io.merganser.spark.write.key

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Cast, Literal}
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

/**
 * A record key as a person names it.
 *
 * @param key           as the table stores it
 * @param partitionPath if the values determine it
 */
final case class NamedKey(key: String, partitionPath: Option[String])

object NamedKey {

  /**
   * Parses a JSON object with the values of the key columns, and of the partition columns if the search is limited to
   * one partition; a JSON array of the key columns' values in their order; the value of the one key column; or the
   * record key as the table stores it.
   *
   * @param config with the form of the table's keys
   * @param schema the table's data columns
   * @return Left: what is wrong, and what is expected
   */
  def parse(session: SparkSession, config: TableConfig, schema: StructType, text: String): Either[String, NamedKey] =
    json(text) match {
      case Some(node) if config.recordKeyFields.nonEmpty && (node.isObject || node.isArray) =>
        val given = if (node.isObject) named(node) else config.recordKeyFields.zip(node.elements().asScala.toSeq)
        val extra = if (node.isArray && node.size != config.recordKeyFields.size) Some(s"${node.size} values") else None
        val names = (config.recordKeyFields ++ config.partitionFields).distinct.mkString(", ")
        extra.map(Left(_)).getOrElse(ofValues(session, config, schema, given)).left.map(wrong =>
          s"$wrong; expected are values of $names")
      case _ => Right(NamedKey(ofText(session, config, schema, text), None))
    }

  private def json(text: String): Option[JsonNode] =
    if (text.startsWith("{") || text.startsWith("[")) Try(Json.readTree(text)).toOption else None

  private def named(node: JsonNode): Seq[(String, JsonNode)] =
    node.fields().asScala.map(field => field.getKey -> field.getValue).toSeq

  /** The value of a single key column; with several, and where it is no such value, the key itself. */
  private def ofText(session: SparkSession, config: TableConfig, schema: StructType, text: String): String =
    config.recordKeyFields match {
      case Seq(field) if !text.startsWith(s"$field:") =>
        ofValues(session, config, schema, Seq(field -> Json.getNodeFactory.textNode(text))).fold(_ => text, _.key)
      case _ => text
    }

  private def ofValues(
      session: SparkSession,
      config: TableConfig,
      schema: StructType,
      given: Seq[(String, JsonNode)]
  ): Either[String, NamedKey] = {
    val known   = (config.recordKeyFields ++ config.partitionFields).distinct
    val unknown = given.map(_._1).filterNot(known.contains)
    val missing = config.recordKeyFields.filterNot(given.map(_._1).contains)
    if (unknown.nonEmpty) Left(s"no key column ${unknown.mkString(", ")}")
    else if (missing.nonEmpty) Left(s"no value of ${missing.mkString(", ")}")
    else {
      val columns = StructType(given.map { case (name, _) =>
        StructField(name, FrameCheck.find(schema, name).fold(StringType: DataType)(_.dataType))
      })
      val zone   = session.sessionState.conf.sessionLocalTimeZone
      val values = given.zip(columns).map { case ((_, node), column) => value(node, column.dataType, zone) }
      given.indices.find(i => values(i) == null && !given(i)._2.isNull) match {
        case Some(i) => Left(s"'${given(i)._2.asText}' is no ${columns(i).dataType.sql} for ${given(i)._1}")
        case None    => of(session, config, columns, InternalRow.fromSeq(values))
      }
    }
  }

  private def of(
      session: SparkSession,
      config: TableConfig,
      columns: StructType,
      row: InternalRow
  ): Either[String, NamedKey] = {
    val key = KeyColumns.ofRow(session, config, columns).expression.transform { case a: Attribute =>
      val at = columns.fieldIndex(a.name)
      BoundReference(at, columns(at).dataType, nullable = true)
    }.eval(row)
    val hasPath = config.partitionFields.nonEmpty && config.partitionFields.forall(columns.fieldNames.contains)
    def path    = KeyColumns.pathOf(session, config, columns, columns).eval(row).toString
    if (key == null) Left("a key of nulls or empty strings")
    else Right(NamedKey(key.toString, if (hasPath) Some(path) else None))
  }

  /** Null for null, and for a string that is no value of the type. */
  private def value(node: JsonNode, dataType: DataType, zone: String): Any =
    if (node.isNull) null
    else
      try Cast(Literal(node.asText), dataType, Some(zone)).eval()
      catch { case NonFatal(_) => null }
}
