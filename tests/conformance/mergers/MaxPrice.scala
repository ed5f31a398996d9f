package io.merganser.conformance

import io.merganser.merge.{BufferedRecord, RecordContext, RecordMerger}

/** The whole row with the larger price; the newer one on a tie, and when either price is null. */
class MaxPrice extends RecordMerger {

  override def getMergingStrategy: String = "841577c6-50de-4f2d-9c31-526c356219a4"

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: java.util.Map[String, String]
  ): BufferedRecord =
    if (older.isDelete || newer.isDelete) newer
    else (context.getValue(older, "price"), context.getValue(newer, "price")) match {
      case (stored: java.lang.Double, incoming: java.lang.Double) if stored > incoming => older
      case _                                                                           => newer
    }
}
