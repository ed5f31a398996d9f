package io.merganser.table.base

import io.merganser.merge.MerganserException
import io.merganser.table.avro.Widening
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, EvalMode, Expression, UnsafeProjection}
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter
import org.apache.spark.sql.types._

/**
 * A request's columns as one file has them.
 *
 * @param requested  the columns asked for, every part of them nullable, char and varchar as string
 * @param readSchema the same columns with the types to ask Spark's reader for
 */
private[base] final class StoredColumns(val requested: StructType, val readSchema: StructType) {

  private val converted =
    requested.fields.zip(readSchema.fields).collect { case (r, s) if r.dataType != s.dataType => r.name }.toSet

  /** True if the column is read with another type than it is asked for with. */
  def isConverted(column: String): Boolean = converted.contains(column)

  /** Makes the function from a stored row to a requested one; None if they are the same. */
  val conversion: Option[() => InternalRow => InternalRow] =
    if (requested == readSchema) None else Some(() => UnsafeProjection.create(casts.toSeq))

  private def casts: Array[Expression] = requested.fields.indices.toArray.map { i =>
    val (from, to) = (readSchema(i).dataType, requested(i).dataType)
    val stored     = BoundReference(i, from, nullable = true)
    if (from == to) stored else Cast(stored, to, Some("UTC"), EvalMode.LEGACY)
  }
}

private[base] object StoredColumns {

  /** @throws MerganserException COLUMN_TYPE_CHANGED if a stored type does not widen to the one asked for */
  def apply(file: String, fileSchema: MessageType, schema: StructType): StoredColumns = {
    val requested = nullable(schema).asInstanceOf[StructType]
    val present   = StructType(requested.fields.filter(field => fileSchema.containsField(field.name)))
    val converter = new ParquetToSparkSchemaConverter(SparkParquetConf.shared)
    val stored    = converter.convert(only(fileSchema, present))
    val read = requested.fields.map { field =>
      stored.find(_.name == field.name).fold(field) { s =>
        field.copy(dataType = readType(s.dataType, field.dataType, field.name, file))
      }
    }
    new StoredColumns(requested, StructType(read))
  }

  /** Columns nobody asks for may have types that nobody can read. */
  private def only(fileSchema: MessageType, present: StructType): MessageType =
    new MessageType(fileSchema.getName, present.fieldNames.map(name => fileSchema.getFields.get(fileSchema.getFieldIndex(name))): _*)

  private def readType(stored: DataType, requested: DataType, column: String, file: String): DataType =
    (stored, requested) match {
      case (s: StructType, r: StructType) =>
        StructType(r.fields.map { field =>
          s.find(_.name == field.name).fold(field) { child =>
            field.copy(dataType = readType(child.dataType, field.dataType, s"$column.${field.name}", file))
          }
        })
      case (s: ArrayType, r: ArrayType) =>
        ArrayType(readType(s.elementType, r.elementType, s"$column.element", file), r.containsNull)
      case (s: MapType, r: MapType) =>
        val key = readType(s.keyType, r.keyType, s"$column.key", file)
        MapType(key, readType(s.valueType, r.valueType, s"$column.value", file), r.valueContainsNull)
      case (s, r) if s == r                                                         => r
      case (ByteType | ShortType | IntegerType, ByteType | ShortType | IntegerType) => requested
      case (s, r) if Widening.isAllowed(s, r)                                       => s
      case _ =>
        throw MerganserException(
          "COLUMN_TYPE_CHANGED",
          "column" -> column,
          "file" -> file,
          "stored" -> stored.catalogString,
          "requested" -> requested.catalogString
        )
    }

  private def nullable(dataType: DataType): DataType = dataType match {
    case _: CharType | _: VarcharType => StringType
    case a: ArrayType                 => ArrayType(nullable(a.elementType), containsNull = true)
    case m: MapType                   => MapType(nullable(m.keyType), nullable(m.valueType), valueContainsNull = true)
    case s: StructType                => StructType(s.fields.map(f => StructField(f.name, nullable(f.dataType), nullable = true)))
    case other                        => other
  }
}
