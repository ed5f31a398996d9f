package io.merganser.table.slice

import java.util.concurrent.ConcurrentHashMap

import io.merganser.merge.MerganserException
import io.merganser.table.file.{BaseFile, FileGroupId, FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{ArchivedTimeline, Timeline}

/**
 * A table's file slices as of a timeline. Each partition's folder is listed once; the timeline is not reloaded.
 *
 * Files of writes that have not completed are ignored, in slicing too.
 */
final class TableView private (
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    listings: ConcurrentHashMap[String, Seq[ListedFile]]
) {

  def this(storage: Storage, config: TableConfig, timeline: Timeline) =
    this(storage, config, timeline, new ConcurrentHashMap[String, Seq[ListedFile]]())

  /** The same files as of another time: no folder is listed again. */
  def asOf(timeline: Timeline): TableView = new TableView(storage, config, timeline, listings)

  private lazy val archive = new ArchivedTimeline(storage, config)

  private def slicing = new Slicing(storage, config, timeline, archive)

  /**
   * Paths of the partitions, found by listing folders; "" for a table without partitions.
   *
   * @throws io.merganser.merge.MerganserException PARTITION_METADATA_MISSING
   */
  def partitions: Seq[String] = everyPartition.paths

  /** Those of [[partitions]] that have their metadata, where others may have lost it. */
  def partitionsWithMetadata: Seq[String] =
    partitionsBelow(Seq(""), _ => true, (_, files) => hasMetadata(files)).paths

  @volatile private var isListed = false

  /** All partitions, if a search for some has found that none is left out. */
  @volatile private var known: Option[Seq[String]] = None

  private lazy val everyPartition: FoundPartitions = {
    val found = partitionsBelow(Seq(""), _ => true)
    isListed = true
    known = Some(found.paths)
    found
  }

  /**
   * The partitions in folders for which a predicate holds.
   *
   * @param mayContain false if no partition in the folder, or below it, is needed: it is not listed then
   */
  def partitionsIn(mayContain: String => Boolean): FoundPartitions =
    if (isListed) {
      val kept = partitions.filter(mayContain)
      FoundPartitions(kept, partitions.size - kept.size)
    } else {
      val found = partitionsBelow(Seq(""), mayContain)
      if (found.skipped == 0) known = Some(found.paths)
      found
    }

  /** Those of some folders that are partitions. */
  def partitionsAmong(folders: Seq[String]): Seq[String] =
    listed(folders).filter { case (folder, files) => isPartition(folder, files) }.map(_._1).sorted

  /** The newest slice of every file group. */
  def slices: Seq[FileSlice] = slicesOf(partitions)

  /** The newest slice of every file group of a partition; none if there is no such partition. */
  def slices(partition: String): Seq[FileSlice] = slicesOf(Seq(partition))

  /**
   * The slices of all partitions. If few are needed, a partition is listed when its slices are reached.
   *
   * @param most how many slices are needed at most
   */
  def slicesOneByOne(most: Int): Iterator[FileSlice] =
    if (most > TableView.Few) slices.iterator else partitionsOneByOne("").flatMap(p => slicesOf(Seq(p)))

  /** Depth first, in the order of the names. */
  private def partitionsOneByOne(folder: String): Iterator[String] = {
    val files = listing(folder)
    val isOne = isPartition(folder, files)
    if (!isOne) listings.remove(folder)
    val below = if (folder.isEmpty && isOne) Nil else foldersIn(folder, files).sortBy(name => s"$name/")
    (if (isOne) Iterator(folder) else Iterator.empty) ++ below.iterator.flatMap(partitionsOneByOne)
  }

  private def foldersIn(folder: String, files: Seq[ListedFile]): Seq[String] =
    files.filter(f => f.isDirectory && PartitionMetadata.mayContainPartitions(f.name)).map(f =>
      FileNames.path(folder, f.name))

  /** The newest slices of some partitions, listed in parallel. */
  def slicesOf(partitions: Seq[String]): Seq[FileSlice] = slicing.newest(listed(partitions), isWhole(partitions))

  /** The newest slices of some file groups, those of them that readers see. Only their partitions are listed. */
  def slicesOf(groups: Set[FileGroupId]): Seq[FileSlice] = {
    val partitions = groups.map(_.partitionPath).toSeq.sorted
    slicing.newest(listed(partitions).filter { case (p, files) => isPartition(p, files) }, isWhole = false, groups)
  }

  /** The newest slices of those of some folders that are partitions. */
  def slicesOfAny(folders: Seq[String]): Seq[FileSlice] =
    slicing.newest(listed(folders).filter { case (p, files) => isPartition(p, files) }, isWhole = false)

  /** The newest base file of every group that has one, without logs: what a read-optimized query reads. */
  def readOptimizedSlices: Seq[FileSlice] = readOptimizedSlicesOf(partitions)

  def readOptimizedSlices(partition: String): Seq[FileSlice] = readOptimizedSlicesOf(Seq(partition))

  def readOptimizedSlicesOf(partitions: Seq[String]): Seq[FileSlice] =
    slicing.readOptimized(listed(partitions), isWhole(partitions))

  private def isWhole(partitions: Seq[String]): Boolean = known.contains(partitions)

  /** Those of some partitions that have a file group. Reads the commit of one group of each. */
  def partitionsWithGroups(partitions: Seq[String]): Seq[String] = {
    val found = slicing
    Parallel.map(partitions)(p => (p, found.hasGroup(p, listing(p)))).collect { case (p, true) => p }
  }

  /** Slices of a plan, with file sizes from the commits and without files that no commit names. */
  private[slice] def committed(slices: Seq[FileSlice]): Seq[FileSlice] = slicing.asCommitted(slices)

  private def listed(partitions: Seq[String]): Seq[(String, Seq[ListedFile])] =
    Parallel.map(partitions)(p => p -> listing(p))

  /** The base and log files in a partition's folder, also those that no reader sees. */
  def dataFiles(partition: String): Seq[DataFile] = DataFile.of(partition, listing(partition))

  /** Whether a partition's folder has nothing else than these files and what makes it a partition. */
  def hasOnly(partition: String, names: Set[String]): Boolean = listing(partition).forall { file =>
    !file.isDirectory && (names(file.name) || PartitionMetadata.isMetadata(file.name))
  }

  /** Every slice of every group of a partition, oldest first, for cleaning and explaining. */
  def allSlices(partition: String): Seq[FileSlice] = allSlices(Seq(partition))

  /** The same for some partitions, which are listed in parallel. */
  def allSlices(partitions: Seq[String]): Seq[FileSlice] = {
    val found = slicing
    listed(partitions).flatMap { case (partition, files) => found.all(partition, files) }
  }

  /**
   * Base files of a partition whose instant is neither completed nor pending, in groups that readers see: left by a
   * write that died without markers. In such a group other engines' readers lose later updates, so the files are moved
   * away before a write.
   */
  def orphans(partition: String): Seq[BaseFile] = {
    val pending = timeline.pending.map(_.requested).toSet
    val unknown = listing(partition).flatMap(base(partition, _))
      .filter(f => !timeline.isCompleted(f.instant) && !pending(f.instant))
    if (unknown.isEmpty) Nil
    else {
      val groups = slices(partition).map(_.fileId).toSet
      unknown.filter(f => groups(f.fileId))
    }
  }

  private def base(partition: String, file: ListedFile): Option[BaseFile] =
    FileNames.parseBase(partition, file.name, file.sizeBytes)

  private def listing(partition: String): Seq[ListedFile] = {
    val cached = listings.get(partition)
    if (cached != null) cached
    else {
      val listed = storage.list(partition).map(f => ListedFile(f.getPath.getName, f.getLen, f.isDirectory))
      listings.put(partition, listed)
      listed
    }
  }

  private def hasMetadata(files: Seq[ListedFile]): Boolean =
    files.exists(f => !f.isDirectory && PartitionMetadata.isMetadata(f.name))

  /**
   * Whether a folder is a partition. One that has lost its metadata would be none, and its rows missing.
   *
   * @throws io.merganser.merge.MerganserException PARTITION_METADATA_MISSING
   */
  private def isPartition(folder: String, files: Seq[ListedFile]): Boolean = hasMetadata(files) || {
    slicing.anyCommitted(folder, files).foreach { file =>
      throw MerganserException("PARTITION_METADATA_MISSING", "table" -> config.name, "path" -> storage,
        "file" -> FileNames.path(folder, PartitionMetadata.Name), "named" -> FileNames.path(folder, file.name),
        "instant" -> file.instant)
    }
    false
  }

  /**
   * Breadth first; the folders of one level are listed in parallel. A partition `a` may contain the partition `a/b`.
   * Folders below a table without partitions are not part of the table.
   */
  private def partitionsBelow(
      folders: Seq[String],
      mayContain: String => Boolean,
      isOne: (String, Seq[ListedFile]) => Boolean = isPartition
  ): FoundPartitions = {
    val found   = Seq.newBuilder[String]
    var skipped = 0
    var level   = folders
    while (level.nonEmpty) {
      val listed                = Parallel.map(level)(folder => folder -> listing(folder))
      val (partitions, between) = listed.partition { case (folder, files) => isOne(folder, files) }
      between.foreach { case (folder, _) => listings.remove(folder) }
      found ++= partitions.map(_._1)
      val below = listed.filterNot(_._1.isEmpty && partitions.nonEmpty).flatMap { case (folder, files) =>
        foldersIn(folder, files)
      }
      level = below.filter(mayContain)
      skipped += below.size - level.size
    }
    FoundPartitions(found.result().sorted, skipped)
  }
}

private object TableView {

  /** Up to so many slices, partitions are listed one after the other. */
  val Few = 1000
}

/**
 * A base or log file.
 *
 * @param instant in its name
 */
final case class DataFile(group: FileGroupId, instant: String, name: String, sizeBytes: Long)

private[slice] object DataFile {

  def of(folder: String, files: Seq[ListedFile]): Seq[DataFile] = for {
    file    <- files if !file.isDirectory
    fileId  <- FileNames.fileId(file.name).toSeq
    instant <- FileNames.instant(file.name).toSeq
  } yield DataFile(FileGroupId(folder, fileId), instant, file.name, file.sizeBytes)
}

/** @param skipped number of folders that were not listed */
final case class FoundPartitions(paths: Seq[String], skipped: Int)

/** What is needed of a file's status: a table may have hundreds of thousands of files. */
private[slice] final case class ListedFile(name: String, sizeBytes: Long, isDirectory: Boolean)
