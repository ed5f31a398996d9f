package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.table.Storage
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.config.TableConfig
import io.merganser.table.slice.TableView
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.types.StructType

/** A table as one query or one write sees it: settings and timeline read once. */
final class OpenTable(val storage: Storage, val config: TableConfig, val timeline: Timeline) {

  /** The data columns, without meta columns; empty while the table has neither a declared schema nor a commit. */
  lazy val schema: StructType =
    timeline.tableSchemaJson.map(json => AvroSchemas.toSpark(AvroSchemas.parse(json))).getOrElse(new StructType)

  lazy val view: TableView = new TableView(storage, config, timeline)

  /** The same table with the timeline read anew. */
  def refreshed(): OpenTable = OpenTable.load(storage)
}

object OpenTable {

  def storage(session: SparkSession, path: String): Storage =
    new Storage(new Path(path), session.sessionState.newHadoopConf())

  /** @throws MerganserException PATH_IS_NO_TABLE, TABLE_VERSION_UNKNOWN and what else hoodie.properties may be refused for */
  def load(session: SparkSession, path: String): OpenTable = load(storage(session, path))

  def load(storage: Storage): OpenTable = {
    val config = TableConfig.load(storage)
    new OpenTable(storage, config, Timeline.load(storage, config))
  }

  /** The path of a table given by path, or by name in the session's catalogs. */
  def pathOf(session: SparkSession, pathOrName: String): String =
    if (pathOrName.contains("/")) pathOrName
    else {
      val parts = session.sessionState.sqlParser.parseMultipartIdentifier(pathOrName)
      val name = (if (parts.length == 3 && parts.head.equalsIgnoreCase("spark_catalog")) parts.tail else parts) match {
        case Seq(table)           => TableIdentifier(table)
        case Seq(database, table) => TableIdentifier(table, Some(database))
        case _                    => throw MerganserException("TABLE_NOT_FOUND", "table" -> pathOrName)
      }
      if (!session.sessionState.catalog.tableExists(name)) throw MerganserException("TABLE_NOT_FOUND", "table" -> pathOrName)
      session.sessionState.catalog.getTableMetadata(name).location.toString
    }
}
