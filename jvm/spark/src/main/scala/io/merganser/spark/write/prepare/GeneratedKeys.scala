package io.merganser.spark.write.prepare

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, Murmur3Hash, XxHash64}
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.merganser.{NumberedRows, RowShuffle, SparkBridge}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Record keys of a table without key columns: `<instant>_<partition of the frame>_<row in it>`.
 *
 * A task that runs again, or twice at a time, gives each row the same key: where the order of its rows may differ, they
 * are sorted by hashes of their values first. Rows that are equal in both hashes may change places, as equal rows do.
 */
private[write] object GeneratedKeys {

  /** The frame with [[WriteRow.GeneratedKey]]; its plan is evaluated as far as Spark needs to plan it. */
  def added(session: SparkSession, frame: DataFrame, instant: String): DataFrame = {
    val source   = frame.queryExecution.toRdd
    val output   = RowShuffle.columns(frame.schema)
    val isSorted = NumberedRows.mayChangeOrder(source)
    val rows =
      if (!isSorted) source
      else RowShuffle.sorted(session, source, output, Seq(new XxHash64(output), new Murmur3Hash(output)))
    val stored = frame.schema.fieldNames.indexOf(WriteRow.StoredKey.name)
    val keyed = NumberedRows.map(rows, isSorted) { (partition, it) =>
      val prefix = s"${instant}_${partition}_"
      val extra  = new GenericInternalRow(1)
      val joined = new JoinedRow
      var number = 0L
      it.map { row =>
        extra.update(0,
          if (stored >= 0 && !row.isNullAt(stored)) null
          else {
            number += 1
            UTF8String.fromString(prefix + (number - 1))
          })
        joined(row, extra): InternalRow
      }
    }
    val size    = Statistics(sizeInBytes = frame.queryExecution.optimizedPlan.stats.sizeInBytes)
    val columns = RowShuffle.columns(frame.schema.add(WriteRow.GeneratedKey))
    SparkBridge.ofRows(session, SparkBridge.rows(session, columns, keyed, size))
  }
}
