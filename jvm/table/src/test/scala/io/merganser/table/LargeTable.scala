package io.merganser.table

import java.nio.file.{Files, Path => NioPath}

import io.merganser.table.file.{FileNames, PartitionMetadata}
import io.merganser.table.timeline.{Action, CommitMetadata, InstantFile, InstantTime, OperationType, WriteStat}

/**
 * A table of many file groups and commits, of which only names and sizes exist: every base file has the content of one
 * Parquet file, and the file of a commit is made when it is opened. What is written later is stored beside it.
 *
 * The groups of a partition come from different commits, as after many small writes.
 *
 * @param root       local folder with the table's properties, and with all that is written
 * @param partitions paths, with the number of file groups of each
 * @param commits    completed writes on the timeline
 * @param archived   how many writes before these are no longer on the timeline
 * @param content    the base file whose rows every base file has
 * @param schemaJson Avro schema of the commits
 * @param replaced   how many files each commit names in addition, which later ones have replaced and a clean removed
 */
final class LargeTable(
    val root: NioPath,
    partitions: IndexedSeq[(String, Int)],
    commits: Int,
    archived: Int,
    content: NioPath,
    schemaJson: String,
    mergeOnRead: Boolean = false,
    replaced: Int = 0
) {
  import LargeTable._

  private val action = if (mergeOnRead) Action.DeltaCommit else Action.Commit
  private val groups = partitions.map(_._2).sum
  private val writes = commits + archived
  private val first  = partitions.scanLeft(0)(_ + _._2).toArray
  private val byPath = partitions.map(_._1).zipWithIndex.toMap
  private val size   = Files.size(content)

  /** Names below each folder that is no partition. */
  private val folders: Map[String, Seq[String]] =
    partitions.flatMap { case (path, _) =>
      val levels = path.split('/')
      levels.indices.map(i => levels.take(i).mkString("/") -> levels(i))
    }.groupBy(_._1).map { case (folder, below) => folder -> below.map(_._2).distinct }

  private val byCompletedName: Map[String, Int] = (archived until writes).map(c => completed(c) -> c).toMap

  private lazy val instants: Map[String, Entry] = (archived until writes).flatMap { c =>
    Seq(InstantFile.requested(instant(c), action), InstantFile.inflight(instant(c), action)).map(_ -> Made(0)) :+
      (completed(c) -> Made(CommitBytes))
  }.toMap

  private def instant(write: Int): String = InstantTime.format(Start + write * 2000L, java.time.ZoneOffset.UTC)

  private def completed(write: Int): String = InstantFile.completed(instant(write),
    Some(InstantTime.format(Start + write * 2000L + 1000L, java.time.ZoneOffset.UTC)), action)

  private def baseName(group: Int): String = baseName(group, group % writes)

  private def baseName(group: Int, write: Int): String =
    FileNames.base(f"$group%08x-0000-0000-0000-000000000000-0", "0-0-0", instant(write))

  /** The instants of archived writes, with their completion times. */
  def archivedTimes: Seq[(String, String)] = (0 until archived).map(c =>
    instant(c) -> InstantTime.format(Start + c * 2000L + 1000L, java.time.ZoneOffset.UTC))

  /** Requested time of the newest write. */
  def newest: String = instant(writes - 1)

  /** The metadata of a write. */
  def metadata(write: Int): CommitMetadata = {
    // The groups of the next writes are written again by these.
    val earlier = (write + 1 until math.min(write + 1 + replaced, math.min(writes, groups)))
    val stats = ((write until groups by writes) ++ earlier).map { group =>
      val partition = java.util.Arrays.binarySearch(first, group) match {
        case exact if exact >= 0 => first.lastIndexOf(group) // empty partitions begin at the same group
        case insertion           => -insertion - 2
      }
      val path = partitions(partition)._1
      val name = baseName(group, write)
      WriteStat(name.takeWhile(_ != '_'), FileNames.path(path, name), numWrites = 10,
        numInserts = 10, fileSizeInBytes = size, totalWriteBytes = size, partitionPath = path)
    }
    CommitMetadata(OperationType.Insert, stats.groupBy(_.partitionPath), Map("schema" -> schemaJson))
  }

  /** Names below a folder, with true for folders; None if there is nothing of the table. */
  def list(folder: String): Option[Seq[(String, Entry)]] =
    if (folder == Timeline) Some(instants.toSeq)
    else byPath.get(folder) match {
      case Some(at) => Some((first(at) until first(at + 1)).map(group => baseName(group) -> Stored(size)) :+
          (PartitionMetadata.Name -> Made(MetadataBytes)))
      case None => folders.get(folder).map(_.map(_ -> Folder))
    }

  /** The entry at a path. */
  def find(path: String): Option[Entry] = {
    val (folder, name) = path.splitAt(math.max(path.lastIndexOf('/'), 0))
    val file           = name.stripPrefix("/")
    if (path.isEmpty || folders.contains(path) || byPath.contains(path)) Some(Folder)
    else if (folder == Timeline) instants.get(file)
    else byPath.get(folder).flatMap { at =>
      if (file == PartitionMetadata.Name) Some(Made(MetadataBytes))
      else FileNames.parseBase(folder, file, size).map(base => Integer.parseInt(base.fileId.take(8), 16)).filter(g =>
        first(at) <= g && g < first(at + 1) && baseName(g) == file).map(_ => Stored(size))
    }
  }

  /** The bytes of a file that [[Made]] describes. */
  def bytes(path: String): Array[Byte] = byCompletedName.get(path.drop(path.lastIndexOf('/') + 1)) match {
    case Some(write) =>
      if (encoded.nonEmpty) encoded(write - archived)
      else CommitMetadata.encodeAvro(metadata(write), isReplace = false)
    case None if path.endsWith(PartitionMetadata.Name) => Array.fill(MetadataBytes)('#'.toByte)
    case None                                          => Array.emptyByteArray
  }

  def contentFile: NioPath = content

  private var encoded = IndexedSeq.empty[Array[Byte]]

  /** Makes the commits now, so that a measured time does not include it. */
  def prepare(): Unit = encoded = (archived until writes).map(write =>
    CommitMetadata.encodeAvro(metadata(write), isReplace = false))
}

object LargeTable {

  private val Timeline      = ".hoodie/timeline"
  private val Start         = java.time.Instant.parse("2024-01-01T00:00:00Z").toEpochMilli
  private val CommitBytes   = 4000
  private val MetadataBytes = 96

  sealed trait Entry

  case object Folder extends Entry

  /** A file whose bytes are those of the one Parquet file. */
  final case class Stored(size: Long) extends Entry

  /** A file whose bytes are made when it is opened; its listed size is not theirs. */
  final case class Made(size: Int) extends Entry
}
