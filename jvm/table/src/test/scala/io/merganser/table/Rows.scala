package io.merganser.table

import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.util.Random

/** Rows for tests: of every type, random or literal, and as plain Scala values to compare. */
object Rows {

  /** Every type a table may have, nested ones too. */
  val everyType: StructType = StructType(
    Seq(
      "boolean_" -> BooleanType,
      "byte_" -> ByteType,
      "short_" -> ShortType,
      "int_" -> IntegerType,
      "long_" -> LongType,
      "float_" -> FloatType,
      "double_" -> DoubleType,
      "dec9" -> DecimalType(9, 2),
      "dec18" -> DecimalType(18, 6),
      "dec38" -> DecimalType(38, 10),
      "string_" -> StringType,
      "binary_" -> BinaryType,
      "date_" -> DateType,
      "timestamp_" -> TimestampType,
      "ntz" -> TimestampNTZType,
      "struct_" -> StructType(Seq(StructField("a", IntegerType), StructField("b", StringType),
          StructField("c", DecimalType(20, 3)))),
      "ints" -> ArrayType(IntegerType),
      "texts" -> ArrayType(StringType),
      "structs" -> ArrayType(StructType(Seq(StructField("x", LongType), StructField("y", ArrayType(DateType))))),
      "map_" -> MapType(StringType, DoubleType),
      "deep" -> MapType(StringType, ArrayType(StructType(Seq(StructField("m", MapType(StringType, StringType))))))
    ).map { case (name, dataType) => StructField(name, dataType) }
  )

  def row(values: Any*): InternalRow = new GenericInternalRow(values.map(internal).toArray[Any])

  /** A row with the meta columns in front of its values. */
  def stored(instant: String, key: String, partition: String, fileName: String)(values: Any*): InternalRow =
    row(Seq[Any](instant, s"${instant}_0_$key", key, partition, fileName) ++ values: _*)

  def withMeta(columns: (String, DataType)*): StructType =
    MetaColumns.before(StructType(columns.map { case (name, dataType) => StructField(name, dataType) }))

  def random(schema: StructType, random: Random): InternalRow =
    new GenericInternalRow(schema.fields.map(field => value(field.dataType, field.nullable, random)))

  /** Scala values that compare by equality: strings, Seqs and Maps. */
  def plain(row: InternalRow, schema: StructType): Seq[Any] =
    schema.fields.indices.map(i => plainValue(row, i, schema(i).dataType))

  private def internal(value: Any): Any = value match {
    case text: String => UTF8String.fromString(text)
    case other        => other
  }

  private def plainValue(row: SpecializedGetters, i: Int, dataType: DataType): Any =
    if (row.isNullAt(i)) null
    else dataType match {
      case StringType     => row.getUTF8String(i).toString
      case BinaryType     => row.getBinary(i).toSeq
      case d: DecimalType => row.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale)
      case s: StructType  => plain(row.getStruct(i, s.length), s)
      case a: ArrayType =>
        val array = row.getArray(i)
        (0 until array.numElements).map(plainValue(array, _, a.elementType))
      case m: MapType =>
        val map = row.getMap(i)
        (0 until map.numElements).map { j =>
          plainValue(map.keyArray, j, m.keyType) -> plainValue(map.valueArray, j, m.valueType)
        }.toMap
      case FloatType                                   => java.lang.Float.floatToIntBits(row.getFloat(i))
      case DoubleType                                  => java.lang.Double.doubleToLongBits(row.getDouble(i))
      case BooleanType                                 => row.getBoolean(i)
      case ByteType                                    => row.getByte(i)
      case ShortType                                   => row.getShort(i)
      case IntegerType | DateType                      => row.getInt(i)
      case LongType | TimestampType | TimestampNTZType => row.getLong(i)
      case other                                       => throw new IllegalArgumentException(other.toString)
    }

  private def value(dataType: DataType, nullable: Boolean, random: Random): Any =
    if (nullable && random.nextInt(5) == 0) null
    else dataType match {
      case BooleanType => random.nextBoolean()
      case ByteType    => random.nextInt().toByte
      case ShortType   => random.nextInt().toShort
      case IntegerType => random.nextInt() >> random.nextInt(32)
      case LongType    => random.nextLong() >> random.nextInt(64)
      case FloatType   => random.nextFloat() * 1000 - 500
      case DoubleType  => if (random.nextInt(20) == 0) Double.NaN else random.nextGaussian() * 1e9
      case d: DecimalType =>
        val digits = new java.math.BigInteger(random.nextInt(d.precision * 3) + 1, random.self)
          .mod(java.math.BigInteger.TEN.pow(d.precision))
        val unscaled = if (random.nextBoolean()) digits.negate else digits
        Decimal(new java.math.BigDecimal(unscaled, d.scale), d.precision, d.scale)
      case StringType       => UTF8String.fromString(text(random))
      case BinaryType       => Array.fill(random.nextInt(12))(random.nextInt().toByte)
      case DateType         => random.nextInt(200000) - 100000
      case TimestampType    => random.nextLong() >> 12
      case TimestampNTZType => random.nextLong() >> 12
      case s: StructType    => this.random(s, random)
      case a: ArrayType =>
        new GenericArrayData(Array.fill[Any](random.nextInt(4))(value(a.elementType, a.containsNull, random)))
      case m: MapType =>
        val keys = Array.fill(random.nextInt(4))(text(random)).distinct.map(key => UTF8String.fromString(key): Any)
        new ArrayBasedMapData(
          new GenericArrayData(keys),
          new GenericArrayData(keys.map(_ => value(m.valueType, m.valueContainsNull, random)))
        )
      case other => throw new IllegalArgumentException(other.toString)
    }

  private def text(random: Random): String =
    Seq.fill(random.nextInt(8))("aZ9_é€😀 :," (random.nextInt(9))).filterNot(Character.isSurrogate).mkString
}
