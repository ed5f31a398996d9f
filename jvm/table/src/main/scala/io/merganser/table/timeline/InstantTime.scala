package io.merganser.table.timeline

import java.time.{Clock, LocalDateTime, ZoneId}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder}
import java.time.temporal.ChronoField
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

/** Instant times: `yyyyMMddHHmmssSSS` in the table's timeline zone. */
object InstantTime {

  private val Format: DateTimeFormatter = new DateTimeFormatterBuilder()
    .appendPattern("yyyyMMddHHmmss")
    .appendValue(ChronoField.MILLI_OF_SECOND, 3)
    .toFormatter(java.util.Locale.ROOT)

  /** The last time returned in this process, by table: the instant of a rolled-back write must not be reused. */
  private val last = new ConcurrentHashMap[String, String]()

  def format(epochMs: Long, zone: ZoneId): String =
    format(LocalDateTime.ofInstant(java.time.Instant.ofEpochMilli(epochMs), zone))

  /** @param time in the table's timeline zone */
  def format(time: LocalDateTime): String = time.format(Format)

  /** A legacy instant in seconds is the last millisecond of its second. None for special ones like 00000000000001. */
  def parse(instant: String): Option[LocalDateTime] = {
    val millis = if (instant.length == 14) instant + "999" else instant.take(17)
    if (millis.length == 17) Try(LocalDateTime.parse(millis, Format)).toOption else None
  }

  /** The second of an instant, which is smaller than all instants of that second in milliseconds. */
  private[table] def secondOf(instant: String): String = instant.take(14)

  /** The millisecond after an instant; the instant itself if it is not in milliseconds. */
  private[table] def following(instant: String): String =
    parse(instant).map(_.plusNanos(1000000L).format(Format)).filter(_ => instant.length == 17).getOrElse(instant)

  /** The millisecond, or for an instant in seconds the second before it; a time before all if it is a special one. */
  private[table] def preceding(instant: String): String = parse(instant) match {
    case Some(time) if instant.length == 14 => time.minusSeconds(1L).format(Format).take(14)
    case Some(time)                         => time.minusNanos(1000000L).format(Format)
    case None                               => "0"
  }

  /**
   * A time after all `taken` ones and all that this process returned for the table: now, or a millisecond after the
   * latest if clocks disagree or an hour repeats. Call under the table lock, with every time on the timeline.
   */
  private[table] def next(
      table: String,
      zone: ZoneId,
      taken: Iterable[String],
      clock: Clock = Clock.systemUTC
  ): String =
    last.compute(table,
      (_, previous) => {
        val now    = format(clock.millis, zone)
        val latest = (taken ++ Option(previous)).foldLeft("")((a, b) => if (a >= b) a else b)
        if (now > latest) now
        else
          parse(latest).map(_.plusNanos(1000000L).format(Format)).filter(_ > latest)
            .getOrElse(throw new IllegalStateException(s"no instant follows '$latest' on the timeline of $table"))
      })
}
