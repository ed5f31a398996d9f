package io.merganser.table.avro

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericRecord, IndexedRecord}

import java.util.{Optional, Properties}

/**
 * A user's own payload class: one version of a row as an Avro record, with its own merge logic.
 *
 * A table selects it with `hoodie.datasource.write.payload.class`. It runs on every path: [[preCombine]] for several
 * rows of one batch with the same key, [[combineAndGetUpdateValue]] to merge a version with the previous row, in commit
 * order, [[getInsertValue]] for a key that is not stored. New rules are better written as a
 * [[io.merganser.merge.RecordMerger]], which needs no Avro.
 *
 * The class needs a public constructor with two parameters, `(GenericRecord, Comparable)`: the row's columns, and the
 * value of the table's ordering field. That is a `java.lang` or `java.time` value, a comparable list if there are
 * several fields, the `Integer` 0 if the table has none, and null if the row's value is null.
 *
 * Rows marked as deletes by the table's own columns (`_hoodie_is_deleted`, the delete marker) and deletes by key are
 * not passed to the class: they remove the row, unless their ordering value is smaller than the row's.
 *
 * The records have Avro's generic values: strings as `Utf8`, dates as days, timestamps as microseconds, decimals as
 * fixed. The properties are those that the table stores, with the short names of merge properties, and the same on
 * every path.
 */
trait RecordPayload {

  /**
   * Combines this version with an older one of the same batch. If the result is neither of the two, its
   * [[getInsertValue]] is the combined version.
   *
   * @return one of the two, or a new payload; never null
   */
  def preCombine(older: RecordPayload, properties: Properties): RecordPayload

  /**
   * Merges this version with the previous record.
   *
   * @param currentValue the previous record; return this object itself to leave the row unchanged
   * @return empty to delete the row; otherwise a record with all columns of the schema
   */
  def combineAndGetUpdateValue(
      currentValue: IndexedRecord,
      schema: Schema,
      properties: Properties
  ): Optional[IndexedRecord]

  /**
   * The record to store if the key is not stored.
   *
   * @return empty if there is none
   */
  def getInsertValue(schema: Schema, properties: Properties): Optional[IndexedRecord]
}

object RecordPayload {

  /** Parameter types of a payload class's constructor. */
  private[table] val Constructor: Seq[Class[_]] = Seq(classOf[GenericRecord], classOf[Comparable[_]])
}
