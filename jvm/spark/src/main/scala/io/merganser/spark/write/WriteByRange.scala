package io.merganser.spark.write

import io.merganser.spark.write.merge.WrittenGroup
import io.merganser.spark.write.place._
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.file.FileNames
import io.merganser.table.schema.MetaColumns
import org.apache.spark.TaskContext
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.{Partitions, SparkBridge}
import org.apache.spark.unsafe.types.UTF8String

/** Bulk insert: rows are ordered by partition and key, and each task writes files of its own. */
private[write] final case class WriteByRange(tasks: WriteTasks) {
  import tasks.{session, settings, incoming, transaction, writeStep}

  def write(rows: DataFrame): Seq[WrittenGroup] = {
    val tasks = ShuffleTasks.forRows(session, rows, settings.shuffleTasks)
    // Ranges come from a sample of the rows, which takes a job over all of them.
    if (tasks == 1) byRange(rows, tasks)
    else {
      val once = this.tasks.persisted(rows.queryExecution.toRdd, rows.schema)
      byRange(SparkBridge.internalCreateDataFrame(session, once.rows, rows.schema), tasks)
    }
  }

  private def byRange(rows: DataFrame, tasks: Int): Seq[WrittenGroup] = {
    val instant = transaction.instant
    val sorted = rows
      .repartitionByRange(tasks, col(MetaColumns.PartitionPath), col(MetaColumns.RecordKey))
      .sortWithinPartitions(MetaColumns.PartitionPath, MetaColumns.RecordKey, WriteRow.Arrival.name)
    val group = new GenericInternalRow(Array[Any](0))
    val step = writeStep(incoming.rows.length,
      (path: UTF8String, _: Int) => {
        val partition = path.toString
        FileGroupTarget(partition, FileNames.fileIdOf(instant, partition, TaskContext.getPartitionId()), None,
          isLog = false)
      })
    Partitions.collect(sorted.queryExecution.toRdd) { it =>
      val joined = new JoinedRow
      step.run(it.map(row => joined(row, group)))
    }
  }
}
