package io.merganser.spark.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations
import org.apache.spark.sql.connector.write.{RowLevelOperationBuilder, RowLevelOperationInfo}

/** A table that is named by a catalog. */
private[source] object NamedTable {

  def apply(spec: TableSpec): MerganserTable =
    if (defers(spec.session)) new MergeTarget(spec) else new MerganserTable(spec)

  /** Whether the session defers every statement that changes rows. */
  private def defers(session: SparkSession): Boolean =
    session.sessionState.analyzer.hintResolutionRules.exists(_.isInstanceOf[DefersStatements])
}

/**
 * A table with the interface that Spark's declarative pipelines require of the target of an AUTO CDC flow. Spark does
 * not use it: the flow writes by MERGE, which is a command of our own before Spark would rewrite it.
 */
private final class MergeTarget(spec: TableSpec) extends MerganserTable(spec) with SupportsRowLevelOperations {

  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
    throw new IllegalStateException(s"a ${info.command} of ${name()} that was not deferred")
}
