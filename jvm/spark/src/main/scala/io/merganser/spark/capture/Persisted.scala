package io.merganser.spark.capture

import io.merganser.spark.write.place.PersistedRows
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.merganser.SparkBridge

/** Frames that are computed once and kept for as long as a batch is applied. */
private final class Persisted(session: SparkSession) {
  private var kept = List.empty[PersistedRows]

  def apply(frame: DataFrame): DataFrame = {
    val rows = new PersistedRows(frame.queryExecution.toRdd, frame.schema)
    kept = rows :: kept
    SparkBridge.internalCreateDataFrame(session, rows.rows, frame.schema)
  }

  def release(): Unit = kept.foreach(_.close())
}
