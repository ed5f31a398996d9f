package io.merganser.spark.write.key

import java.time.{DateTimeException, Instant, LocalDate, LocalDateTime, LocalTime, ZoneId}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder, DateTimeParseException, ResolverStyle}
import java.time.temporal.{ChronoField, ChronoUnit, TemporalAccessor, TemporalQueries}
import java.util.{Locale, TimeZone}
import java.util.concurrent.TimeUnit

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Formats a time as a partition path, by the table's `hoodie.keygen.timebased.*` properties.
 *
 * The formats are Joda's, as tables store them; the letters of years, months, days, hours, minutes, seconds, fractions,
 * weekday names, AM/PM and offsets are supported.
 *
 * @param kind what the column holds: EPOCHMILLISECONDS, EPOCHMICROSECONDS, UNIX_TIMESTAMP, SCALAR, DATE_STRING or MIXED
 * @param unit of a SCALAR column
 */
final class PartitionTime(
    field: String,
    kind: String,
    unit: String,
    inputFormats: Seq[String],
    inputZone: String,
    outputFormat: String,
    outputZone: String
) extends Serializable {

  @transient private lazy val output =
    DateTimeFormatter.ofPattern(PartitionTime.printing(outputFormat), Locale.US).withZone(ZoneId.of(outputZone))
  @transient private lazy val inputs = inputFormats.map(PartitionTime.parser)
  @transient private lazy val zone   = ZoneId.of(inputZone)

  private val perMilli: TimeUnit = kind match {
    case "EPOCHMILLISECONDS" => TimeUnit.MILLISECONDS
    case "EPOCHMICROSECONDS" => TimeUnit.MICROSECONDS
    case "UNIX_TIMESTAMP"    => TimeUnit.SECONDS
    case _                   => TimeUnit.valueOf(unit)
  }

  /** True if the column holds strings. */
  def isText: Boolean = kind == "DATE_STRING" || kind == "MIXED"

  /** The path of a number in the column's unit. */
  def ofNumber(value: Long): UTF8String = ofMillis(TimeUnit.MILLISECONDS.convert(value, perMilli))

  /** The path of microseconds since 1970. */
  def ofMicros(value: Long): UTF8String = ofMillis(Math.floorDiv(value, 1000L))

  /** The path of days since 1970. */
  def ofDays(value: Int): UTF8String = ofMillis(value * 86400000L)

  /**
   * The path of a string, parsed by the first input format that fits. Where the kind is one of numbers, it is a number:
   * Hudi's SQL statements make strings of the column, and keep its values.
   */
  def ofText(value: UTF8String): UTF8String = {
    val text = value.toString
    if (isText) ofMillis(parse(text)) else number(text).fold(ofMillis(parse(text)))(ofNumber)
  }

  private def number(text: String): Option[Long] =
    try Some(new java.math.BigDecimal(text.trim).longValue)
    catch { case _: NumberFormatException => None }

  /**
   * The range of times with this path, in milliseconds since 1970, without its end; of a path with fewer levels than
   * the format has, the range of all paths below it. None if the format maps separate ranges to one path, or the path
   * does not have this format.
   */
  private[spark] def rangeOf(path: String): Option[(Long, Long)] = {
    val format = outputFormat.split('/').take(path.count(_ == '/') + 1).mkString("/")
    PartitionTime.unitOf(format).flatMap(rangeOf(path, format, _))
  }

  private def rangeOf(path: String, format: String, unit: ChronoUnit): Option[(Long, Long)] =
    try {
      val start = PartitionTime.localTime(PartitionTime.parser(format).parse(path)).atZone(ZoneId.of(outputZone))
      // An hour that occurs twice in a zone has one path.
      val end = start.withLaterOffsetAtOverlap.plus(1, unit)
      Some((start.withEarlierOffsetAtOverlap.toInstant.toEpochMilli, end.toInstant.toEpochMilli))
    } catch { case _: DateTimeException => None }

  /** Milliseconds since 1970 that the path of a Catalyst value has; None unless it is a time, date or integer. */
  private[spark] def millisOf(value: Any, dataType: DataType): Option[Long] = (dataType, value) match {
    case (TimestampType | TimestampNTZType, micros: Long) => Some(Math.floorDiv(micros, 1000L))
    case (DateType, days: Int)                            => Some(days * 86400000L)
    case (ByteType | ShortType | IntegerType | LongType, number: Number) =>
      Some(TimeUnit.MILLISECONDS.convert(number.longValue, perMilli))
    case _ => None
  }

  /** Number of levels of a path that is not encoded. */
  private[spark] def levels: Int = outputFormat.count(_ == '/') + 1

  def ofMillis(value: Long): UTF8String = UTF8String.fromString(output.format(Instant.ofEpochMilli(value)))

  private def parse(text: String): Long = {
    val parsed = inputs.iterator.map { format =>
      try Some(format.parse(text))
      catch { case _: DateTimeParseException => None }
    }.collectFirst { case Some(found) => found }
    def formats = inputFormats.mkString("in none of the formats '", "', '", "'")
    parsed.map(millis).getOrElse(throw MerganserException("PARTITION_TIME_UNREADABLE", "field" -> field,
        "value" -> text, "problem" -> (if (isText || inputs.nonEmpty) formats else s"no number, as $kind has it"),
        "key" -> (if (isText) Options.InputDateFormat.key else Options.TimestampType.key)))
  }

  private def millis(parsed: TemporalAccessor): Long = {
    val offset = Option(parsed.query(TemporalQueries.zone)).getOrElse(zone)
    PartitionTime.localTime(parsed).atZone(offset).toInstant.toEpochMilli
  }
}

object PartitionTime {

  /** From the table's properties. */
  def apply(field: String, config: TableConfig): PartitionTime = {
    def property(entry: OptionEntry): Option[String] =
      entry.names.flatMap(config.properties.get).map(_.trim).find(_.nonEmpty).orElse(entry.default)
    def required(entry: OptionEntry): String = property(entry).getOrElse(
      throw MerganserException("TIMESTAMP_FORMAT_MISSING", "table" -> config.name, "field" -> field,
        "key" -> entry.key))
    def zone(entry: OptionEntry): Option[String] = property(entry).map(zoneId(entry, _))
    val general                                  = zone(Options.GeneralZone).getOrElse("UTC")
    val kind                                     = required(Options.TimestampType).toUpperCase(Locale.ROOT)
    new PartitionTime(
      field,
      kind,
      required(Options.TimestampUnit).toUpperCase(Locale.ROOT),
      property(Options.InputDateFormat).toSeq.flatMap(_.split(required(Options.InputDateFormatDelimiter)).toSeq)
        .map(_.trim).filter(_.nonEmpty),
      zone(Options.InputZone).getOrElse(general),
      required(Options.OutputDateFormat),
      zone(Options.OutputZone).getOrElse(general)
    )
  }

  /** As java.time spells a zone; java.util's `GMT+8:00` is a name too, as in Hudi. */
  private def zoneId(entry: OptionEntry, name: String): String =
    try ZoneId.of(name).getId
    catch {
      case e: DateTimeException =>
        val zone = TimeZone.getTimeZone(name)
        // What it does not know is GMT to it.
        if (zone.getID == "GMT")
          throw MerganserException("OPTION_VALUE_INVALID", "key" -> entry.key, "value" -> name,
            "expected" -> "a time zone such as UTC, Europe/Berlin or GMT+8:00").causedBy(e)
        zone.toZoneId.getId
    }

  private def localTime(parsed: TemporalAccessor): LocalDateTime = {
    val date = parsed.query(TemporalQueries.localDate)
    val time = Option(parsed.query(TemporalQueries.localTime)).getOrElse(LocalTime.MIDNIGHT)
    LocalDateTime.of(Option(date).getOrElse(LocalDate.ofEpochDay(0)), time)
  }

  /** Pattern letters of the fields from the year down to one of them, with the unit of that one. */
  private val units = Seq[(String, ChronoUnit)]("y" -> ChronoUnit.YEARS, "yM" -> ChronoUnit.MONTHS,
    "yMd" -> ChronoUnit.DAYS,
    "yD" -> ChronoUnit.DAYS, "yMdH" -> ChronoUnit.HOURS, "yDH" -> ChronoUnit.HOURS, "yMdHm" -> ChronoUnit.MINUTES,
    "yMdHms" -> ChronoUnit.SECONDS)

  /** Length of one path's range of times; None unless the format has every field from the year down to some field. */
  private def unitOf(joda: String): Option[ChronoUnit] = {
    val letters = joda.replaceAll("'[^']*'", "").filter(_.isLetter)
    val years   = letters.count(letter => letter == 'y' || letter == 'Y')
    val fields  = letters.map(letter => if (letter == 'Y') 'y' else letter).toSet
    // A year of two digits lacks the century.
    if (years < 4) None else units.collectFirst { case (names, unit) if names.toSet == fields => unit }
  }

  private val same = "MdDHhkKmsSaEG"

  /** java.time's pattern for printing what Joda's pattern prints. */
  private[write] def printing(joda: String): String = translate(joda) {
    case ('y' | 'Y', n)                       => "u" * math.min(n, 18)
    case ('Z', 1)                             => "xx"
    case ('Z', 2)                             => "xxx"
    case ('Z', _)                             => "VV"
    case (c, n) if same.indexOf(c.toInt) >= 0 => c.toString * n
  }

  private def parser(joda: String): DateTimeFormatter = {
    val pattern = translate(joda) {
      case ('y' | 'Y', n)                       => "u" * math.min(n, 18)
      case ('Z', n) if n < 3                    => "[XXX][XX]"
      case ('Z', _)                             => "VV"
      case (c, n) if same.indexOf(c.toInt) >= 0 => c.toString * n
    }
    val builder = new DateTimeFormatterBuilder().parseCaseInsensitive().appendPattern(pattern)
    if (joda.indexOf('D'.toInt) < 0)
      builder.parseDefaulting(ChronoField.MONTH_OF_YEAR, 1).parseDefaulting(ChronoField.DAY_OF_MONTH, 1)
    builder.toFormatter(Locale.US).withResolverStyle(ResolverStyle.STRICT)
  }

  /** Maps runs of letters outside quotes by `letters`; copies all else. */
  private def translate(joda: String)(letters: PartialFunction[(Char, Int), String]): String = {
    val out    = new StringBuilder
    var i      = 0
    var quoted = false
    while (i < joda.length) {
      val c = joda.charAt(i)
      if (c == '\'') quoted = !quoted
      if (quoted || !c.isLetter) {
        if (!quoted && "[]{}#".indexOf(c.toInt) >= 0) out.append('\'').append(c).append('\'') else out.append(c)
        i += 1
      } else {
        val run = joda.drop(i).takeWhile(_ == c).length
        out.append(letters.applyOrElse((c, run),
            (_: (Char, Int)) =>
              throw MerganserException("DATE_FORMAT_UNSUPPORTED", "format" -> joda, "letter" -> c)))
        i += run
      }
    }
    out.toString
  }
}
