package io.merganser.table.log

import io.merganser.table.avro.AvroSchemas
import io.merganser.table.options.ChangeLogging
import org.apache.avro.{JsonProperties, Schema}
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

/** The records of change blocks, in the three forms that Hudi has. */
object ChangeRecords {
  val Operation = "op"
  val Time      = "ts_ms"
  val Before    = "before"
  val After     = "after"
  val Key       = "record_key"

  val Insert: UTF8String = UTF8String.fromString("i")
  val Update: UTF8String = UTF8String.fromString("u")
  val Delete: UTF8String = UTF8String.fromString("d")

  /** @param columns the table's data columns */
  private[log] def schema(mode: ChangeLogging, columns: StructType, tableName: String): Schema = {
    val row                               = AvroSchemas.toAvro(columns, tableName)
    def optional(schema: Schema)          = Schema.createUnion(Schema.create(Schema.Type.NULL), schema)
    def field(name: String, of: Schema)   = new Schema.Field(name, optional(of), "", JsonProperties.NULL_VALUE)
    def record(fields: Seq[Schema.Field]) = Schema.createRecord("CDC", "", row.getNamespace, false, fields.asJava)
    def string                            = Schema.create(Schema.Type.STRING)
    mode match {
      case ChangeLogging.BeforeAfter =>
        record(Seq(field(Operation, string), field(Time, string), field(Before, row), field(After, row)))
      case ChangeLogging.Before  => record(Seq(field(Operation, string), field(Key, string), field(Before, row)))
      case ChangeLogging.KeyOnly =>
        // Its strings come first in their unions.
        def plain(name: String) =
          new Schema.Field(name, Schema.createUnion(string, Schema.create(Schema.Type.NULL)), null, null: Object)
        Schema.createRecord("Record", null, null, false, Seq(plain(Operation), plain(Key)).asJava)
    }
  }

  /** The columns of [[ChangeLogging.BeforeAfter]] that are read: operation, row before and row after. */
  private[log] def columns(data: StructType): StructType =
    StructType(Seq(StructField(Operation, StringType), StructField(Before, data), StructField(After, data)))
}
