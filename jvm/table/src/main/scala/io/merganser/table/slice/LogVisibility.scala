package io.merganser.table.slice

import io.merganser.table.timeline.{CompletedInstants, Timeline}

/**
 * Which log records count for a reader, as its timeline has it; travels to tasks.
 *
 * @param completed  tells whether the write of an instant is completed
 * @param maxInstant newest instant of the view
 */
final case class LogVisibility(completed: CompletedInstants, maxInstant: String)

object LogVisibility {

  def apply(timeline: Timeline): LogVisibility =
    LogVisibility(timeline.completedInstants,
      timeline.instants.map(_.requested).foldLeft("")((a, b) => if (a < b) b else a))
}
