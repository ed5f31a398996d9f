package io.merganser.merge

import org.apache.spark.sql.types.StructType

import java.util.{Map => JavaMap}

/**
 * Reads the records that a [[RecordMerger]] is given, and makes the ones it returns.
 *
 * Values are ordinary Java objects: `String`, `Boolean`, `Byte` to `Long`, `Float`, `Double`, `java.math.BigDecimal`,
 * `byte[]`; `java.time.LocalDate` for date, `Instant` for timestamp, `LocalDateTime` for timestamp_ntz; `java.util.List`
 * for array, `java.util.Map` for map, Spark's `Row` for struct; null for null. The same are taken where values are given, and
 * numbers that fit the column's type.
 *
 * A column that a version does not provide has no value, which is not the same as null: to ask for it is an error. A delete
 * provides no column. Methods throw `IllegalArgumentException` naming the column where one is not known or not
 * provided, or where a value does not fit its type.
 */
trait RecordContext {

  /** The value of a column, by its exact name. */
  def getValue(record: BufferedRecord, column: String): AnyRef

  /** Whether the record has a value, null or another, for the column. */
  def isProvided(record: BufferedRecord, column: String): Boolean

  /** The columns that the record provides; none for a delete. */
  def getSchema(record: BufferedRecord): StructType

  /** The columns behind a schema id of one of this call's records. */
  def getSchema(schemaId: Int): StructType

  def getRecordKey(record: BufferedRecord): String = record.getRecordKey

  /** As [[BufferedRecord.getOrderingValue]]. */
  def getOrderingValue(record: BufferedRecord): Comparable[_] = record.getOrderingValue

  /**
   * Compares two records by ordering value as the table does: field by field, null is the smallest, text byte by byte.
   * Zero where the table has no ordering fields.
   *
   * @throws IllegalArgumentException if one is a delete without ordering value, which has no place in the order
   */
  def compareOrdering(a: BufferedRecord, b: BufferedRecord): Int

  /**
   * The record with some columns replaced; it provides these and the ones it provided before.
   *
   * @param values by column name
   */
  def mergeWithEngineRecord(record: BufferedRecord, values: JavaMap[String, _]): BufferedRecord

  /**
   * A record with the key of the given one, and of columns exactly those that are named.
   *
   * @param values by column name
   */
  def constructEngineRecord(record: BufferedRecord, values: JavaMap[String, _]): BufferedRecord

  /** A delete of the record's key with the record's ordering value, or without one if it has none. */
  def createDelete(record: BufferedRecord): BufferedRecord

  /** A delete of the record's key without ordering value: nothing older counts after it, and whatever is newer wins. */
  def createCommitTimeOrderingDelete(record: BufferedRecord): BufferedRecord

  /** The record with a row of its own, to be kept beyond the call. */
  def copy(record: BufferedRecord): BufferedRecord
}
