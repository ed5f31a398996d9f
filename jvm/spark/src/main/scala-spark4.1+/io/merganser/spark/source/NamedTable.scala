package io.merganser.spark.source

import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations
import org.apache.spark.sql.connector.write.{RowLevelOperationBuilder, RowLevelOperationInfo}
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
    if (defers(session)) new MergeTarget(session, path, label, open, declared, catalogTable, entry)
    else new MerganserTable(session, path, label, Map.empty, open, declared, catalogTable, entry)

  /** Whether the session defers every statement that changes rows. */
  private def defers(session: SparkSession): Boolean =
    session.sessionState.analyzer.hintResolutionRules.exists(_.isInstanceOf[DefersStatements])
}

/**
 * A table with the interface that Spark's declarative pipelines require of the target of an AUTO CDC flow. Spark does
 * not use it: the flow writes by MERGE, which is a command of our own before Spark would rewrite it.
 */
private final class MergeTarget(
    session: SparkSession,
    path: String,
    label: String,
    open: () => OpenTable,
    declared: Option[StructType],
    catalogTable: Option[CatalogTable],
    entry: Option[Map[String, String]]
) extends MerganserTable(session, path, label, Map.empty, open, declared, catalogTable, entry)
    with SupportsRowLevelOperations {

  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
    throw new IllegalStateException(s"a ${info.command} of $label that was not deferred")
}
