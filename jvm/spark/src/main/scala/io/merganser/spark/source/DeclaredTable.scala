package io.merganser.spark.source

import io.merganser.merge.MerganserException
import org.apache.spark.sql.connector.catalog.{Column, Identifier}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.types.StructType

import java.util

/**
 * A table that a statement declares, in a catalog's terms.
 *
 * @param columns    of the statement or its query; may be empty where the folder holds a table
 * @param properties of the statement, Spark's own among them
 * @param isLike     true if the session's defaults for new tables do not apply
 */
final case class DeclaredTable(
    name: Identifier,
    columns: Array[Column],
    partitions: Array[Transform],
    properties: util.Map[String, String],
    isLike: Boolean = false
) {

  /** @throws MerganserException COLUMN_DEFAULT_UNSUPPORTED */
  def schema: StructType = {
    columns.find(c => c.defaultValue != null || c.generationExpression != null).foreach { c =>
      throw MerganserException("COLUMN_DEFAULT_UNSUPPORTED", "table" -> name, "column" -> c.name)
    }
    CatalogBridge.schema(columns)
  }
}
