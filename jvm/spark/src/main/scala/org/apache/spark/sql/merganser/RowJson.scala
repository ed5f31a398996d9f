package org.apache.spark.sql.merganser

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.io.CharArrayWriter

/**
 * Writes rows as JSON, as `to_json` does, nulls included: `from_json` with the same columns gives the row back.
 *
 * @param zone time zone of timestamps
 */
final class RowJson(columns: StructType, zone: String) {
  private[this] val text      = new CharArrayWriter
  private[this] val generator = new JacksonGenerator(columns, text, new JSONOptions(RowJson.Options, zone))

  def of(row: InternalRow): UTF8String = {
    generator.write(row)
    generator.flush()
    val json = UTF8String.fromString(text.toString)
    text.reset()
    json
  }
}

private object RowJson {
  val Options = Map("ignoreNullFields" -> "false")
}
