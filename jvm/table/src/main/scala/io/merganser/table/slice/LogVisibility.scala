package io.merganser.table.slice

import io.merganser.table.timeline.{CompletedInstants, Timeline}

/**
 * Which log records are visible to a reader of a timeline. Sent to tasks.
 *
 * @param completed  whether the write of an instant is completed
 * @param maxInstant newest instant of the view
 */
final case class LogVisibility(completed: CompletedInstants, maxInstant: String)

object LogVisibility {

  def apply(timeline: Timeline): LogVisibility =
    LogVisibility(timeline.completedInstants,
      timeline.instants.map(_.requested).foldLeft("")((a, b) => if (a < b) b else a))
}
