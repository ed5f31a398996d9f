package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.Names
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, Table, TableCatalog}

/** Resolves the names and paths of tables that users write. */
private[spark] object TableNames {

  /**
   * The path of a table, from its path or its name in the session's catalogs. A string without a slash is a name; if no
   * table has it, it is a path in the current folder.
   *
   * @throws MerganserException TABLE_NOT_FOUND, TABLE_OF_OTHER_FORMAT, PATH_INVALID
   */
  def pathOf(session: SparkSession, pathOrName: String): String = {
    OpenTable.requirePath(pathOrName)
    if (pathOrName.contains("/") && !pathOrName.contains("`")) OpenTable.absolute(session, pathOrName)
    else nameParts(pathOrName).flatMap(pathOf(session, pathOrName, _)).getOrElse(
      if (isFolder(session, pathOrName)) OpenTable.absolute(session, pathOrName)
      else throw MerganserException("TABLE_NOT_FOUND", "table" -> pathOrName))
  }

  /**
   * The path of a table, from the parts of its name.
   *
   * @throws MerganserException TABLE_NOT_FOUND, TABLE_OF_OTHER_FORMAT
   */
  def pathOf(session: SparkSession, parts: Seq[String]): String = {
    val name = parts.map(Names.quoted).mkString(".")
    pathOf(session, name, parts).getOrElse(throw MerganserException("TABLE_NOT_FOUND", "table" -> name))
  }

  /** None if no table has the name. */
  private def pathOf(session: SparkSession, name: String, parts: Seq[String]): Option[String] =
    named(session, parts).map {
      case ours: MerganserTable => ours.path
      case _                    => throw MerganserException("TABLE_OF_OTHER_FORMAT", "table" -> name)
    }

  /** The table of a name in the session's catalogs; None for a path, and if no table of ours has that name. */
  def ours(session: SparkSession, pathOrName: String): Option[MerganserTable] =
    if (pathOrName.contains("/") && !pathOrName.contains("`")) None
    else nameParts(pathOrName).flatMap(named(session, _)).collect { case table: MerganserTable => table }

  /** None for a string that is not a SQL name. The session's parser would substitute variables in it. */
  private def nameParts(name: String): Option[Seq[String]] =
    try Some(CatalystSqlParser.parseMultipartIdentifier(name))
    catch { case _: ParseException => None }

  private def isFolder(session: SparkSession, word: String): Boolean =
    try TableConfig.exists(OpenTable.storage(session, word))
    catch { case e: MerganserException if e.condition == "PATH_INVALID" => false } // it is not a path

  /** The table of a name of one or more parts. */
  def named(session: SparkSession, parts: Seq[String]): Option[Table] = located(session, parts) match {
    case (catalog: TableCatalog, name) =>
      try Some(catalog.loadTable(name))
      catch { case _: NoSuchTableException | _: NoSuchNamespaceException | _: NoSuchDatabaseException => None }
    case _ => None
  }

  /** The catalog of a name of one or more parts, by default the session's current one, and the name in that catalog. */
  def located(session: SparkSession, parts: Seq[String]): (CatalogPlugin, Identifier) = {
    val catalogs = session.sessionState.catalogManager
    val (catalog, rest) =
      if (parts.length > 1 && catalogs.isCatalogRegistered(parts.head)) (catalogs.catalog(parts.head), parts.tail)
      else (catalogs.currentCatalog, parts)
    val isCurrent = rest.length == 1 && rest.length == parts.length
    val namespace = if (isCurrent) catalogs.currentNamespace else rest.dropRight(1).toArray
    (catalog, Identifier.of(namespace, rest.last))
  }
}
