package io.merganser.table.log

import org.apache.avro.Schema

/** How rows of a partial block are read if their key is not stored. */
private[log] object PartialRecords {

  /**
   * Property of a partial block's schema, which we set if rows with a key that is not stored are inserted. Other
   * readers ignore it.
   */
  private val InsertingProperty = "merganser.inserts"

  def markInserting(schema: Schema): Unit = schema.addProp(InsertingProperty, "true")

  def areInserting(schema: Schema): Boolean = schema.getProp(InsertingProperty) == "true"
}
