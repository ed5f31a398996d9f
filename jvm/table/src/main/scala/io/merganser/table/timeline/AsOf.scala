package io.merganser.table.timeline

import java.time.{LocalDate, LocalDateTime, OffsetDateTime, ZoneId}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder, ResolverStyle}

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig

import scala.util.Try

/**
 * Parses as-of times of readers, in the forms that Hudi documents, into instants.
 *
 * Instants, dates and dates with time are in the table's timeline zone, whatever the session's zone is. Times with an
 * offset and seconds or milliseconds since 1970 are absolute.
 */
object AsOf {

  /** The accepted forms, for messages. */
  val Accepted: String =
    "an instant (yyyyMMddHHmmssSSS or yyyyMMddHHmmss), a date (yyyy-MM-dd), a date with time (yyyy-MM-dd HH:mm:ss or " +
      "yyyy-MM-dd HH:mm:ss.SSS, also with an offset such as Z or +01:00), or seconds (10 digits) or milliseconds " +
      "(13 digits) since 1970"

  /**
   * @return an instant, comparable with those of the timeline
   * @throws io.merganser.merge.MerganserException AS_OF_INVALID
   */
  def instant(config: TableConfig, text: String): String =
    parse(text, config.timelineZone).getOrElse(throw invalid(config.name, text))

  /**
   * A time of a query, in the table's timeline zone.
   *
   * @param micros since 1970
   * @throws io.merganser.merge.MerganserException AS_OF_INVALID for a year of more than four digits
   */
  def instant(config: TableConfig, micros: Long): String =
    if (micros < YearTenThousand) InstantTime.format(Math.floorDiv(micros, 1000L), config.timelineZone)
    else throw invalid(config.name, s"${micros / 1000000L} seconds since 1970")

  private val YearTenThousand = 253402214400L * 1000000L

  /** @param form where only some of the accepted forms apply */
  def invalid(table: String, value: String, form: String = ""): MerganserException =
    MerganserException("AS_OF_INVALID", "table" -> table, "value" -> value, "accepted" -> (form + Accepted))

  /** None if the string has none of the forms. */
  def parse(text: String, zone: ZoneId): Option[String] = {
    val trimmed = text.trim
    if (trimmed.nonEmpty && trimmed.forall(c => c >= '0' && c <= '9')) trimmed.length match {
      case 14 | 17 => Some(trimmed).filter(i => isSpecial(i) || InstantTime.parse(i).isDefined)
      case 10      => Some(InstantTime.format(trimmed.toLong * 1000L, zone))
      case 13      => Some(InstantTime.format(trimmed.toLong, zone))
      case _       => None
    }
    else if (trimmed.length == 10)
      Try(LocalDate.parse(trimmed, Date)).toOption.map(date => InstantTime.format(date.atStartOfDay))
    else withTime(trimmed.replace(' ', 'T'), zone)
  }

  /** A time without a fraction is the last millisecond of its second, like an instant in seconds. */
  private def withTime(value: String, zone: ZoneId): Option[String] = {
    val local = Try(LocalDateTime.parse(value, DateTime)).toOption
    val found =
      local.orElse(Try(OffsetDateTime.parse(value, Moment)).toOption.map(_.atZoneSameInstant(zone).toLocalDateTime))
    found.map(time => InstantTime.format(if (value.contains('.')) time else time.plusNanos(999000000L)))
  }

  /** Instants of bootstraps, which are not times. */
  private def isSpecial(instant: String): Boolean = instant.length == 14 && instant.startsWith("0000000000000")

  private val Date =
    DateTimeFormatter.ofPattern("uuuu-MM-dd", java.util.Locale.ROOT).withResolverStyle(ResolverStyle.STRICT)

  private def dateTime: DateTimeFormatterBuilder = new DateTimeFormatterBuilder()
    .appendPattern("uuuu-MM-dd'T'HH:mm:ss").optionalStart()
    .appendFraction(java.time.temporal.ChronoField.NANO_OF_SECOND, 1, 9, true).optionalEnd()

  private val DateTime = dateTime.toFormatter(java.util.Locale.ROOT).withResolverStyle(ResolverStyle.STRICT)
  private val Moment =
    dateTime.appendOffset("+HH:mm", "Z").toFormatter(java.util.Locale.ROOT).withResolverStyle(ResolverStyle.STRICT)
}
