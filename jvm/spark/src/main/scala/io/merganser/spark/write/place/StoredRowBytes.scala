package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable

/** Average bytes of a stored row, by the statistics of earlier commits. */
private[write] object StoredRowBytes {

  /** @param fallback estimate if no commit has statistics */
  def estimate(table: OpenTable, fallback: Long): Double =
    table.timeline.completed.reverseIterator
      .take(5)
      .map(instant =>
        table.timeline.metadata(instant).stats.values.flatten.filter(s => s.logVersion.isEmpty && s.numWrites > 100))
      .collectFirst {
        case stats if stats.nonEmpty => stats.map(_.totalWriteBytes).sum.toDouble / stats.map(_.numWrites).sum
      }
      .getOrElse(fallback.toDouble)
}
