package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileGroupId
import io.merganser.table.timeline.{CommitMetadata, Instant, Timeline}

import scala.collection.mutable

/**
 * Where the rows are that were last changed in a window: those of some file groups of a snapshot, by their commit time.
 *
 * @param view   the timeline of the snapshot: the table as of the end of the window
 * @param groups None: all
 * @param times  None: all rows of the groups were changed in the window
 */
final case class ChangedRows(view: Timeline, groups: Option[Set[FileGroupId]], times: Option[CommitTimes])

object ChangedRows {

  /**
   * Reads the metadata of the window's commits, unless it has all commits of the table.
   *
   * Rows stay in the file group of their write until a clustering, or a split or merge of buckets, moves them.
   *
   * @throws MerganserException CHANGES_CLEANED, CHANGES_TAKEN_BACK, CHANGES_RESTAMPED
   */
  def of(window: CommitWindow): ChangedRows =
    if (window.isEmpty) ChangedRows(window.view, Some(Set.empty), None)
    else if (window.isFromFirst) ChangedRows(window.view, None, window.timesOf(Set.empty))
    else {
      val view    = window.view // fails before the commits are read
      val commits = mutable.HashSet.empty[String]
      val groups  = mutable.HashSet.empty[FileGroupId]
      val moves   = mutable.ArrayBuffer.empty[(Instant, Move)]
      def moved(instant: Instant, metadata: CommitMetadata): Unit =
        if (metadata.replacedFileIds.nonEmpty) moves += instant -> Move(metadata.replaced, metadata)
      window.metadata.foreach { case (instant, metadata) =>
        if (metadata.operationType.isService) moved(instant, metadata)
        else {
          commits += instant.requested
          groups ++= written(metadata)
        }
      }
      window.laterServices.foreach { case (instant, metadata) => moved(instant, metadata) }
      moves.sortBy(_._1.requested).foreach { case (service, move) =>
        if (move.from.exists(groups)) {
          if (!window.keepsCommitTimes(service, move.metadata)) throw MerganserException("CHANGES_RESTAMPED",
            "table" -> window.tableName, "instant" -> service.requested,
            "completed" -> service.completed.getOrElse(service.requested))
          groups ++= written(move.metadata)
        }
      }
      ChangedRows(view, Some(groups.toSet), window.timesOf(commits.toSet))
    }

  private final case class Move(from: Set[FileGroupId], metadata: CommitMetadata)

  private def written(metadata: CommitMetadata): Set[FileGroupId] =
    metadata.stats.iterator.flatMap { case (partition, files) =>
      files.iterator.map(f => FileGroupId(partition, f.fileId))
    }.toSet
}
