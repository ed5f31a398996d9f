package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.spark.source.MerganserTable
import io.merganser.table.{Storage, TableFeatures}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.config.TableConfig
import io.merganser.table.slice.{TableView, TimeTravel}
import io.merganser.table.timeline.{AsOf, Timeline}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.types.StructType

/** A table as one query or one write sees it: settings and timeline read once. */
final class OpenTable(val storage: Storage, val config: TableConfig, val timeline: Timeline) {

  /** The data columns, without meta columns; empty while the table has neither a declared schema nor a commit. */
  lazy val schema: StructType =
    timeline.tableSchemaJson.map(json => AvroSchemas.toSpark(AvroSchemas.parse(json))).getOrElse(new StructType)

  lazy val view: TableView = new TableView(storage, config, timeline)

  /**
   * The same table as of a time, in one of the forms of [[AsOf]].
   *
   * @throws MerganserException AS_OF_INVALID, AS_OF_TOO_EARLY
   */
  def asOf(time: String): OpenTable =
    new OpenTable(storage, config, new TimeTravel(storage, config, timeline).to(AsOf.instant(config, time)))

  /** The same table with the timeline read anew. */
  def refreshed(): OpenTable = OpenTable.load(storage)
}

object OpenTable {

  def storage(session: SparkSession, path: String): Storage =
    new Storage(new Path(path), session.sessionState.newHadoopConf())

  /** @throws MerganserException what [[TableConfig.load]] and [[TableFeatures.requireReadable]] throw */
  def load(session: SparkSession, path: String): OpenTable = load(storage(session, path))

  def load(storage: Storage): OpenTable = {
    val config   = TableConfig.load(storage)
    val timeline = Timeline.load(storage, config)
    TableFeatures.requireReadable(storage, config, timeline)
    new OpenTable(storage, config, timeline)
  }

  /** The path as it means the same from everywhere: a relative one lies in the current folder of the file system. */
  def absolute(session: SparkSession, path: String): String =
    if (new Path(path).isAbsolute) path else storage(session, path).basePath.toString

  /**
   * The path of a table given by path, or by name in the session's catalogs. A word without a slash is a name; where no table
   * has it, a path in the current folder.
   *
   * @throws MerganserException TABLE_NOT_FOUND, TABLE_OF_OTHER_FORMAT
   */
  def pathOf(session: SparkSession, pathOrName: String): String =
    if (pathOrName.contains("/") && !pathOrName.contains("`")) absolute(session, pathOrName)
    else nameParts(session, pathOrName).flatMap(named(session, _)) match {
      case Some(ours: MerganserTable)            => ours.path
      case Some(_)                               => throw MerganserException("TABLE_OF_OTHER_FORMAT", "table" -> pathOrName)
      case None if isFolder(session, pathOrName) => absolute(session, pathOrName)
      case None                                  => throw MerganserException("TABLE_NOT_FOUND", "table" -> pathOrName)
    }

  /** None for a word that SQL cannot have as a name. */
  private def nameParts(session: SparkSession, name: String): Option[Seq[String]] =
    try Some(session.sessionState.sqlParser.parseMultipartIdentifier(name))
    catch { case _: ParseException => None }

  private def isFolder(session: SparkSession, word: String): Boolean =
    try TableConfig.exists(storage(session, word))
    catch { case _: IllegalArgumentException => false } // it is no path

  /** The table that a name of one or more parts means in the session's current catalog and namespace. */
  def named(session: SparkSession, parts: Seq[String]): Option[Table] = {
    val catalogs = session.sessionState.catalogManager
    val (catalog, rest) =
      if (parts.length > 1 && catalogs.isCatalogRegistered(parts.head)) (catalogs.catalog(parts.head), parts.tail)
      else (catalogs.currentCatalog, parts)
    val isCurrent = rest.length == 1 && rest.length == parts.length
    val namespace = if (isCurrent) catalogs.currentNamespace else rest.dropRight(1).toArray
    catalog match {
      case tables: TableCatalog =>
        try Some(tables.loadTable(Identifier.of(namespace, rest.last)))
        catch { case _: NoSuchTableException | _: NoSuchNamespaceException | _: NoSuchDatabaseException => None }
      case _ => None
    }
  }
}
