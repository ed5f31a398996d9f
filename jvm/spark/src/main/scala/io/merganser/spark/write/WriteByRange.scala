package io.merganser.spark.write

import io.merganser.spark.write.merge.{GroupTargets, WrittenGroup}
import io.merganser.spark.write.place._
import io.merganser.table.file.FileNames
import io.merganser.table.schema.MetaColumns
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.merganser.RowShuffle
import org.apache.spark.unsafe.types.UTF8String

/** Bulk insert: rows are ordered by partition and key, and each task writes files of its own. */
private[write] final case class WriteByRange(tasks: WriteTasks) {
  import tasks.{session, settings, transaction, writeStep}

  def write(rows: DataFrame): Seq[WrittenGroup] = {
    val columns = RowShuffle.columns(rows.schema)
    val step    = writeStep(GroupTargets.Single, target)
    tasks.writeSorted(ranged(rows, columns), columns, Seq(MetaColumns.PartitionPath), step)
  }

  private def target: (UTF8String, Int) => FileGroupTarget = {
    val instant = transaction.instant
    (path, _) => {
      val partition = path.toString
      FileGroupTarget(partition, FileNames.fileIdOf(instant, partition, TaskContext.getPartitionId()), None,
        isLog = false)
    }
  }

  /** The rows in ranges of partition and key. These come from a sample, which takes a job over the keys of all rows. */
  private def ranged(rows: DataFrame, columns: Seq[Attribute]): RDD[InternalRow] = {
    val by     = Seq(MetaColumns.PartitionPath, MetaColumns.RecordKey)
    val count  = ShuffleTasks.forRows(session, rows, settings.shuffleTasks)
    val values = by.map(RowShuffle.column(columns, _))
    if (count == 1) RowShuffle.ranges(session, rows.queryExecution.toRdd, columns, values, count)
    else SampledRanges.columns(rows, by) match {
      case Some(pairs) =>
        val salt = SampledRanges.sampled(session, pairs, count).of(values.head, values.last)
        RowShuffle(session, rows.queryExecution.toRdd, columns, Seq(salt), count).rows
      case None =>
        val once = tasks.persisted(rows.queryExecution.toRdd, rows.schema)
        RowShuffle.ranges(session, once.rows, columns, values, count)
    }
  }
}
