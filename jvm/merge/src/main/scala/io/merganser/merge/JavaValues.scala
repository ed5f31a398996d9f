package io.merganser.merge

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, GenericRowWithSchema}
import org.apache.spark.sql.catalyst.util.{
  ArrayBasedMapData,
  ArrayData,
  DateTimeUtils,
  GenericArrayData,
  IntervalUtils,
  MapData
}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.math.{BigInteger, BigDecimal => JavaDecimal}
import java.time.{Duration, Instant, LocalDate, LocalDateTime, Period}
import java.util.{Collections, LinkedHashMap, List => JavaList, Map => JavaMap}
import scala.collection.JavaConverters._

/** Column values as ordinary Java objects, as [[RecordContext]] promises them, and back. */
private[merge] object JavaValues {

  /** @param value the engine's value; it may refer to a reader's buffer, the result does not */
  def toJava(value: Any, dataType: DataType): AnyRef =
    if (value == null) null
    else dataType match {
      case _: StringType | _: CharType | _: VarcharType => value.toString
      case _: DecimalType                               => value.asInstanceOf[Decimal].toJavaBigDecimal
      case DateType                                     => DateTimeUtils.daysToLocalDate(value.asInstanceOf[Int])
      case TimestampType                                => DateTimeUtils.microsToInstant(value.asInstanceOf[Long])
      case TimestampNTZType                             => DateTimeUtils.microsToLocalDateTime(value.asInstanceOf[Long])
      case BinaryType                                   => value.asInstanceOf[Array[Byte]].clone()
      case _: YearMonthIntervalType                     => IntervalUtils.monthsToPeriod(value.asInstanceOf[Int])
      case _: DayTimeIntervalType                       => IntervalUtils.microsToDuration(value.asInstanceOf[Long])
      case ArrayType(element, _)                        => listOf(value.asInstanceOf[ArrayData], element)
      case MapType(key, element, _)                     => mapOf(value.asInstanceOf[MapData], key, element)
      case struct: StructType                           => rowOf(value.asInstanceOf[InternalRow], struct)
      case udt: UserDefinedType[_]                      => toJava(value, udt.sqlType)
      case _                                            => value.asInstanceOf[AnyRef]
    }

  private def listOf(array: ArrayData, element: DataType): JavaList[AnyRef] =
    Collections.unmodifiableList(java.util.Arrays.asList(
        Array.tabulate[AnyRef](array.numElements())(i =>
          if (array.isNullAt(i)) null else toJava(array.get(i, element), element)): _*))

  private def mapOf(map: MapData, key: DataType, element: DataType): JavaMap[AnyRef, AnyRef] = {
    val result         = new LinkedHashMap[AnyRef, AnyRef]
    val (keys, values) = (map.keyArray(), map.valueArray())
    for (i <- 0 until map.numElements())
      result.put(toJava(keys.get(i, key), key),
        if (values.isNullAt(i)) null else toJava(values.get(i, element), element))
    Collections.unmodifiableMap(result)
  }

  private def rowOf(row: InternalRow, struct: StructType): Row = new GenericRowWithSchema(
    Array.tabulate[Any](struct.length)(i =>
      if (row.isNullAt(i)) null else toJava(row.get(i, struct(i).dataType), struct(i).dataType)),
    struct)

  /**
   * @param column named in the error if the value does not fit
   * @throws IllegalArgumentException if the value is not of the column's type
   */
  def toEngine(value: Any, dataType: DataType, column: String): Any = {
    def unfit = new IllegalArgumentException(
      s"value '${String.valueOf(value).take(100)}' of ${value.getClass.getName} does not fit " +
        s"column '$column' of type ${dataType.catalogString}")
    def integer(least: Long, most: Long): Long = value match {
      case n @ (_: Byte | _: Short | _: Int | _: Long) =>
        val number = n.asInstanceOf[Number].longValue
        if (number < least || number > most) throw unfit
        number
      case _ => throw unfit
    }
    if (value == null) null
    else (dataType, value) match {
      case (_: StringType | _: CharType | _: VarcharType, text: CharSequence) => UTF8String.fromString(text.toString)
      case (_: StringType, text: UTF8String)                                  => text
      case (BooleanType, flag: Boolean)                                       => flag
      case (ByteType, _)                => integer(Byte.MinValue, Byte.MaxValue).toByte
      case (ShortType, _)               => integer(Short.MinValue, Short.MaxValue).toShort
      case (IntegerType, _)             => integer(Int.MinValue, Int.MaxValue).toInt
      case (LongType, _)                => integer(Long.MinValue, Long.MaxValue)
      case (FloatType, number: Float)   => number
      case (DoubleType, number: Float)  => number.toDouble
      case (DoubleType, number: Double) => number
      case (FloatType | DoubleType, _: Byte | _: Short | _: Int | _: Long) =>
        val integer = value.asInstanceOf[Number].longValue
        if (dataType == DoubleType && integer.toDouble.toLong == integer) integer.toDouble
        else if (dataType == FloatType && integer.toFloat.toLong == integer) integer.toFloat
        else throw unfit
      case (to: DecimalType, _)                         => decimal(value, to).getOrElse(throw unfit)
      case (DateType, date: LocalDate)                  => DateTimeUtils.localDateToDays(date)
      case (DateType, date: java.sql.Date)              => DateTimeUtils.fromJavaDate(date)
      case (TimestampType, time: Instant)               => DateTimeUtils.instantToMicros(time)
      case (TimestampType, time: java.sql.Timestamp)    => DateTimeUtils.fromJavaTimestamp(time)
      case (TimestampNTZType, time: LocalDateTime)      => DateTimeUtils.localDateTimeToMicros(time)
      case (BinaryType, bytes: Array[Byte])             => bytes.clone()
      case (_: YearMonthIntervalType, period: Period)   => IntervalUtils.periodToMonths(period)
      case (_: DayTimeIntervalType, duration: Duration) => IntervalUtils.durationToMicros(duration)
      case (ArrayType(element, _), _)    => arrayOf(elements(value).getOrElse(throw unfit), element, column)
      case (MapType(key, element, _), _) => mapFrom(entries(value).getOrElse(throw unfit), key, element, column)
      case (struct: StructType, row: Row) if row.length == struct.length =>
        new GenericInternalRow(
          Array.tabulate[Any](row.length)(i => toEngine(row.get(i), struct(i).dataType, s"$column.${struct(i).name}")))
      case (udt: UserDefinedType[_], _) => toEngine(value, udt.sqlType, column)
      case _                            => throw unfit
    }
  }

  private def elements(value: Any): Option[Iterator[Any]] = value match {
    case list: java.util.Collection[_]                  => Some(list.iterator.asScala)
    case array: Array[_]                                => Some(array.iterator)
    case sequence: scala.collection.Seq[Any @unchecked] => Some(sequence.iterator)
    case _                                              => None
  }

  private def entries(value: Any): Option[Iterator[(Any, Any)]] = value match {
    case map: JavaMap[_, _] => Some(map.entrySet.iterator.asScala.map(e => (e.getKey, e.getValue)))
    case map: scala.collection.Map[Any @unchecked, Any @unchecked] => Some(map.iterator)
    case _                                                         => None
  }

  private def arrayOf(values: Iterator[Any], element: DataType, column: String): ArrayData =
    new GenericArrayData(values.map(toEngine(_, element, s"$column.element")).toArray[Any])

  private def mapFrom(pairs: Iterator[(Any, Any)], key: DataType, element: DataType, column: String): MapData = {
    val (keys, values) = pairs.toArray.unzip
    ArrayBasedMapData(keys.map(toEngine(_, key, s"$column.key")), values.map(toEngine(_, element, s"$column.value")))
  }

  /** None if the number has more digits than the type, before the decimal point or after it. */
  private def decimal(value: Any, to: DecimalType): Option[Decimal] = {
    val number = value match {
      case exact: JavaDecimal                          => Some(exact)
      case exact: scala.math.BigDecimal                => Some(exact.bigDecimal)
      case big: BigInteger                             => Some(new JavaDecimal(big))
      case exact: Decimal                              => Some(exact.toJavaBigDecimal)
      case n @ (_: Byte | _: Short | _: Int | _: Long) => Some(JavaDecimal.valueOf(n.asInstanceOf[Number].longValue))
      case _                                           => None
    }
    number.filter(n => n.signum == 0 || n.stripTrailingZeros.scale <= to.scale).map(_.setScale(to.scale))
      .filter(_.precision <= to.precision).map(Decimal(_, to.precision, to.scale))
  }
}
