package io.merganser.spark.read

import io.merganser.merge.buffer.MergeTally
import io.merganser.spark.prune.{NamedKeys, PartitionPruning}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.change.CommitTimes
import io.merganser.table.options.Names
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice._
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.sources.{Filter, GreaterThanOrEqual}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.util.{OptionalLong => Count}
import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/** Parts that one task reads, one after the other. */
final case class SlicePartition(parts: Array[SlicePart]) extends InputPartition

/**
 * What a scan reads.
 *
 * @param slices         the slices to read, after partition pruning
 * @param rule           by which they are merged
 * @param prunedGroups   file groups of the listed partitions that need not be read
 * @param skippedFolders folders of partitions that the filters rule out
 */
final case class ScanPlan(slices: Seq[FileSlice], rule: StoredRule, prunedGroups: Int, skippedFolders: Int)

/**
 * A scan of file slices that merges inside the task.
 *
 * @param plan           lists the slices; called when they are first needed, and not for a stream, which lists those of
 *                       each micro-batch
 * @param readOptimized  true to read base files alone
 * @param changed        which rows to return, by their commit time; None: all
 * @param stream         the same rows as a stream, by the folder of its checkpoint
 */
final class SliceScan(
    session: SparkSession,
    table: OpenTable,
    plan: () => ScanPlan,
    requested: StructType,
    filters: Seq[Filter],
    readOptimized: Boolean,
    changed: Option[CommitTimes] = None,
    stream: Option[String => MicroBatchStream] = None
) extends Scan with Batch with SupportsReportStatistics with SupportsRuntimeFiltering {

  private lazy val planned = plan()

  private lazy val keyFilters = {
    val keyFields = table.config.recordKeyFields.toSet
    filters.filter(f => f.references.nonEmpty && f.references.forall(keyFields.contains))
  }

  private def slices: Seq[FileSlice] = planned.slices

  private lazy val isMerged = !readOptimized && slices.exists(_.logs.nonEmpty)
  private val pruning       = PartitionPruning(table.config, table.schema)

  /** The slices that runtime filters leave; None if there are no such filters. */
  private var found = Option.empty[Seq[FileSlice]]

  private def kept: Seq[FileSlice] = found.getOrElse(slices)

  override def readSchema(): StructType = requested

  override def toBatch: Batch = this

  /** The size of what is stored now is not that of later micro-batches. */
  @volatile private var isStream = false

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    isStream = true
    stream.fold(super.toMicroBatchStream(checkpoint))(_(checkpoint))
  }

  override def description(): String = if (isStream) s"merganser ${table.config.name}, as a stream" else described

  private def described: String = {
    val logs = slices.map(_.logs.size).sum
    s"merganser ${table.config.name} [slices: ${slices.size}, log files: ${if (readOptimized) 0 else logs}, " +
      s"merged in task: $isMerged, filters: ${filters.mkString(", ")}]"
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = {
    val ofMerge = if (isMerged && slices.exists(_.logs.nonEmpty)) MergeMetrics.all.toSeq else Nil
    (Seq[CustomMetric](new FileGroupsRead, new FileGroupsPruned, new PartitionFoldersPruned) ++ ofMerge).toArray
  }

  override def reportDriverMetrics(): Array[CustomTaskMetric] = if (isStream) Array.empty else reported

  private def reported: Array[CustomTaskMetric] = {
    val pruned = planned.prunedGroups + slices.size - kept.size
    Array((new FileGroupsRead).of(kept.size.toLong), (new FileGroupsPruned).of(pruned.toLong),
      (new PartitionFoldersPruned).of(planned.skippedFolders.toLong))
  }

  /** Partition columns: a join on them reads only the partitions that can have the values of its other side. */
  override def filterAttributes(): Array[NamedReference] =
    pruning.columns.filter(requested.fieldNames.contains).map(name => Expressions.column(Names.quoted(name))).toArray

  override def filter(filters: Array[Filter]): Unit = found = Some(pruning.prune(slices, filters.toSeq))

  /**
   * Equal scans of one query share an exchange. Spark compares runtime filters itself. Which blocks of a log are read
   * depends on the timeline: in version 6 several commits append to one file.
   */
  private def identity: Seq[Any] =
    Seq(table.storage.basePath, table.config.properties, slices, requested, table.schema, filters, planned.rule,
      readOptimized,
      changed, if (isMerged) table.timeline.completed else Nil)

  override def equals(other: Any): Boolean = other match {
    case scan: SliceScan => (this eq scan) || (!isStream && !scan.isStream && identity == scan.identity)
    case _               => false
  }

  override def hashCode(): Int = (table.storage.basePath, requested).hashCode

  override def planInputPartitions(): Array[InputPartition] = {
    val conf     = session.sessionState.conf
    val openCost = conf.filesOpenCostInBytes
    val largest  = conf.filesMaxPartitionBytes
    val total    = kept.map(_.sizeBytes + openCost).sum
    val target   = math.min(largest, math.max(openCost, total / math.max(1, session.sparkContext.defaultParallelism)))
    val packed   = Array.newBuilder[InputPartition]
    var bin      = List.empty[SlicePart]
    var binBytes = 0L
    def close(): Unit = if (bin.nonEmpty) { packed += SlicePartition(bin.reverse.toArray); bin = Nil; binBytes = 0 }
    kept.flatMap(parts(_, largest)).sortBy(-_.length).foreach { part =>
      if (binBytes + part.length > target) close()
      bin = part :: bin
      binBytes += part.length + openCost
    }
    close()
    packed.result()
  }

  /**
   * A base file that is larger than `largest`, in bytes, is read by several tasks. Each of them reads all logs that are
   * merged with it, which are together at most as many bytes as the base file has.
   */
  private def parts(slice: FileSlice, largest: Long): Seq[SlicePart] = {
    val size  = slice.base.fold(0L)(_.sizeBytes)
    val logs  = if (readOptimized) 0L else slice.logs.map(_.sizeBytes).sum
    val count = math.max(1L, math.min(-Math.floorDiv(-size, largest), if (logs == 0) Long.MaxValue else size / logs))
    val step  = -Math.floorDiv(-size, count)
    if (count == 1) Seq(SlicePart(slice, 0L, slice.sizeBytes))
    else (0L until size by step).map(start => SlicePart(slice, start, math.min(step, size - start)))
  }

  /** How keys are computed, where they are not stored and needed. */
  private def rowKey = if (isMerged || requested.fieldNames.contains(MetaColumns.RecordKey)) table.rowKey else None

  override def createReaderFactory(): PartitionReaderFactory = {
    val columns =
      if (changed.isEmpty || requested.fieldNames.contains(MetaColumns.CommitTime)) requested
      else StructType(requested.fields :+ MetaColumns.schema(MetaColumns.CommitTime))
    // A row is returned as it is after the merge, so that its commit time may prune only what is not merged.
    val pruning = changed.map(times => GreaterThanOrEqual(MetaColumns.CommitTime, times.least))
    SliceReaderFactory(
      new SliceBatchReader(new SliceInput(
          TableSnapshot(table.storage, table.config, planned.rule, table.schema, LogVisibility(table.timeline), rowKey),
          columns,
          filters ++ pruning,
          keyFilters,
          NamedKeys.of(table.config, table.schema, filters)
        )),
      isMerged,
      changed.map(ChangedSelection(columns.fieldIndex(MetaColumns.CommitTime), requested.length, _))
    )
  }

  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): Count =
      if (isStream) Count.empty() else Count.of(math.max(1L, (bytes * share).toLong))
    override def numRows(): Count = Count.empty()
  }

  private lazy val bytes: Long = slices.map(_.sizeBytes).sum

  /**
   * The share of the files' bytes that the columns take, measured in the largest base file: a column's type does not
   * determine its width. Not measured if the whole is small enough to be broadcast anyway.
   */
  private lazy val share: Double = {
    val largest = if (bytes <= session.sessionState.conf.autoBroadcastJoinThreshold) None
    else slices.flatMap(_.base).sortBy(-_.sizeBytes).headOption
    largest.flatMap { base =>
      try {
        val names  = requested.fieldNames.toSet
        val footer = BaseFileFooter.read(table.storage.conf, table.storage.path(base.path), base.sizeBytes)
        val chunks = footer.metadata.getBlocks.asScala.flatMap(_.getColumns.asScala)
        def sum(of: ColumnChunkMetaData => Boolean) = chunks.filter(of).map(_.getTotalSize).sum.toDouble
        val all                                     = sum(_ => true)
        // A column that the file lacks counts like an average one: its values may come from the partition path.
        val stored  = chunks.map(_.getPath.toArray.head).toSet
        val lacking = names.count(!stored(_)).toDouble / (names ++ stored).size
        if (all > 0) Some(math.min(1.0, sum(chunk => names(chunk.getPath.toArray.head)) / all + lacking)) else None
      } catch { case NonFatal(_) => None }
    }.getOrElse(1.0)
  }
}

/**
 * The rows of batches that have some commit times.
 *
 * @param column position of the commit time
 * @param width  number of columns to return, the first ones
 */
final case class ChangedSelection(column: Int, width: Int, times: CommitTimes) {

  /** Whether rows as the slice's base file has them may be returned: none is newer than its file. */
  def mayHold(slice: FileSlice): Boolean = slice.base.exists(times.least <= _.instant)
}

/** Reads column batches only: Spark takes a scan as all columnar or all rows. */
final case class SliceReaderFactory(reader: SliceBatchReader, isMerged: Boolean, selection: Option[ChangedSelection])
    extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new IllegalStateException("a scan of file slices is columnar")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new ChainedReader(partition.asInstanceOf[SlicePartition].parts,
      part => {
        val all =
          if (isMerged && part.slice.logs.nonEmpty) {
            if (selection.forall(_.mayHold(part.slice))) reader.batches(part) else reader.loggedBatches(part)
          } else selection.fold(reader.baseBatches(part))(changed => reader.recentBatches(part, changed.times.least))
        selection.fold(all)(s => SliceBatches.where(all, s.column, s.width)(s.times))
      })
}

/** Reads slices one after the other; each has open files until it is read to its end. */
private final class ChainedReader(parts: Array[SlicePart], open: SlicePart => SliceBatches)
    extends PartitionReader[ColumnarBatch] {
  private[this] var at                    = 0
  private[this] var current: SliceBatches = _
  private[this] var merged                = Vector.empty[MergeTally] // of the slices before

  override def next(): Boolean = {
    while ((current == null || !current.hasNext) && at < parts.length) {
      close()
      current = open(parts(at))
      at += 1
    }
    current != null && current.hasNext
  }

  override def get(): ColumnarBatch = current.next()

  override def currentMetricsValues(): Array[CustomTaskMetric] = {
    val now = if (current == null) null else current.tally
    if (now == null && merged.isEmpty) Array.empty else MergeMetrics.of(merged ++ Option(now))
  }

  override def close(): Unit = if (current != null) {
    if (current.tally != null) merged :+= current.tally
    current.close()
    current = null
  }
}

/** A metric of a scan. Spark instantiates it by the name of its class, so each metric has a class of its own. */
abstract class ScanMetric(override val name: String, override val description: String) extends CustomSumMetric {
  private[spark] def of(value: Long): CustomTaskMetric = MetricValue(name, value)
}

private final case class MetricValue(name: String, value: Long) extends CustomTaskMetric

final class FileGroupsRead extends ScanMetric("fileGroupsRead", "file groups read")

/** File groups that runtime filters, key ranges or column statistics ruled out. */
final class FileGroupsPruned extends ScanMetric("fileGroupsPruned", "file groups pruned")

/** Folders of partitions that filters ruled out; their file groups are not known. */
final class PartitionFoldersPruned extends ScanMetric("partitionFoldersPruned", "partition folders pruned")
