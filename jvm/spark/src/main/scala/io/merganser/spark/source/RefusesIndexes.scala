package io.merganser.spark.source

import io.merganser.merge.MerganserException
import org.apache.spark.sql.connector.catalog.index.{SupportsIndex, TableIndex}
import org.apache.spark.sql.connector.expressions.NamedReference

import java.util

/** A table without indexes of SQL's, whose CREATE INDEX and DROP INDEX are errors that name its own. */
private[source] trait RefusesIndexes extends SupportsIndex {

  override def createIndex(
      index: String,
      columns: Array[NamedReference],
      ofColumns: util.Map[NamedReference, util.Map[String, String]],
      properties: util.Map[String, String]
  ): Unit = throw refused("create", index)

  override def dropIndex(index: String): Unit = throw refused("drop", index)

  override def indexExists(index: String): Boolean = false

  override def listIndexes(): Array[TableIndex] = Array.empty

  private def refused(change: String, index: String): MerganserException =
    MerganserException("INDEX_UNSUPPORTED", "change" -> change, "index" -> index, "table" -> name())
}
