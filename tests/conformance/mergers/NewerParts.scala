package io.merganser.conformance

import io.merganser.merge.{BufferedRecord, RecordContext, RecordMerger}
import org.apache.spark.sql.types.StructType

import java.util.{HashMap => JavaHashMap, Map => JavaMap}

/** The version with the larger ordering value, on a tie the newer one; partial rows overlay the older row. */
class NewerParts extends RecordMerger {
  override def getMergingStrategy: String = "5a6ad8d4-1f4e-4d0b-9d5c-0d9f1f0b6f11"

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (older.isDelete || newer.isDelete) newer
    else if (context.compareOrdering(newer, older) < 0) older
    else newer

  override def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord = if (older.isDelete || newer.isDelete) newer
  else {
    val (below, above) = if (context.compareOrdering(newer, older) < 0) (newer, older) else (older, newer)
    val values         = new JavaHashMap[String, AnyRef]
    context.getSchema(above).fieldNames.foreach(name => values.put(name, context.getValue(above, name)))
    context.mergeWithEngineRecord(below, values)
  }
}
