package io.merganser.table.log

import org.apache.avro.Schema

/** What the rows of a partial block mean where their key is not stored. */
private[log] object PartialRecords {

  /**
   * Property of a partial block's schema that we set where its rows are inserted if nothing is stored. Other readers pass
   * it over.
   */
  private val InsertingProperty = "merganser.inserts"

  def markInserting(schema: Schema): Unit = schema.addProp(InsertingProperty, "true")

  def areInserting(schema: Schema): Boolean = schema.getProp(InsertingProperty) == "true"
}
