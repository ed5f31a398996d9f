package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.commit.{LockedTable, Rollback}
import io.merganser.table.file.{FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Parallel, Progress, Storage}
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.fs.{FileStatus, FileUtil, Path}

import java.io.IOException

/**
 * A data file that no commit names.
 *
 * @param path       relative to the table's
 * @param instant    in its name
 * @param modifiedMs when it was modified, in milliseconds since 1970
 * @param reason     why no reader needs it; a clause
 */
final case class OrphanFile(path: String, instant: String, sizeBytes: Long, modifiedMs: Long, reason: String)

/**
 * Data files that no commit on the timeline or in the history names: of killed writers, of failed rollbacks, copies.
 *
 * A file is an orphan only if that is certain; see [[OrphanRule]]. Files whose names are not those of data files are
 * never touched.
 */
final class OrphanFiles(
    storage: Storage,
    config: TableConfig,
    access: TableAccess = TableAccess()
) {

  /**
   * Changes nothing.
   *
   * @param olderThanMs files modified later are left out, in milliseconds since 1970
   * @throws MerganserException TIMELINE_FILE_UNREADABLE: a commit that may name files
   */
  def find(olderThanMs: Long): Seq[OrphanFile] =
    judge(config, Timeline.load(storage, config), listed(olderThanMs))

  /**
   * Deletes them, under the table's lock, after looking at the timeline again.
   *
   * @param backup folder to which each file is copied first, at its path in the table; None: no copies
   * @return the files deleted
   * @throws MerganserException BACKUP_INSIDE_TABLE, LOCK_TIMEOUT, what [[find]] and [[LockedTable.current]] throw
   */
  def remove(olderThanMs: Long, backup: Option[Path] = None): Seq[OrphanFile] = {
    backup.foreach(requireOutside)
    val files = listed(olderThanMs)
    val seen  = judge(config, Timeline.load(storage, config), files).map(_.path).toSet
    if (seen.isEmpty) Nil
    else LockedTable.current(storage, access) { table =>
      // A log of version 6 may have got blocks of another write since it was listed.
      val same = Parallel.map(files.filter(f => seen(f.path)))(f =>
        storage.status(f.path).filter(_.getLen == f.sizeBytes).map(_ => f)).flatten
      val found = judge(table.config, table.timeline, same)
      Progress.of("remove files", found.size.toLong) { progress =>
        found.grouped(OrphanFiles.AtOnce).foreach { some =>
          table.lock.requireHeld()
          Parallel.map(some) { file =>
            backup.foreach(copy(file, _))
            storage.delete(file.path)
            progress.advance()
          }
        }
      }
      found
    }
  }

  private def judge(config: TableConfig, timeline: Timeline, files: Seq[FoundFile]): Seq[OrphanFile] = {
    val rule = new OrphanRule(storage, config, timeline)
    val why  = rule.reasons(files)
    files.flatMap(f => why.get(f.path).map(OrphanFile(f.path, f.instant, f.sizeBytes, f.modifiedMs, _)))
  }

  /** The data files of the table's folders that are old enough, also of folders that are no partitions. */
  private def listed(olderThanMs: Long): Seq[FoundFile] = {
    val aside = Rollback.OrphansFolder
    (below(Seq(""), PartitionMetadata.mayContainPartitions, "") ++ below(Seq(aside), _ => true, s"$aside/"))
      .filter(_.modifiedMs < olderThanMs).sortBy(_.path)
  }

  /** @param prefix of the folders, which is no part of the partition path */
  private def below(folders: Seq[String], enters: String => Boolean, prefix: String): Seq[FoundFile] =
    if (folders.isEmpty) Nil
    else {
      val entries = Parallel.map(folders, "list folders")(folder => folder -> storage.list(folder))
        .filterNot { case (folder, found) => folder.nonEmpty && found.exists(isTimeline) }
        .flatMap { case (folder, found) => found.map(f => FileNames.path(folder, f.getPath.getName) -> f) }
      val (deeper, files) = entries.partition(_._2.isDirectory)
      files.flatMap { case (path, status) =>
        val name = status.getPath.getName
        for (_ <- FileNames.fileId(name); instant <- FileNames.instant(name))
          yield FoundFile(path, path.dropRight(name.length + 1).drop(prefix.length), name, instant, status.getLen,
            status.getModificationTime, isAside = prefix.nonEmpty)
      } ++ below(deeper.filter(f => enters(f._2.getPath.getName)).map(_._1), enters, prefix)
    }

  /** A folder with one is another table, whose commits are not on this timeline. */
  private def isTimeline(file: FileStatus): Boolean = file.isDirectory && file.getPath.getName == ".hoodie"

  private def requireOutside(backup: Path): Unit = {
    val place = new Storage(backup, storage.conf)
    if (place.identity == storage.identity || place.identity.startsWith(s"${storage.identity}/"))
      throw MerganserException("BACKUP_INSIDE_TABLE", "path" -> storage, "backup" -> backup)
  }

  /** A copy that an earlier call left incomplete is replaced. */
  private def copy(file: OrphanFile, backup: Path): Unit = {
    val place  = new Storage(backup, storage.conf)
    val target = place.path(file.path)
    place.fs.mkdirs(target.getParent)
    val isWhole = FileUtil.copy(storage.fs, storage.path(file.path), place.fs, target, false, true, storage.conf) &&
      place.fs.getFileStatus(target).getLen == file.sizeBytes
    if (!isWhole) throw new IOException(s"cannot copy ${storage.path(file.path)} to $target")
  }
}

private object OrphanFiles {

  /** Files deleted between two looks at the lock. */
  val AtOnce = 256
}

/**
 * A data file in the table's folder.
 *
 * @param partitionPath its folder
 * @param isAside       a write has moved it away from its partition, as no commit names it
 */
private[service] final case class FoundFile(
    path: String,
    partitionPath: String,
    name: String,
    instant: String,
    sizeBytes: Long,
    modifiedMs: Long,
    isAside: Boolean
)
