package io.merganser.table.base

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.mapred.FileSplit
import org.apache.hadoop.mapreduce.TaskAttemptContext
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader

/** Starts Spark's reader of a file whose footer was read before, so that it is not read again. */
private[base] object ReaderStart {

  /**
   * @param footer    of the file, with the row groups to read
   * @param sizeBytes the file's size
   */
  def apply(
      reader: VectorizedParquetRecordReader,
      split: FileSplit,
      context: TaskAttemptContext,
      footer: ParquetMetadata,
      sizeBytes: Long
  ): Unit = {
    val status = new FileStatus(sizeBytes, false, 1, sizeBytes, 0L, split.getPath)
    val file   = HadoopInputFile.fromStatus(status, context.getConfiguration)
    val input  = file.newStream()
    try reader.initialize(split, context, Some(file), Some(input), Some(footer))
    catch { case e: Throwable => input.close(); throw e }
  }
}
