package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable

/** Bytes of a stored row, from what earlier commits wrote. */
private[write] object StoredRowBytes {

  /** @param unknown what to take where no commit tells */
  def estimate(table: OpenTable, unknown: Long): Double =
    table.timeline.completed.reverseIterator
      .take(5)
      .map(instant =>
        table.timeline.metadata(instant).stats.values.flatten.filter(s => s.logVersion.isEmpty && s.numWrites > 100))
      .collectFirst {
        case stats if stats.nonEmpty => stats.map(_.totalWriteBytes).sum.toDouble / stats.map(_.numWrites).sum
      }
      .getOrElse(unknown.toDouble)
}
