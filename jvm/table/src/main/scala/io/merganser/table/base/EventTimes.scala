package io.merganser.table.base

import java.time.ZoneOffset

import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The column whose least and greatest value a commit records for each file.
 *
 * @param ordinal index among the table's data columns
 */
final case class EventTimeColumn(ordinal: Int, dataType: DataType) {

  /** Milliseconds since 1970 in UTC; None for a null and for a string that is not a time. */
  def millis(row: InternalRow): Option[Long] =
    if (row.isNullAt(ordinal)) None
    else dataType match {
      case TimestampType | TimestampNTZType => Some(Math.floorDiv(row.getLong(ordinal), 1000L))
      case DateType                         => Some(row.getInt(ordinal) * EventTimeColumn.DayMillis)
      case IntegerType                      => Some(EventTimeColumn.ofNumber(row.getInt(ordinal).toLong))
      case LongType                         => Some(EventTimeColumn.ofNumber(row.getLong(ordinal)))
      case ShortType                        => Some(row.getShort(ordinal).toLong)
      case ByteType                         => Some(row.getByte(ordinal).toLong)
      case _                                => EventTimeColumn.ofString(row.getUTF8String(ordinal))
    }
}

object EventTimeColumn {
  private val DayMillis = 86400000L

  /**
   * @param field name of the column, from the option
   * @throws io.merganser.merge.MerganserException EVENT_TIME_FIELD_UNUSABLE
   */
  def of(schema: StructType, field: String, table: String): EventTimeColumn = {
    val column = FrameCheck.requireEventTime(schema, table, field)
    EventTimeColumn(schema.fieldIndex(column.name), column.dataType)
  }

  /** A number of ten digits is in seconds, as of current times; any other in milliseconds. */
  private def ofNumber(value: Long): Long = if (value >= 1000000000L && value < 10000000000L) value * 1000L else value

  private def ofString(text: UTF8String): Option[Long] = {
    val number = new UTF8String.LongWrapper
    if (text.trimAll.toLong(number)) Some(ofNumber(number.value))
    else DateTimeUtils.stringToTimestamp(text, ZoneOffset.UTC).map(Math.floorDiv(_, 1000L))
  }
}

/** The range of event times in one file. Deletes and versions that do not provide the column are ignored. */
private[table] final class EventTimes(column: Option[EventTimeColumn]) {
  private[this] val tracked = column.orNull
  private[this] var any     = false
  private[this] var min     = Long.MaxValue
  private[this] var max     = Long.MinValue

  def add(row: InternalRow, provided: Array[Boolean]): Unit =
    if (tracked != null && (provided == null || provided(tracked.ordinal))) tracked.millis(row).foreach { time =>
      any = true
      if (time < min) min = time
      if (time > max) max = time
    }

  def least: Option[Long] = if (any) Some(min) else None

  def greatest: Option[Long] = if (any) Some(max) else None
}
