package io.merganser.spark.capture

import io.merganser.spark.capture.Expressions._
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * How one column of a row image becomes a column of the table.
 *
 * @param wire        its type in the event: in JSON, or in the frame
 * @param target      its type in the table
 * @param form        a name for the conversion, by which two of them are equal; empty if there is none
 * @param convert     the conversion: null where the event's value cannot be converted
 * @param unavailable whether the event marks its value as absent. None if the converted value is such a mark itself,
 *                    which the table's rule has
 */
private[capture] final case class Value(
    wire: DataType,
    target: DataType,
    form: String = "",
    convert: Column => Column = identity,
    unavailable: Option[Column => Column] = None
) {
  def isConverted: Boolean = form.nonEmpty

  /** The condition under which the event's value is a placeholder that its column cannot store. */
  def lacking(placeholder: String): Option[Column => Column] = unavailable.orElse(wire match {
    case ArrayType(_: StringType, _) => Some(array_contains(_, placeholder))
    case ArrayType(IntegerType | LongType, _) =>
      val codes = placeholder.getBytes("UTF-8").map(code => lit(code.toInt)) // Debezium sends its bytes as the items
      Some(_ === array(codes.toIndexedSeq: _*).cast(wire))
    case MapType(_: StringType, _, _) => Some(given => array_contains(map_keys(given), placeholder))
    case _                            => None
  })

  /** The condition under which a string or binary value is the placeholder, which the table's rule may fill. */
  def isPlaceholder(placeholder: String): Option[Column => Column] = (wire, target) match {
    case (_: StringType, _: StringType) => Some(convert(_) === placeholder)
    case (_, BinaryType)                => Some(convert(_) === encode(lit(placeholder), "UTF-8"))
    case _                              => None
  }
}

/** Conversions of values as the tools write them. */
private[capture] object Values {

  /** How the units of Debezium's types, and of presets, divide a second. */
  val Units: Map[String, Long] = Map("millis" -> 1000L, "micros" -> 1000000L, "nanos" -> 1000000000L)

  /** How binary values are written in JSON: `binary.handling.mode` of Debezium, and Canal's ISO-8859-1. */
  val Binaries: Seq[String] = Seq("base64", "base64url", "hex", "latin1")

  private val Whole  = DecimalType(38, 0)
  private val Two64  = lit(new java.math.BigDecimal("18446744073709551616"))
  private val Latin1 = "ISO-8859-1"

  def same(dataType: DataType): Value = Value(dataType, dataType)

  /** Whether a string of the event is the placeholder. */
  def isText(placeholder: Option[String]): Option[Column => Column] = placeholder.map(text => _ === text)

  def ofBase64(text: Column): Column = try_to_binary(text, lit("base64"))

  /** A string in JSON, bytes in the table: those of the placeholder stay what they are. */
  def binary(placeholder: Option[String], written: String = "base64"): Value = {
    def bytes(text: Column): Column = written match {
      case "base64"    => ofBase64(text)
      case "base64url" => ofBase64(translate(text, "-_", "+/"))
      case "hex"       => when(text.rlike("^([0-9A-Fa-f]{2})*$"), unhex(text))
      // A character that the encoding lacks would become a question mark.
      case "latin1" => when(decode(encode(text, Latin1), Latin1) === text, encode(text, Latin1))
    }
    Value(StringType, BinaryType, s"binary $written",
      given =>
        placeholder.fold(bytes(given))(mark => when(given === mark, encode(given, "UTF-8")).otherwise(bytes(given))))
  }

  /** Base64 of a big-endian two's complement integer, as Kafka Connect writes decimals. */
  def decimalOfBase64(target: DecimalType, scale: Int, unavailable: Option[Column => Column]): Value =
    Value(StringType, target, s"decimal $scale ${target.sql}", text => unscaled(ofBase64(text), target, scale),
      unavailable)

  /** A decimal from the bytes of its unscaled integer: null for more than 16 bytes, or more digits than fit. */
  def unscaled(bytes: Column, target: DecimalType, scale: Int): Column = let(hex(bytes)) { digits =>
    val sign                       = when(substring(digits, 1, 1) >= "8", "F").otherwise("0")
    def filled(size: Int)          = call_function("lpad", digits, lit(size), sign)
    def half(from: Int, base: Int) = conv(substring(filled(32), from, 16), 16, base).cast(Whole)
    val long                       = try_add(try_multiply(half(1, -10), Two64).cast(Whole), half(17, 10))
    val number = when(length(digits).between(1, 16), conv(filled(16), 16, -10).cast(Whole))
      .when(length(digits).between(17, 32), long)
    let(number)(shifted(_, target, scale))
  }

  /** An integer divided by ten `scale` times, exactly. */
  private def shifted(number: Column, target: DecimalType, scale: Int): Column = {
    val written = number.cast(StringType)
    if (scale <= 0) tryCast(concat(written, lit("0" * -scale)), target)
    else {
      val padded = call_function("lpad", replace(written, lit("-"), lit("")),
        greatest(lit(scale + 1), length(written)), lit("0"))
      let(padded) { digits =>
        val exact = tryCast(concat(when(number < 0, "-").otherwise(""), withPoint(digits, lit(scale))), target)
        if (scale <= target.scale) exact // else a cast rounds
        else when(replace(right(digits, lit(scale - target.scale)), lit("0"), lit("")) === "", exact)
      }
    }
  }

  /** Digits with a point in front of the last `scale` ones. */
  def withPoint(digits: Column, scale: Column): Column =
    concat(left(digits, length(digits) - scale), lit("."), right(digits, scale))

  def dateOfDays: Value = Value(IntegerType, DateType, "days", daysOf)

  def daysOf(number: Column): Column =
    when(number.between(-719162, 2932896), date_add(lit(java.sql.Date.valueOf("1970-01-01")), number))

  /** Time since midnight as a string, `HH:mm:ss.SSSSSS`: Spark has no such type on all lines. */
  def timeOfDay(unit: String): Value = Value(LongType, StringType, s"time $unit",
    given =>
      let(micros(unit)(given)) { micros =>
        val shown = let(abs(greatest(micros, lit(-Long.MaxValue)))) { size => // a time of MySQL may be negative
          def part(unit: Long) = call_function("div", size, lit(unit))
          concat(when(micros < 0, "-").otherwise(""),
            format_string("%02d:%02d:%02d.%06d", part(3600000000L), part(60000000L) % 60, part(1000000L) % 60,
              size % 1000000))
        }
        when(micros.isNotNull, shown)
      })

  /** Time since 1970 without a zone, as [[wallClockOf]] has it. */
  def wallClock(unit: String, table: Option[DataType]): Value = {
    val target = if (table.contains(TimestampType)) TimestampType else TimestampNTZType
    Value(LongType, target, s"wall clock $unit ${target.sql}", wallClockOf(unit, target))
  }

  /** A `timestamp_ntz`, or in a column of type `timestamp` as if it were UTC. */
  def wallClockOf(unit: String, target: DataType)(given: Column): Column = {
    val time = micros(unit)(given)
    if (target == TimestampType) inYears(time, timestamp_micros(time))
    else {
      val seconds = (time.cast(DecimalType(20, 0)) * lit(new java.math.BigDecimal("0.000001"))).cast(DecimalType(18, 6))
      inYears(time,
        lit(java.time.LocalDateTime.of(1970, 1, 1, 0, 0)) + make_dt_interval(lit(0), lit(0), lit(0), seconds))
    }
  }

  /** Null outside the years 1 to 9999: sources use such numbers for infinity. */
  def inYears(micros: Column, value: Column): Column =
    when(micros.between(-62135596800000000L, 253402300799999999L), value)

  private def micros(unit: String)(given: Column): Column = unit match {
    case "millis" => try_multiply(given.cast(LongType), lit(1000L))
    case "micros" => given
    case "nanos" => // div alone rounds times before 1970 up
      call_function("div", given, lit(1000L)) - when(given % 1000L < 0, 1L).otherwise(0L)
  }
}
