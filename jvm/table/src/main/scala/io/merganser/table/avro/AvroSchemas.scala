package io.merganser.table.avro

import io.merganser.merge.{ColumnDefault, MerganserException}
import org.apache.avro.{JsonProperties, LogicalTypes, Schema}
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._

/** Converts between a table's columns and the Avro schemas in its commits and log blocks. */
object AvroSchemas {

  /**
   * The record schema of the format: record `<table>_record` in namespace `hoodie.<table>`, nullable columns
   * as `["null", T]` with default null, decimals as fixed, a column's comment as its field's doc.
   *
   * @throws MerganserException UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME, naming the column with its path
   */
  def toAvro(schema: StructType, tableName: String): Schema = {
    val table = sanitized(tableName)
    record(schema, s"${table}_record", s"hoodie.$table", path = "")
  }

  /**
   * The columns of a record schema, with their defaults other than null ([[ColumnDefault]]) and the unit of their
   * timestamps ([[Milliseconds]]). Avro has no byte, short,
   * char or varchar: they are returned as int and string.
   *
   * @throws MerganserException UNSUPPORTED_TYPE for types that no column can have, such as a union of several types
   */
  def toSpark(avro: Schema): StructType = columns(avro, path = "", enclosing = Set.empty)

  /** The schema as read from storage: byte and short as int, char and varchar as string. */
  def stored(schema: StructType): StructType = storedType(schema).asInstanceOf[StructType]

  /** @throws MerganserException UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME, COLUMN_NAME_REPEATED */
  def checkColumns(schema: StructType): Unit = { toAvro(schema, "check"); () }

  /** @throws org.apache.avro.SchemaParseException if the string is not a schema */
  def parse(json: String): Schema = new Schema.Parser().setValidateDefaults(false).parse(json)

  /** The non-null branch of a nullable union; any other schema unchanged. */
  private[table] def withoutNull(schema: Schema): Schema =
    if (schema.getType != Schema.Type.UNION) schema
    else {
      val branches = schema.getTypes.asScala.filter(_.getType != Schema.Type.NULL)
      if (branches.size == 1) branches.head else schema
    }

  private[table] def isNullable(schema: Schema): Boolean =
    schema.getType == Schema.Type.NULL ||
      schema.getType == Schema.Type.UNION && schema.getTypes.asScala.exists(_.getType == Schema.Type.NULL)

  /** Smallest number of bytes whose two's complement can represent every unscaled value of `precision` digits. */
  private[table] def bytesForPrecision(precision: Int): Int = {
    val bits = java.math.BigInteger.TEN.pow(precision).subtract(java.math.BigInteger.ONE).bitLength + 1
    (bits + 7) / 8
  }

  private def record(schema: StructType, name: String, namespace: String, path: String): Schema = {
    def full(last: String) = if (path.isEmpty) last else s"$path.$last"
    schema.fieldNames.diff(schema.fieldNames.distinct).headOption.foreach { repeated =>
      throw MerganserException("COLUMN_NAME_REPEATED", "column" -> full(repeated))
    }
    val fields = schema.fields.map { field =>
      val column = full(field.name)
      checkName(field.name, column)
      val plain   = dataType(field.dataType, field.name, s"$namespace.$name", column, Milliseconds.areIn(field))
      val comment = field.getComment().orNull
      if (field.nullable) new Schema.Field(field.name, nullable(plain), comment, JsonProperties.NULL_VALUE)
      else new Schema.Field(field.name, plain, comment, ColumnDefault.of(field).map(_.asInstanceOf[Object]).orNull)
    }
    Schema.createRecord(name, null, namespace, false, fields.toSeq.asJava)
  }

  private def nullable(schema: Schema): Schema = Schema.createUnion(Schema.create(Schema.Type.NULL), schema)

  private def dataType(
      dataType: DataType,
      name: String,
      namespace: String,
      column: String,
      isMillis: Boolean
  ): Schema = dataType match {
    case BooleanType                        => Schema.create(Schema.Type.BOOLEAN)
    case ByteType | ShortType | IntegerType => Schema.create(Schema.Type.INT)
    case LongType                           => Schema.create(Schema.Type.LONG)
    case FloatType                          => Schema.create(Schema.Type.FLOAT)
    case DoubleType                         => Schema.create(Schema.Type.DOUBLE)
    case BinaryType                         => Schema.create(Schema.Type.BYTES)
    case StringType                         => Schema.create(Schema.Type.STRING)
    case _: CharType | _: VarcharType       => Schema.create(Schema.Type.STRING)
    case DateType                           => LogicalTypes.date().addToSchema(Schema.create(Schema.Type.INT))
    case TimestampType =>
      (if (isMillis) LogicalTypes.timestampMillis() else LogicalTypes.timestampMicros())
        .addToSchema(Schema.create(Schema.Type.LONG))
    case TimestampNTZType =>
      (if (isMillis) LogicalTypes.localTimestampMillis() else LogicalTypes.localTimestampMicros())
        .addToSchema(Schema.create(Schema.Type.LONG))
    case d: DecimalType =>
      val fixed = Schema.createFixed("fixed", null, s"$namespace.$name", bytesForPrecision(d.precision))
      LogicalTypes.decimal(d.precision, d.scale).addToSchema(fixed)
    case a: ArrayType =>
      val element = this.dataType(a.elementType, name, namespace, s"$column.element", isMillis)
      Schema.createArray(if (a.containsNull) nullable(element) else element)
    case m: MapType =>
      if (m.keyType == NullType) throw unsupported(column, m, Untyped)
      if (m.keyType != StringType) throw unsupported(column, m, "map keys are strings")
      val value = this.dataType(m.valueType, name, namespace, s"$column.value", isMillis)
      Schema.createMap(if (m.valueContainsNull) nullable(value) else value)
    case s: StructType =>
      if (s.isEmpty) throw unsupported(column, s, "a struct has at least one field")
      record(s, name, namespace, column)
    case NullType => throw unsupported(column, NullType, Untyped)
    case other    => throw unsupported(column, other, "the table format has no such type")
  }

  private def columns(avro: Schema, path: String, enclosing: Set[String]): StructType = StructType(
    avro.getFields.asScala.toArray.map { field =>
      val place = if (path.isEmpty) field.name else s"$path.${field.name}"
      val plain = StructField(field.name, columnType(field.schema, place, enclosing + avro.getFullName),
        isNullable(field.schema))
      val unit   = if (Milliseconds.areIn(field.schema)) Milliseconds.mark(plain) else plain
      val column = if (unit.nullable || !field.hasDefaultValue) unit else ColumnDefault.put(unit, field.defaultVal)
      Option(field.doc).filter(_.nonEmpty).fold(column)(column.withComment)
    }
  )

  private def columnType(avro: Schema, column: String, enclosing: Set[String]): DataType = avro.getType match {
    case Schema.Type.BOOLEAN => BooleanType
    case Schema.Type.INT =>
      if (avro.getLogicalType.isInstanceOf[LogicalTypes.Date]) DateType else IntegerType
    case Schema.Type.LONG =>
      avro.getLogicalType match {
        case _: LogicalTypes.TimestampMicros | _: LogicalTypes.TimestampMillis           => TimestampType
        case _: LogicalTypes.LocalTimestampMicros | _: LogicalTypes.LocalTimestampMillis => TimestampNTZType
        case _                                                                           => LongType
      }
    case Schema.Type.FLOAT                     => FloatType
    case Schema.Type.DOUBLE                    => DoubleType
    case Schema.Type.STRING | Schema.Type.ENUM => StringType
    case Schema.Type.BYTES | Schema.Type.FIXED =>
      avro.getLogicalType match {
        case d: LogicalTypes.Decimal => DecimalType(d.getPrecision, d.getScale)
        case _                       => BinaryType
      }
    case Schema.Type.ARRAY =>
      ArrayType(columnType(avro.getElementType, s"$column.element", enclosing), isNullable(avro.getElementType))
    case Schema.Type.MAP =>
      MapType(StringType, columnType(avro.getValueType, s"$column.value", enclosing), isNullable(avro.getValueType))
    case Schema.Type.RECORD =>
      if (enclosing.contains(avro.getFullName)) throw unsupported(column, avro, "a record may not contain itself")
      columns(avro, column, enclosing)
    case Schema.Type.UNION =>
      val branches = avro.getTypes.asScala.filter(_.getType != Schema.Type.NULL)
      branches.map(_.getType).toSet match {
        case types if branches.size == 1 && types.nonEmpty            => columnType(branches.head, column, enclosing)
        case types if types == Set(Schema.Type.INT, Schema.Type.LONG) => LongType
        case types if types == Set(Schema.Type.FLOAT, Schema.Type.DOUBLE) => DoubleType
        case _ => throw unsupported(column, avro, "a union has one type besides null")
      }
    case _ => throw unsupported(column, avro, "a column of nulls has no type")
  }

  private def storedType(dataType: DataType): DataType = dataType match {
    case ByteType | ShortType         => IntegerType
    case _: CharType | _: VarcharType => StringType
    case a: ArrayType                 => ArrayType(storedType(a.elementType), a.containsNull)
    case m: MapType                   => MapType(storedType(m.keyType), storedType(m.valueType), m.valueContainsNull)
    case s: StructType                => StructType(s.fields.map(f => f.copy(dataType = storedType(f.dataType))))
    case other                        => other
  }

  /** The names that Avro's own check accepts, so that every reader can parse the schema. */
  private def checkName(name: String, column: String): Unit = {
    val fits = name.nonEmpty && (Character.isLetter(name.charAt(0)) || name.charAt(0) == '_') &&
      name.forall(c => Character.isLetterOrDigit(c) || c == '_')
    if (!fits) throw MerganserException("UNSUPPORTED_COLUMN_NAME", "column" -> column)
  }

  private def sanitized(name: String): String = {
    val body = name.map(c => if (Character.isLetterOrDigit(c) && c < 128 || c == '_') c.toString else "__").mkString
    if (body.isEmpty || body.charAt(0).isDigit) "_" + body else body
  }

  private val Untyped = "it has no values that show its type, and the table has no such column"

  private def unsupported(column: String, dataType: Any, reason: String): MerganserException = {
    val typeName = dataType match {
      case t: DataType => t.catalogString
      case other       => other.toString
    }
    MerganserException("UNSUPPORTED_TYPE", "column" -> column, "type" -> typeName, "reason" -> reason)
  }
}
