package io.merganser.spark.source

import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}

/** A catalog of this project, which is used where it is configured. */
private[spark] trait OwnCatalog extends TableCatalog {

  /** CREATE TABLE … LIKE: an empty table with settings of its own alone, whatever the session's defaults are. */
  private[spark] def createLike(name: Identifier, described: LikeTable): Table
}
