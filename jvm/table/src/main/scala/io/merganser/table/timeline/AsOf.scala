package io.merganser.table.timeline

import java.time.{LocalDate, LocalDateTime, OffsetDateTime, ZoneId}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder, ResolverStyle}

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig

import scala.util.Try

/**
 * What a reader gives as the time to read a table as of, in the forms that Hudi documents, as an instant.
 *
 * Instants, dates and dates with time are in the table's timeline zone, whatever the session's zone is. With an offset
 * they are moments, and so are seconds and milliseconds since 1970.
 */
object AsOf {

  /** What is accepted, for messages. */
  val Accepted: String =
    "an instant (yyyyMMddHHmmssSSS or yyyyMMddHHmmss), a date (yyyy-MM-dd), a date with time (yyyy-MM-dd HH:mm:ss or " +
      "yyyy-MM-dd HH:mm:ss.SSS, also with an offset such as Z or +01:00), or seconds (10 digits) or milliseconds (13 digits) since 1970"

  /**
   * @return an instant to compare with those of the timeline
   * @throws io.merganser.merge.MerganserException AS_OF_INVALID
   */
  def instant(config: TableConfig, text: String): String =
    parse(text, config.timelineZone).getOrElse(throw MerganserException("AS_OF_INVALID", "table" -> config.name,
        "value" -> text,
        "accepted" -> Accepted))

  /** None if the text has none of the forms. */
  def parse(text: String, zone: ZoneId): Option[String] = {
    val given = text.trim
    if (given.nonEmpty && given.forall(c => c >= '0' && c <= '9')) given.length match {
      case 14 | 17 => Some(given).filter(i => isSpecial(i) || InstantTime.parse(i).isDefined)
      case 10      => Some(InstantTime.format(given.toLong * 1000L, zone))
      case 13      => Some(InstantTime.format(given.toLong, zone))
      case _       => None
    }
    else if (given.length == 10)
      Try(LocalDate.parse(given, Date)).toOption.map(date => InstantTime.format(date.atStartOfDay))
    else withTime(given.replace(' ', 'T'), zone)
  }

  /** A time that is cut to seconds is the last millisecond of its second, as instants that are. */
  private def withTime(given: String, zone: ZoneId): Option[String] = {
    val local = Try(LocalDateTime.parse(given, DateTime)).toOption
    val found =
      local.orElse(Try(OffsetDateTime.parse(given, Moment)).toOption.map(_.atZoneSameInstant(zone).toLocalDateTime))
    found.map(time => InstantTime.format(if (given.contains('.')) time else time.plusNanos(999000000L)))
  }

  /** Instants of bootstraps, which are no times. */
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
