package io.merganser.table.avro

import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/**
 * Reads Avro records as rows of the requested columns: resolved by name, widened if the column was widened since, null
 * if the record has no such field. Other fields are skipped.
 *
 * @param from   the writer's record schema
 * @param to     the columns to read
 * @param source name of the file, for errors
 * @param isRetyped whether the type changes of [[Retyping]] are allowed too
 * @throws io.merganser.merge.MerganserException COLUMN_TYPE_CHANGED if a field's type does not widen to its column's
 */
final class AvroRowReader(from: Schema, to: StructType, source: String, isRetyped: Boolean = false) {
  private[this] val row = new SpecificInternalRow(to)
  private[this] val record =
    AvroValues.record(from, to, AvroValues.Place(source, column = "", isReusable = true, isRetyped), stopsEarly = true)

  /** Which of the columns are fields of the record. Must not be modified. */
  val provided: Array[Boolean] = {
    val names = from.getFields.asScala.map(_.name).toSet
    to.fieldNames.map(names.contains)
  }

  /**
   * Reads one record up to its last requested field; the rest of it is not read.
   *
   * @return the same row object every time; its strings may be views of the input's array
   * @throws java.io.EOFException if the bytes are not such a record
   */
  def read(in: AvroInput): InternalRow = {
    record.readInto(in, row)
    row
  }
}
