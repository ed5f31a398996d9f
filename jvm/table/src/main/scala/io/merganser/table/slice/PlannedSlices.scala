package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{CompactionOperation, CompactionPlan}

/** The slices of a compaction as planned. Log files added later are not part of it. */
object PlannedSlices {

  /**
   * Without files that no commit names, with file sizes from the commits. Lists each partition once, in parallel.
   *
   * @param view of the table when the compaction is run
   * @throws MerganserException SLICE_FILE_MISSING
   */
  def of(storage: Storage, config: TableConfig, view: TableView, plan: CompactionPlan): Seq[FileSlice] = {
    val partitions = plan.operations.map(_.partitionPath).distinct
    val sizes = Parallel.map(partitions)(p => p -> storage.list(p).map(f => f.getPath.getName -> f.getLen).toMap).toMap
    view.committed(plan.operations.map(slice)).map { slice =>
      def sized(name: String): Long = sizes(slice.partitionPath).getOrElse(name,
        throw MerganserException("SLICE_FILE_MISSING", "table" -> config.name,
          "file" -> FileNames.path(slice.partitionPath, name), "by" -> "the plan of a compaction"))
      slice.copy(base = slice.base.map(b => b.copy(sizeBytes = sized(b.name))),
        logs = slice.logs.map(log => log.copy(sizeBytes = sized(log.name))))
    }
  }

  private def slice(operation: CompactionOperation): FileSlice = FileSlice(
    operation.partitionPath,
    operation.fileId,
    operation.baseInstant,
    operation.baseFile.flatMap(name => FileNames.parseBase(operation.partitionPath, name, 0L)),
    operation.logFiles.toVector.flatMap(name => FileNames.parseLog(operation.partitionPath, name, 0L)).sorted
  )
}
