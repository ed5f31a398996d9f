package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{CommittedFile, Instant, InstantFile, Timeline}

/** Commits whose completed file is gone: later ones have written onto their files. */
private[table] object LostCommits {

  /**
   * Fails if a pending write had completed. To roll it back would remove rows.
   *
   * @throws io.merganser.merge.MerganserException COMMIT_LOST, COMMIT_MISPLACED
   */
  def requireFailed(storage: Storage, config: TableConfig, timeline: Timeline, pending: Instant): Unit = {
    val lost = pending.requested
    storage.list(config.otherTimelineFolder).find(file =>
      InstantFile.parse(file.getPath.getName).exists(i => i.requested == lost && i.isCompleted)).foreach(file =>
      throw MerganserException("COMMIT_MISPLACED", "table" -> config.name, "file" -> file.getPath,
        "instant" -> lost, "version" -> config.version, "folder" -> storage.path(config.timelineFolder)))
    val later = timeline.completed.map(_.requested).filter(lost < _)
    for {
      (instant, files) <- Parallel.map(later)(i => (i, timeline.committedFiles(i)))
      file             <- files.toSeq.flatMap(_.values)
      if file.replaced.contains(lost) || file.baseFile.exists(isFirst(storage, file, _, lost))
    } throw error(storage, config, lost, instant, file)
  }

  /** Another engine may have written a log onto the file of a write that had failed, beside an older base file. */
  private def isFirst(storage: Storage, file: CommittedFile, base: String, lost: String): Boolean =
    FileNames.instant(base).contains(lost) && !storage.list(file.partitionPath).exists(other =>
      FileNames.parseBase(file.partitionPath, other.getPath.getName, 0L).exists(older =>
        FileNames.fileId(base).contains(older.fileId) && older.instant < lost))

  /** @param file that a commit wrote onto one of the lost commit */
  def error(
      storage: Storage,
      config: TableConfig,
      lost: String,
      instant: String,
      file: CommittedFile
  ): MerganserException = MerganserException("COMMIT_LOST", "table" -> config.name, "lost" -> lost,
    "instant" -> instant, "file" -> file.path, "folder" -> storage.path(config.timelineFolder))
}
