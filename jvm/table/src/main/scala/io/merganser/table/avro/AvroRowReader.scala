package io.merganser.table.avro

import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/**
 * Reads Avro records as rows of other columns: by name, widened where the column was widened since, null where the record
 * has no such field. Fields that nobody asked for are skipped.
 *
 * @param from   the writer's record schema
 * @param to     the columns to read
 * @param source what is read, for errors
 * @throws io.merganser.merge.MerganserException COLUMN_TYPE_CHANGED if a field's type does not widen to its column's
 */
final class AvroRowReader(from: Schema, to: StructType, source: String) {
  private[this] val row = new SpecificInternalRow(to)
  private[this] val record =
    AvroValues.record(from, to, AvroValues.Place(source, column = "", isReusable = true), stopsEarly = true)

  /** Which of the columns the record has a field for. Not to be changed. */
  val provided: Array[Boolean] = {
    val names = from.getFields.asScala.map(_.name).toSet
    to.fieldNames.map(names.contains)
  }

  /**
   * Reads one record. It may end before the record does: what follows the last field that is asked for stays unread.
   *
   * @return the same row object every time, whose strings may lie in the input's array
   * @throws java.io.EOFException if the bytes are no such record
   */
  def read(in: AvroInput): InternalRow = {
    record.readInto(in, row)
    row
  }
}
