package io.merganser.conformance

import io.merganser.merge.{BufferedRecord, RecordContext, RecordMerger}

import scala.collection.JavaConverters._

/** The row with the larger ordering value wins, on a tie the newer one; its nulls are filled from the other row. */
class CoalesceFields extends RecordMerger {

  override def getMergingStrategy: String = "32d52b80-9055-481c-be0e-e308b5eb1f34"

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: java.util.Map[String, String]
  ): BufferedRecord =
    if (older.isDelete || newer.isDelete) newer
    else {
      val (leader, other) = if (context.compareOrdering(older, newer) > 0) (older, newer) else (newer, older)
      val filled = context.getSchema(leader).fieldNames
        .filter(column => context.getValue(leader, column) == null && context.getValue(other, column) != null)
        .map(column => column -> context.getValue(other, column))
      if (filled.isEmpty) leader else context.mergeWithEngineRecord(leader, filled.toMap.asJava)
    }
}
