package io.merganser.spark.source

import io.merganser.table.options.{Names, OwnProperties}
import io.merganser.table.settings.LikeSettings
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.types.StructType

import java.util
import scala.collection.JavaConverters._

/**
 * What CREATE TABLE … LIKE creates: a table as SHOW CREATE TABLE shows the existing one, at another location. Settings
 * are those that the existing table stores, also where its catalog entry has older ones.
 *
 * @param like     the existing table
 * @param explicit TBLPROPERTIES of the statement, which replace those of the existing table
 * @param location LOCATION of the statement
 */
private[spark] final class LikeTable(like: MerganserTable, explicit: Map[String, String], location: Option[String]) {
  private val config = like.opened.config

  def columns: StructType = like.schema()

  def partitions: Array[Transform] =
    if (LikeSettings.setsPartitions(explicit)) Array.empty
    else config.partitionFields.map(c => Expressions.identity(Names.quotedPath(c)): Transform).toArray

  /** With those that Spark reserves. */
  def properties: util.Map[String, String] = {
    val (own, settings) = explicit.partition { case (key, _) => OwnProperties.isOwn(key) }
    (LikeTable.ownOf(like) ++ LikeSettings.of(settings, config) ++ own ++
      location.map(TableCatalog.PROP_LOCATION -> _) + (TableCatalog.PROP_PROVIDER -> "merganser")).asJava
  }
}

private object LikeTable {

  /** Set by Hive. */
  private val LastDdlTime = "transient_lastDdlTime"

  /** The comment, and the properties that only mean something to the user. */
  private def ownOf(like: MerganserTable): Map[String, String] = {
    val all = like.properties().asScala.toMap
    NewCatalogTable.withoutReserved(all.filterNot(_._1.startsWith(TableCatalog.OPTION_PREFIX)))
      .filter { case (key, _) => OwnProperties.isOwn(key) && key != LastDdlTime } ++
      all.get(TableCatalog.PROP_COMMENT).map(TableCatalog.PROP_COMMENT -> _)
  }
}
