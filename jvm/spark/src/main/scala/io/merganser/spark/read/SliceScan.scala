package io.merganser.spark.read

import io.merganser.spark.OpenTable
import io.merganser.table.config.StoredRule
import io.merganser.table.slice.{FileSlice, LogVisibility, SliceBatches, SliceReader}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.util.{OptionalLong => Count}

/** Slices that one task reads, one after the other. */
final case class SlicePartition(slices: Array[FileSlice]) extends InputPartition

/**
 * A scan of file slices that merges inside the task.
 *
 * @param slices         what is read, partitions pruned
 * @param readOptimized  true to read base files alone
 * @param prunedGroups   file groups that need not be read
 */
final class SliceScan(
    session: SparkSession,
    table: OpenTable,
    rule: StoredRule,
    slices: Seq[FileSlice],
    asked: StructType,
    filters: Seq[Filter],
    keyFilters: Seq[Filter],
    readOptimized: Boolean,
    prunedGroups: Int
) extends Scan with Batch with SupportsReportStatistics {

  private val isMerged = !readOptimized && slices.exists(_.logs.nonEmpty)

  override def readSchema(): StructType = asked

  override def toBatch: Batch = this

  override def description(): String = {
    val logs = slices.map(_.logs.size).sum
    s"merganser ${table.config.name} [slices: ${slices.size}, log files: ${if (readOptimized) 0 else logs}, merged in task: $isMerged, " +
      s"filters: ${filters.mkString(", ")}]"
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = Array(new FileGroupsRead, new FileGroupsPruned)

  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    Array(Told(FileGroupsRead.Name, slices.size.toLong), Told(FileGroupsPruned.Name, prunedGroups.toLong))

  override def planInputPartitions(): Array[InputPartition] = {
    val conf     = session.sessionState.conf
    val openCost = conf.filesOpenCostInBytes
    val total    = slices.map(_.sizeBytes + openCost).sum
    val target   = math.min(conf.filesMaxPartitionBytes, math.max(openCost, total / math.max(1, session.sparkContext.defaultParallelism)))
    val packed   = Array.newBuilder[InputPartition]
    var bin      = List.empty[FileSlice]
    var binBytes = 0L
    def close(): Unit = if (bin.nonEmpty) { packed += SlicePartition(bin.reverse.toArray); bin = Nil; binBytes = 0 }
    slices.sortBy(-_.sizeBytes).foreach { slice =>
      if (binBytes + slice.sizeBytes > target) close()
      bin = slice :: bin
      binBytes += slice.sizeBytes + openCost
    }
    close()
    packed.result()
  }

  override def createReaderFactory(): PartitionReaderFactory =
    SliceReaderFactory(
      new SliceReader(table.storage, table.config, rule, table.schema, asked, LogVisibility(table.timeline), filters, keyFilters),
      isMerged
    )

  override def estimateStatistics(): Statistics = {
    val width = math.max(1, table.schema.length + 5)
    val bytes = slices.map(_.sizeBytes).sum
    new Statistics {
      override def sizeInBytes(): Count = Count.of(math.max(1L, bytes * math.max(1, asked.length) / width))
      override def numRows(): Count     = Count.empty()
    }
  }
}

/** Column batches throughout: a scan is all columnar or all rows. */
final case class SliceReaderFactory(reader: SliceReader, isMerged: Boolean) extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new IllegalStateException("a scan of file slices is read in batches")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new ChainedReader(partition.asInstanceOf[SlicePartition].slices, if (isMerged) reader.batches else reader.baseBatches)
}

/** Reads slices one after the other; each owns open files until it is read. */
private final class ChainedReader(slices: Array[FileSlice], open: FileSlice => SliceBatches) extends PartitionReader[ColumnarBatch] {
  private[this] var at                    = 0
  private[this] var current: SliceBatches = _

  override def next(): Boolean = {
    while ((current == null || !current.hasNext) && at < slices.length) {
      close()
      current = open(slices(at))
      at += 1
    }
    current != null && current.hasNext
  }

  override def get(): ColumnarBatch = current.next()

  override def close(): Unit = if (current != null) {
    current.close()
    current = null
  }
}

private final case class Told(name: String, value: Long) extends CustomTaskMetric

/** Metric of a scan. */
final class FileGroupsRead extends CustomSumMetric {
  override def name(): String        = FileGroupsRead.Name
  override def description(): String = "file groups read"
}

object FileGroupsRead { val Name = "fileGroupsRead" }

/** Metric of a scan: file groups that partition values, key ranges or column statistics ruled out. */
final class FileGroupsPruned extends CustomSumMetric {
  override def name(): String        = FileGroupsPruned.Name
  override def description(): String = "file groups pruned"
}

object FileGroupsPruned { val Name = "fileGroupsPruned" }
