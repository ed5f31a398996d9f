package io.merganser.merge

import org.apache.spark.sql.types.StructType

import java.util.{Map => JavaMap}

/**
 * Reads the records passed to a [[RecordMerger]], and makes the ones it returns.
 *
 * Values are ordinary Java objects: `String`, `Boolean`, `Byte` to `Long`, `Float`, `Double`, `java.math.BigDecimal`,
 * `byte[]`; `java.time.LocalDate` for date, `Instant` for timestamp, `LocalDateTime` for timestamp_ntz;
 * `java.util.List` for array, `java.util.Map` for map, Spark's `Row` for struct; null for null. The same are accepted
 * as input, as are numbers that fit the column's type.
 *
 * A column that a version does not provide has no value, which is not the same as null: reading it is an error. A
 * delete provides no column. Methods throw `IllegalArgumentException` naming the column if it is unknown or not
 * provided, or if a value does not fit its type.
 */
trait RecordContext {

  /** The value of a column, by its exact name. */
  def getValue(record: BufferedRecord, column: String): AnyRef

  /** Whether the record has a value for the column; null is a value. */
  def isProvided(record: BufferedRecord, column: String): Boolean

  /** The columns that the record provides; none for a delete. */
  def getSchema(record: BufferedRecord): StructType

  /** The columns of a schema id of one of this call's records. */
  def getSchema(schemaId: Int): StructType

  def getRecordKey(record: BufferedRecord): String = record.getRecordKey

  /** Same as [[BufferedRecord.getOrderingValue]]. */
  def getOrderingValue(record: BufferedRecord): Comparable[_] = record.getOrderingValue

  /**
   * Compares two records by ordering value as the table does: field by field, null is the smallest, strings byte by
   * byte. Zero if the table has no ordering fields.
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
   * A record with the key of `record`, and exactly the columns in `values`.
   *
   * @param values by column name
   */
  def constructEngineRecord(record: BufferedRecord, values: JavaMap[String, _]): BufferedRecord

  /** A delete of the record's key with the record's ordering value, or without one if it has none. */
  def createDelete(record: BufferedRecord): BufferedRecord

  /** A delete of the key without ordering value: it wins over everything older and loses to everything newer. */
  def createCommitTimeOrderingDelete(record: BufferedRecord): BufferedRecord

  /** The record with a row of its own, which may be kept beyond the call. */
  def copy(record: BufferedRecord): BufferedRecord
}
