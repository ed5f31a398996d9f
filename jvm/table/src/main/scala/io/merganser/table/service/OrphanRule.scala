package io.merganser.table.service

import io.merganser.table.commit.{BucketMetadata, Heartbeat}
import io.merganser.table.file.{FileNames, LogFile, Markers}
import io.merganser.table.log.BlockInstants
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.Timeline

/**
 * Decides which data files are orphans. One is kept if any of these holds:
 *
 *  - its instant is pending, or has a heartbeat or markers: a write may be running, or is to be rolled back;
 *  - a savepoint names it;
 *  - its commit names it, or names no files at all; one that was moved away is a copy if its place has one again;
 *  - its instant is older than the timeline, and the history does not reach back that far;
 *  - it is a log that may have blocks of a commit, in a table where logs are not named after their write. It has none
 *    if each commit of its blocks names the log of another attempt;
 *  - it is a log whose blocks a later log of the slice takes back, as rollbacks of version 6 leave it.
 */
private[service] final class OrphanRule(storage: Storage, config: TableConfig, timeline: Timeline) {

  private val running: Set[String] = timeline.pending.map(_.requested).toSet ++
    Markers.instants(storage) ++
    storage.list(Heartbeat.Folder).map(_.getPath.getName).filterNot(Heartbeat.hasExpired(storage, _, OrphanRule.DayMs))

  private val named = new NamedFiles(storage, config, timeline)

  private lazy val hasRings = BucketMetadata.hasRings(storage)

  /** Why each orphan is one, by its path. */
  def reasons(files: Seq[FoundFile]): Map[String, String] = {
    val candidates = files.filterNot(f => running(f.instant) || isSaved(f))
    val commits    = named(candidates.map(_.instant).toSet)
    Parallel.map(candidates, "look for commits of files")(f => reason(f, commits).map(f.path -> _)).flatten.toMap
  }

  private def isSaved(file: FoundFile): Boolean =
    timeline.savedFiles.get(file.partitionPath).exists(_(file.name))

  private def reason(file: FoundFile, commits: Map[String, Named]): Option[String] =
    commits.getOrElse(file.instant, Named.Unknown) match {
      case Named.Unknown                     => None
      case _ if isLogOfOthers(file, commits) => None
      case Named.NoCommit                    => Some(s"no commit has its instant ${file.instant}")
      case Named.Files(paths) if paths(placeOf(file)) && !(file.isAside && storage.exists(placeOf(file))) => None
      case Named.Files(_) => Some(s"commit ${file.instant} does not name it")
    }

  /** Of a file that was moved away, where it was. */
  private def placeOf(file: FoundFile): String = FileNames.path(file.partitionPath, file.name)

  /**
   * A log that may be of another write than its name has: of version 6, of a table that was created in its layout,
   * and while buckets are split or merged. It is an orphan only if every block is of a write that failed, or that
   * names the log of another attempt in its place.
   */
  private def isLogOfOthers(file: FoundFile, commits: Map[String, Named]): Boolean =
    FileNames.parseLog(file.partitionPath, file.name, file.sizeBytes).exists { log =>
      if (hasRings || timeline.isReplace(file.instant)) true
      else if (config.isCreatedInLayout2) false
      else if (file.isAside || running.nonEmpty) true
      else {
        val blocks = BlockInstants.of(storage, log)
        val known  = named(blocks -- commits.keySet) ++ commits

        val anyAttempt = FileNames.anyAttempt(log.path)
        def isLost(instant: String) = known.get(instant).exists {
          case Named.NoCommit     => true
          case Named.Files(paths) => !paths(log.path) && paths.exists(FileNames.anyAttempt(_) == anyAttempt)
          case Named.Unknown      => false
        }
        // A block of a rollback has the instant of the rollback, which hides blocks of other files.
        blocks.isEmpty || blocks.exists(i => !isLost(i) || isService(i)) ||
        BlockInstants.hasCommands(storage, log) || isTakenBack(log, blocks)
      }
    }

  private def isTakenBack(log: LogFile, blocks: Set[String]): Boolean = {
    val later = storage.list(log.partitionPath).flatMap(f =>
      FileNames.parseLog(log.partitionPath, f.getPath.getName, f.getLen)).filter(other =>
      other.fileId == log.fileId && other.instant == log.instant && other.version > log.version)
    (blocks -- later.flatMap(BlockInstants.takenBack(storage, _))).isEmpty
  }

  private def isService(instant: String): Boolean =
    timeline.instants.exists(i => i.requested == instant && !i.action.isWrite)
}

private object OrphanRule {

  /** Age of a heartbeat that protects nothing any more, whatever its writer's interval. */
  val DayMs = 86400000L
}
