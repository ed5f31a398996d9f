package io.merganser.table.log

import io.merganser.table.avro.StringTypes.isString
import io.merganser.table.avro.{AvroInput, AvroOutput, AvroSchemas, Milliseconds}
import org.apache.avro.Schema
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.math.{BigDecimal => JavaDecimal, BigInteger}

/**
 * A key to delete.
 *
 * @param ordering Catalyst values in the order of the ordering fields; null if the delete has no ordering value
 */
final case class LogDelete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any])

/**
 * The Avro records of a delete block: key, partition path and ordering value, each a union with null first. An ordering
 * value is stored in one of twelve wrapper records, one per branch of its union.
 */
private[table] object DeleteRecords {
  private val Null            = 0
  private val Bool            = 1
  private val Integer         = 2
  private val Long            = 3
  private val Float           = 4
  private val Double          = 5
  private val Bytes           = 6
  private val StringValue     = 7
  private val Date            = 8
  private val DecimalValue    = 9
  private val TimeMicros      = 10
  private val TimestampMicros = 11
  private val Several         = 12

  /** Branch in the union of an array's elements, which has no branch for arrays. */
  private val LocalDate = 12

  /** More than the ordering fields of any table. */
  private val MostFields = 10000L

  /** Scale of every decimal in a delete block, whatever its column's. */
  private val Scale = 15

  /**
   * Property of a delete block's schema, which we set if every entry has an ordering value. Without it a wrapped Int 0
   * means no ordering value, as for every reader.
   */
  private val OrderedProperty = "merganser.ordered"

  def markOrdered(schema: Schema): Unit = schema.addProp(OrderedProperty, "true")

  def areOrdered(schema: Option[Schema]): Boolean = schema.exists(_.getProp(OrderedProperty) == "true")

  /** @param isZeroAbsent whether a wrapped Int 0 means no ordering value */
  final class Decoder(orderingTypes: Array[DataType], isMillis: Array[Boolean], isZeroAbsent: Boolean) {

    /** @return null for no ordering value */
    def ordering(in: AvroInput): Array[Any] = {
      val branch = in.readInt()
      if (branch == Null) null
      else if (branch == Several) several(in)
      else {
        val stored = scalar(in, branch)
        if (isZeroAbsent && branch == Integer && stored == 0) null
        else if (orderingTypes.length == 0) null
        else if (orderingTypes.length > 1)
          throw new IllegalArgumentException(
            s"it has one ordering value, the table ${orderingTypes.length} ordering fields")
        else Array(convert(stored, 0))
      }
    }

    private def several(in: AvroInput): Array[Any] = {
      val values = Array.newBuilder[Any]
      if (in.readInt() != Null) {
        var count = in.readLong()
        while (count != 0) {
          if (count < 0) {
            in.readLong()
            count = -count
          }
          if (count < 0 || count > DeleteRecords.MostFields)
            throw new IllegalArgumentException(s"it has $count ordering values")
          var i = 0L
          while (i < count) {
            val branch = in.readInt()
            values += (if (branch == Null) null else scalar(in, if (branch == LocalDate) Date else branch))
            i += 1
          }
          count = in.readLong()
        }
      }
      val stored = values.result()
      if (orderingTypes.length == 0) null
      else if (stored.length != orderingTypes.length)
        throw new IllegalArgumentException(
          s"it has ${stored.length} ordering values, the table ${orderingTypes.length} ordering fields"
        )
      else Array.tabulate[Any](stored.length)(i => if (stored(i) == null) null else convert(stored(i), i))
    }

    private def scalar(in: AvroInput, branch: Int): Any = branch match {
      case Bool                                => in.readBoolean()
      case Integer | Date                      => in.readInt()
      case Long | TimeMicros | TimestampMicros => in.readLong()
      case Float                               => in.readFloat()
      case Double                              => in.readDouble()
      case Bytes                               => in.readBytes()
      case StringValue                         => in.readString().copy()
      case DecimalValue                        => new JavaDecimal(new BigInteger(in.readBytes()), Scale)
      case other => throw new IllegalArgumentException(s"branch $other of an ordering value is not known")
    }

    private def convert(stored: Any, field: Int): Any = (stored, orderingTypes(field)) match {
      case (v: Boolean, BooleanType)                   => v
      case (v: Int, ByteType)                          => v.toByte
      case (v: Int, ShortType)                         => v.toShort
      case (v: Int, IntegerType | DateType)            => v
      case (v: Long, TimestampType | TimestampNTZType) => if (isMillis(field)) v * 1000L else v
      case (v: Number, LongType | TimestampType | TimestampNTZType) if isIntegral(v) => v.longValue
      case (v: Number, FloatType)                                                    => v.floatValue
      case (v: Number, DoubleType)                                                   => v.doubleValue
      case (v: Long, ByteType) if v.toByte == v                                      => v.toByte
      case (v: Long, ShortType) if v.toShort == v                                    => v.toShort
      case (v: Long, IntegerType | DateType) if v.toInt == v                         => v.toInt
      case (v: JavaDecimal, d: DecimalType)                                          => decimal(v, d)
      case (v: Number, d: DecimalType)                           => decimal(new JavaDecimal(v.toString), d)
      case (v: UTF8String, d: DecimalType)                       => decimal(new JavaDecimal(v.toString), d)
      case (v: Array[Byte], BinaryType)                          => v
      case (v: UTF8String, BinaryType)                           => v.getBytes
      case (v: Array[Byte], _) if isString(orderingTypes(field)) => UTF8String.fromBytes(v)
      case (v, _) if isString(orderingTypes(field))              => UTF8String.fromString(v.toString)
      case (v, dataType) =>
        throw new IllegalArgumentException(
          s"its ordering value $v of ${v.getClass.getSimpleName} does not fit the ordering field's type " +
            dataType.catalogString
        )
    }

    private def isIntegral(value: Number): Boolean = value.isInstanceOf[Int] || value.isInstanceOf[Long]

    private def decimal(value: JavaDecimal, to: DecimalType): Decimal = Decimal(value, to.precision, to.scale)
  }

  /**
   * Which ordering fields are stored in milliseconds: those of the block's schema, and those of the table's, which may
   * have been written under the name of microseconds.
   */
  def areMillis(block: Option[Schema], orderingFields: StructType): Array[Boolean] =
    orderingFields.fields.map { field =>
      Milliseconds.areIn(field) || block.flatMap(storedType(_, field.name)).exists(Milliseconds.areIn)
    }

  private def storedType(record: Schema, name: String): Option[Schema] =
    Option(record.getField(name)).map(_.schema).orElse {
      val (first, rest) = name.span(_ != '.')
      Option(record.getField(first)).map(field => AvroSchemas.withoutNull(field.schema))
        .filter(inner => rest.nonEmpty && inner.getType == Schema.Type.RECORD).flatMap(storedType(_, rest.drop(1)))
    }

  /**
   * Appends one delete.
   *
   * @param isMillis which ordering values are stored in milliseconds
   */
  def encode(delete: LogDelete, orderingTypes: Array[DataType], isMillis: Array[Boolean], out: AvroOutput): Unit = {
    def value(i: Int): Any = delete.ordering(i) match {
      case micros: Long if isMillis(i) => Math.floorDiv(micros, 1000L)
      case other                       => other
    }
    string(delete.key, out)
    string(delete.partitionPath, out)
    val ordering = delete.ordering
    if (ordering == null || orderingTypes.length == 0) {
      // Not the null branch: the reference cannot compare it with a record of the same key in an earlier log.
      out.writeInt(Integer)
      out.writeInt(0)
    } else if (ordering.length == 1 && ordering(0) != null) wrapper(value(0), orderingTypes(0), out)
    else {
      // A single null too: unwrapped it would mean no ordering value, which wins where null loses.
      out.writeInt(Several)
      out.writeInt(1)
      out.writeInt(ordering.length)
      var i = 0
      while (i < ordering.length) {
        if (ordering(i) == null) out.writeInt(Null) else wrapper(value(i), orderingTypes(i), out)
        i += 1
      }
      out.writeInt(0)
    }
  }

  private def string(value: UTF8String, out: AvroOutput): Unit =
    if (value == null) out.writeInt(Null)
    else {
      out.writeInt(1)
      out.writeString(value)
    }

  /** A value with more fraction digits than the wrapper's scale is stored as a string, exactly; only we can read it. */
  private def decimal(value: JavaDecimal, out: AvroOutput): Unit = {
    val shortest = value.stripTrailingZeros
    if (shortest.scale <= Scale) {
      out.writeInt(DecimalValue)
      out.writeBytes(shortest.setScale(Scale).unscaledValue.toByteArray)
    } else {
      out.writeInt(StringValue)
      out.writeString(UTF8String.fromString(shortest.toPlainString))
    }
  }

  /** The wrapper of the column's physical type: the reference compares it with the column's stored values. */
  private def wrapper(value: Any, dataType: DataType, out: AvroOutput): Unit = dataType match {
    case BooleanType =>
      out.writeInt(Bool)
      out.writeBoolean(value.asInstanceOf[Boolean])
    case ByteType | ShortType | IntegerType | DateType =>
      out.writeInt(Integer)
      out.writeInt(value.asInstanceOf[Number].intValue)
    case LongType | TimestampType | TimestampNTZType =>
      out.writeInt(Long)
      out.writeLong(value.asInstanceOf[Long])
    case FloatType =>
      out.writeInt(Float)
      out.writeFloat(value.asInstanceOf[Float])
    case DoubleType =>
      out.writeInt(Double)
      out.writeDouble(value.asInstanceOf[Double])
    case BinaryType =>
      out.writeInt(Bytes)
      out.writeBytes(value.asInstanceOf[Array[Byte]])
    case _: DecimalType =>
      decimal(value.asInstanceOf[Decimal].toJavaBigDecimal, out)
    case _ if isString(dataType) =>
      out.writeInt(StringValue)
      out.writeString(value.asInstanceOf[UTF8String])
    case other => throw new IllegalStateException(s"an ordering field of type ${other.catalogString} was not refused")
  }
}
