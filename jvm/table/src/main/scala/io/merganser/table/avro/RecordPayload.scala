package io.merganser.table.avro

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericRecord, IndexedRecord}

import java.util.{Optional, Properties}

/**
 * A user's own payload class: one version of a row as an Avro record, which has its own way to merge with others.
 *
 * Tables name it by `hoodie.datasource.write.payload.class`. It runs on every path: [[preCombine]] where several rows of
 * one batch have the same key, [[combineAndGetUpdateValue]] where a version is merged with the row before it, in commit
 * order, [[getInsertValue]] where nothing is stored. New rules are better written as a
 * [[io.merganser.merge.RecordMerger]], which needs no Avro.
 *
 * The class needs a public constructor with two parameters, `(GenericRecord, Comparable)`: the row's columns, and the value
 * of the table's ordering field. That is a `java.lang` or `java.time` value, a comparable list where there are several
 * fields, the `Integer` 0 where the table has none, and null where the row's is null.
 *
 * Rows that the table's own columns mark as deletes (`_hoodie_is_deleted`, the delete marker) and deletes by key do not
 * come here: they remove the row, unless they have an ordering value smaller than the row's.
 *
 * The records hold Avro's generic values: text as `Utf8`, dates as days, timestamps as microseconds, decimals as fixed.
 * The properties are those that the table stores, with the short names of merge properties, and the same on every path.
 */
trait RecordPayload {

  /**
   * What this version and an older one of the same batch come to. A payload that is neither of the two is asked for its
   * [[getInsertValue]], and that record is the version from then on.
   *
   * @return one of the two, or a new payload; never null
   */
  def preCombine(older: RecordPayload, properties: Properties): RecordPayload

  /**
   * What this version makes of the record before it.
   *
   * @param currentValue the record before it; returned itself, it says that it stays as it is
   * @return empty if the row is deleted; a record with all columns of the schema otherwise
   */
  def combineAndGetUpdateValue(
      currentValue: IndexedRecord,
      schema: Schema,
      properties: Properties
  ): Optional[IndexedRecord]

  /**
   * The record to store where nothing is stored yet.
   *
   * @return empty if there is none
   */
  def getInsertValue(schema: Schema, properties: Properties): Optional[IndexedRecord]
}

object RecordPayload {

  /** Parameters of the constructor that a payload class has. */
  private[table] val Constructor: Seq[Class[_]] = Seq(classOf[GenericRecord], classOf[Comparable[_]])
}
