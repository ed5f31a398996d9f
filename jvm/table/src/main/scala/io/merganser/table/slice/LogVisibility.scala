package io.merganser.table.slice

import io.merganser.table.schema.{FileColumns, SchemaHistory}
import io.merganser.table.timeline.{CompletedInstants, Timeline}

/**
 * Which log records are visible to a reader of a timeline, and how files store its columns. Sent to tasks.
 *
 * @param completed  whether the write of an instant is completed
 * @param maxInstant no later instant is visible
 * @param history    the versions of the columns, if the table has any
 */
final case class LogVisibility(
    completed: CompletedInstants,
    maxInstant: String,
    history: Option[SchemaHistory] = None
) {

  /** How the columns are stored in the files and log blocks of an instant. */
  def columns(instant: String): Option[FileColumns] = history.map(_.columns(instant))
}

object LogVisibility {

  def apply(timeline: Timeline): LogVisibility =
    LogVisibility(timeline.completedInstants, timeline.newest, timeline.history)
}
