package io.merganser.table.slice

import io.merganser.table.config.TableConfig
import io.merganser.table.timeline.{CompletedInstants, Timeline}
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.sql.types.StructType

/**
 * Which log records count for a reader, as its timeline has it; travels to tasks.
 *
 * @param completed  tells whether the write of an instant is completed
 * @param maxInstant newest instant of the view
 * @param ours       instants of our own writes, where that matters for reading a delete's ordering value
 */
final case class LogVisibility(completed: CompletedInstants, maxInstant: String, ours: Set[String])

object LogVisibility {

  /** The commit's extra metadata says under this key who wrote it. */
  val WriterKey = "merganser.writer"

  def apply(config: TableConfig, schema: StructType, timeline: Timeline, slices: Seq[FileSlice]): LogVisibility = {
    val newest = timeline.instants.map(_.requested).foldLeft("")((a, b) => if (a < b) b else a)
    // Only an int of 0 can be mistaken for "no ordering value", so only then the commits are asked who wrote them.
    val ordering    = TableRule.orderingFields(config, schema).map(schema(_).dataType)
    val isAmbiguous = ordering == Seq(IntegerType)
    val ours =
      if (!isAmbiguous) Set.empty[String]
      else slices.flatMap(_.logs.map(_.instant)).distinct.filter(i => timeline.metadata(i).exists(_.extra.contains(WriterKey))).toSet
    LogVisibility(timeline.completedInstants, newest, ours)
  }
}
