package io.merganser.spark.source

import io.merganser.table.options.Names
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{CreateTable, LogicalPlan, UnresolvedTableSpec}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.StructType

/** Tables with names that programs create: CREATE TABLE, whose properties and location are not read as SQL. */
object NamedTables {

  /**
   * Creates an empty table.
   *
   * @param name       as SQL
   * @param partitions as in PARTITIONED BY; empty for none
   * @param path       folder of the table; None: that of the catalog
   */
  def create(
      session: SparkSession,
      name: String,
      columns: StructType,
      partitions: String,
      path: Option[String],
      ifNotExists: Boolean,
      properties: Map[String, String]
  ): Unit = {
    val listed =
      columns.map(f => s"${Names.quoted(f.name)} ${f.dataType.sql}${if (f.nullable) "" else " NOT NULL"}")
    val unlessNew = if (ifNotExists) "IF NOT EXISTS " else ""
    val by        = if (partitions.isEmpty) "" else s" PARTITIONED BY ($partitions)"
    // Unlike the session's parser, this one substitutes no variables.
    val parsed =
      CatalystSqlParser.parsePlan(s"CREATE TABLE $unlessNew$name (${listed.mkString(", ")}) USING merganser$by")
    SparkBridge.ofRows(session, plan(parsed, properties, path))
    ()
  }

  /** A CREATE TABLE with other properties and location. */
  def plan(parsed: LogicalPlan, properties: Map[String, String], location: Option[String]): LogicalPlan =
    parsed match {
      case create: CreateTable =>
        create.tableSpec match {
          case spec: UnresolvedTableSpec =>
            create.copy(tableSpec = spec.copy(properties = properties, location = location))
          case other => throw new IllegalStateException(s"properties of a table are $other")
        }
      case other => throw new IllegalStateException(s"CREATE TABLE is $other")
    }
}
