package io.merganser.table.base

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{Milliseconds, Retyping, Widening}
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimeUnit, TimestampLogicalTypeAnnotation}
import org.apache.parquet.schema.{MessageType, PrimitiveType}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.parquet.{ParquetColumn, ParquetToSparkSchemaConverter}
import org.apache.spark.sql.types._

/**
 * Requested columns with their types in one file.
 *
 * Hudi 0.15 to 1.0 wrote milliseconds of a column under the label of microseconds, and local timestamps without a
 * label: both are read as integers, in the unit that the table's schema has for the column.
 *
 * @param requested  the requested columns, nullable at every level, char and varchar as string
 * @param readSchema the same columns with the types that Spark's reader is to return. From a struct with none of the
 *                   requested fields one other field is read; otherwise the struct would read as null
 * @param isRetyped  whether the type changes of [[Retyping]] are allowed too
 */
private[base] final class StoredColumns(val requested: StructType, val readSchema: StructType, isRetyped: Boolean) {

  private val converted =
    requested.fields.zip(readSchema.fields).collect { case (r, s) if r.dataType != s.dataType => r.name }.toSet

  /** True if the type of the column (for a nested field, of its top-level column) differs from the requested one. */
  def isConverted(column: String): Boolean = converted.contains(column.takeWhile(_ != '.'))

  /** Makes the conversion of a stored row to a requested one; None if their types are equal. */
  val conversion: Option[() => InternalRow => InternalRow] =
    if (requested == readSchema) None
    else if (!isRetyped && haveSameFields(readSchema, requested)) Some(() => UnsafeProjection.create(casts.toSeq))
    else Some { () =>
      // Functions over arrays and maps read values without a null check, and on some Spark versions column batches then
      // do not return null.
      val (plain, convert) = (UnsafeProjection.create(readSchema), UnsafeProjection.create(casts.toSeq))
      row => convert(plain(row))
    }

  private def casts: Array[Expression] = requested.fields.indices.toArray.map { i =>
    val (from, to) = (readSchema(i).dataType, requested(i).dataType)
    val stored     = BoundReference(i, from, nullable = true)
    converted(stored, from, to, Milliseconds.areIn(requested(i)))
  }

  private def converted(
      value: Expression,
      from: DataType,
      to: DataType,
      isMillis: Boolean
  ): Expression = (from, to) match {
    case (a, b) if a == b                     => value
    case (FloatType, DoubleType) if isRetyped => cast(cast(value, StringType), to)
    case (LongType, TimestampType | TimestampNTZType) =>
      cast(if (isMillis) MillisToTimestamp(value) else MicrosToTimestamp(value), to)
    case (a, b) if castsAll(a, b) => cast(value, to)
    case (a: StructType, b: StructType) =>
      val fields = b.flatMap { field =>
        val at    = a.fieldIndex(field.name)
        val inner = GetStructField(value, at, Some(field.name))
        Seq(Literal(field.name), converted(inner, a(at).dataType, field.dataType, Milliseconds.areIn(field)))
      }
      If(IsNull(value), Literal(null, b), CreateNamedStruct(fields))
    case (a: ArrayType, b: ArrayType) =>
      val element = NamedLambdaVariable("element", a.elementType, nullable = true)
      ArrayTransform(value, LambdaFunction(converted(element, a.elementType, b.elementType, isMillis), Seq(element)))
    case (a: MapType, b: MapType) =>
      val key  = NamedLambdaVariable("key", a.keyType, nullable = false)
      val each = NamedLambdaVariable("value", a.valueType, nullable = true)
      TransformValues(value, LambdaFunction(converted(each, a.valueType, b.valueType, isMillis), Seq(key, each)))
    case _ => throw new IllegalStateException(s"${from.catalogString} was not refused for ${to.catalogString}")
  }

  private def cast(value: Expression, to: DataType): Expression = Cast(value, to, Some("UTC"), EvalMode.LEGACY)

  /** True if one cast converts the value with all its fields. */
  private def castsAll(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: StructType | _: ArrayType | _: MapType, _) if isRetyped => false
    case _                                                           => haveSameFields(from, to)
  }

  /** True if the types have the same fields, whatever the types of these, and casts convert them. */
  private def haveSameFields(from: DataType, to: DataType): Boolean = (from, to) match {
    case (LongType, TimestampType | TimestampNTZType) => false
    case (a: StructType, b: StructType) =>
      a.fieldNames.sameElements(b.fieldNames) && a.indices.forall(i => haveSameFields(a(i).dataType, b(i).dataType))
    case (a: ArrayType, b: ArrayType) => haveSameFields(a.elementType, b.elementType)
    case (a: MapType, b: MapType)     => haveSameFields(a.valueType, b.valueType)
    case _                            => true
  }
}

private[base] object StoredColumns {

  /** @throws MerganserException COLUMN_TYPE_CHANGED if a stored type does not widen to the requested one */
  def apply(file: String, fileSchema: MessageType, schema: StructType, isRetyped: Boolean): StoredColumns = {
    val requested = nullable(schema).asInstanceOf[StructType]
    val present   = StructType(requested.fields.filter(field => fileSchema.containsField(field.name)))
    val converter = new ParquetToSparkSchemaConverter(SparkParquetConf.shared)
    val stored    = converter.convertParquetColumn(withColumns(fileSchema, present))
    val types     = new ReadTypes(file, isRetyped)
    val read      = requested.fields.map(field => types.ofField(stored, field, field.name))
    new StoredColumns(requested, StructType(read), isRetyped)
  }

  /** The file's schema without other columns, whose types may be unreadable. */
  private def withColumns(fileSchema: MessageType, present: StructType): MessageType =
    new MessageType(fileSchema.getName,
      present.fieldNames.map(name => fileSchema.getFields.get(fileSchema.getFieldIndex(name))): _*)

  /** The types that Spark's reader returns. */
  private final class ReadTypes(file: String, isRetyped: Boolean) {

    /** @param struct the message, or a struct of it */
    def ofField(struct: ParquetColumn, field: StructField, column: String): StructField = {
      val at = struct.sparkType.asInstanceOf[StructType].fieldNames.indexOf(field.name)
      if (at < 0) field
      else {
        val dataType = ofColumn(struct.children(at), field.dataType, column, Milliseconds.areIn(field))
        field.copy(dataType = dataType)
      }
    }

    private def ofColumn(stored: ParquetColumn, requested: DataType, column: String, isMillis: Boolean): DataType =
      (stored.sparkType, requested) match {
        case (s: StructType, r: StructType) =>
          val fields = r.fields.map(field => ofField(stored, field, s"$column.${field.name}"))
          StructType(if (s.isEmpty || r.fieldNames.exists(s.fieldNames.contains)) fields else fields :+ singleField(s))
        case (_: ArrayType, r: ArrayType) =>
          ArrayType(ofColumn(stored.children.head, r.elementType, s"$column.element", isMillis), r.containsNull)
        case (_: MapType, r: MapType) =>
          val key = ofColumn(stored.children.head, r.keyType, s"$column.key", isMillis)
          MapType(key, ofColumn(stored.children(1), r.valueType, s"$column.value", isMillis), r.valueContainsNull)
        case (TimestampType, TimestampType) if isMillis && isMicros(stored)           => LongType
        case (LongType, TimestampNTZType)                                             => LongType
        case (s, r) if s == r                                                         => r
        case (ByteType | ShortType | IntegerType, ByteType | ShortType | IntegerType) => requested
        case (s, r) if Widening.isAllowed(s, r)                                       => s
        case (s, r) if isRetyped && Retyping.isAllowed(s, r)                          => s
        case _ =>
          throw MerganserException(
            "COLUMN_TYPE_CHANGED",
            "column" -> column,
            "file" -> file,
            "stored" -> stored.sparkType.catalogString,
            "requested" -> requested.catalogString
          )
      }
  }

  /** Whether the file labels the values as microseconds. */
  private[table] def isMicros(stored: PrimitiveType): Boolean = stored.getLogicalTypeAnnotation match {
    case time: TimestampLogicalTypeAnnotation => time.isAdjustedToUTC && time.getUnit == TimeUnit.MICROS
    case _                                    => false
  }

  private def isMicros(stored: ParquetColumn): Boolean = stored.descriptor.exists(d => isMicros(d.getPrimitiveType))

  /** A single field of a struct, down to a single field of nested structs. */
  private def singleField(struct: StructType): StructField = {
    val field = struct.find(f => !f.dataType.isInstanceOf[StructType]).getOrElse(struct.head)
    val kind = field.dataType match {
      case inner: StructType => StructType(Seq(singleField(inner)))
      case other             => nullable(other)
    }
    StructField(field.name, kind, nullable = true)
  }

  private def nullable(dataType: DataType): DataType = dataType match {
    case _: CharType | _: VarcharType => StringType
    case a: ArrayType                 => ArrayType(nullable(a.elementType), containsNull = true)
    case m: MapType                   => MapType(nullable(m.keyType), nullable(m.valueType), valueContainsNull = true)
    case s: StructType => StructType(s.fields.map { field =>
        val column = StructField(field.name, nullable(field.dataType), nullable = true)
        if (Milliseconds.areIn(field)) Milliseconds.mark(column) else column
      })
    case other => other
  }
}
