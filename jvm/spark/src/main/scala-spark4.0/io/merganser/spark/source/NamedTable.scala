package io.merganser.spark.source

import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.types.StructType

/** A table that is named by a catalog. */
private[source] object NamedTable {

  def apply(
      session: SparkSession,
      path: String,
      label: String,
      open: () => OpenTable,
      declared: Option[StructType],
      catalogTable: Option[CatalogTable],
      entry: Option[Map[String, String]]
  ): MerganserTable =
    new MerganserTable(session, path, label, Map.empty, open, declared, catalogTable, entry)
}
