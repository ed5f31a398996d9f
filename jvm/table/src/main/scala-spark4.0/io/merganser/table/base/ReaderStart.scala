package io.merganser.table.base

import org.apache.hadoop.mapred.FileSplit
import org.apache.hadoop.mapreduce.TaskAttemptContext
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader

/** Starts Spark's reader of a file whose footer was read before, so that it is not read again. */
private[base] object ReaderStart {

  /** @param footer of the file, with the row groups to read */
  def apply(
      reader: VectorizedParquetRecordReader,
      split: FileSplit,
      context: TaskAttemptContext,
      footer: ParquetMetadata
  ): Unit = reader.initialize(split, context, Some(footer))
}
