package io.merganser.spark.read

import io.merganser.merge.OrderingField
import io.merganser.spark.prune.{PartitionPruning, SourceRanges}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.ChangedRows
import io.merganser.table.file.FileGroupId
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.ReadConfig
import io.merganser.table.slice.{FileSlice, FoundPartitions}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownFilters, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/**
 * Plans a read: columns and filters that cannot change the result are pushed down to the files.
 *
 * Every filter is applied again above the scan. Below a merge only those on the record key's columns may prune, since
 * they hold for all versions of a key or for none; in a slice without logs, all may.
 *
 * @param scanCounts receives the counts of the scan
 * @param ranges  only rows with values in these matter
 * @param stream  a stream of some columns by the folder of its checkpoint; filters may prune its rows
 * @param changed only these rows are read, of the snapshot that `table` is; None: all
 */
final class SliceScanBuilder(
    session: SparkSession,
    table: OpenTable,
    read: ReadConfig,
    scanCounts: Option[ScanCounts] = None,
    ranges: Option[SourceRanges] = None,
    changed: Option[ChangedRows] = None,
    stream: Option[(StructType, Array[Filter]) => String => MicroBatchStream] = None
) extends ScanBuilder with SupportsPushDownRequiredColumns with SupportsPushDownFilters {

  private var requested: StructType  = table.schema
  private var filters: Array[Filter] = Array.empty

  /**
   * A struct with an ordering field is read as a whole, whatever fields of it are requested: rows are merged by it. So
   * is one with a key field, where keys are not stored, and one that the rule makes, reads or compares.
   */
  override def pruneColumns(requiredSchema: StructType): Unit = requested = StructType(requiredSchema.map { field =>
    if (wholeStructs.contains(field.name)) table.schema(field.name) else field
  })

  private lazy val wholeStructs: Set[String] =
    (table.config.orderingFields ++ (if (table.config.storesKeys) Nil else table.config.recordKeyFields)).flatMap(
      OrderingField.find(table.schema, _)).filter(_.isNested).map(_.column.name).toSet ++
      table.config.rule.toSeq.flatMap(_.wholeColumns(table.schema))

  override def pushFilters(pushed: Array[Filter]): Array[Filter] = {
    filters = pushed
    pushed
  }

  override def pushedFilters(): Array[Filter] = filters

  override def build(): Scan =
    new SliceScan(session, table, () => planned, requested, filters.toSeq, read.readOptimized,
      changed.flatMap(_.times), stream.map(_(requested, filters)))

  private def planned: ScanPlan = {
    val (all, skipped) = changed.flatMap(_.groups).fold(everySlice)(slicesOf)
    val slices         = ranges.fold(all)(_.prune(session, table, all))
    scanCounts.foreach(_.scanned(slices.size, all.size))
    ScanPlan(slices, rule(slices), all.size - slices.size, skipped)
  }

  /** With the number of folders that were not listed. */
  private def everySlice: (Seq[FileSlice], Int) = {
    val found = partitions
    (if (read.readOptimized) table.view.readOptimizedSlicesOf(found.paths) else table.view.slicesOf(found.paths),
      found.skipped)
  }

  private def slicesOf(groups: Set[FileGroupId]): (Seq[FileSlice], Int) = {
    val pruning    = PartitionPruning(table.config, table.schema)
    val partitions = groups.map(_.partitionPath)
    val kept       = partitions.filter(pruning.mayHold(_, filters.toSeq))
    (table.view.slicesOf(groups.filter(g => kept(g.partitionPath))), partitions.size - kept.size)
  }

  private def partitions: FoundPartitions = {
    val pruning = PartitionPruning(table.config, table.schema)
    pruning.partitions(table.view, filters.toSeq, folder => ranges.forall(_.mayContain(pruning, folder)))
  }

  /** A user's merger class is needed only if rows are merged. */
  private def rule(slices: Seq[FileSlice]): StoredRule =
    if (read.readOptimized || slices.forall(_.logs.isEmpty)) StoredRule.Unmerged
    else StoredRule.of(table.config, read.mergerClassesFor(table.config))
}
