package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{CompactionOperation, CompactionPlan}

/** The slices of a compaction as planned. Log files added later are not part of it. */
object PlannedSlices {

  /**
   * Lists each partition once, in parallel.
   *
   * @throws MerganserException SLICE_FILE_MISSING
   */
  def of(storage: Storage, config: TableConfig, plan: CompactionPlan): Seq[FileSlice] = {
    val partitions = plan.operations.map(_.partitionPath).distinct
    val sizes = Parallel.map(partitions)(p => p -> storage.list(p).map(f => f.getPath.getName -> f.getLen).toMap).toMap
    plan.operations.map { operation =>
      def sized(name: String): Long = sizes(operation.partitionPath).getOrElse(name,
        throw MerganserException("SLICE_FILE_MISSING", "table" -> config.name,
          "file" -> FileNames.path(operation.partitionPath, name), "by" -> "the plan of a compaction"))
      slice(operation, sized)
    }
  }

  private def slice(operation: CompactionOperation, sized: String => Long): FileSlice = FileSlice(
    operation.partitionPath,
    operation.fileId,
    operation.baseInstant,
    operation.baseFile.flatMap(name => FileNames.parseBase(operation.partitionPath, name, sized(name))),
    operation.logFiles.toVector.flatMap(name => FileNames.parseLog(operation.partitionPath, name, sized(name))).sorted
  )
}
