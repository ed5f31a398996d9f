package io.merganser.table.slice

import java.util.concurrent.ConcurrentHashMap

import io.merganser.table.file.{BaseFile, FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.fs.FileStatus

/**
 * A table's file slices as of a timeline. Each partition's folder is listed once; the timeline is not reloaded.
 *
 * Files of writes that have not completed are ignored, in slicing too.
 */
final class TableView(storage: Storage, config: TableConfig, timeline: Timeline) {

  private val listings = new ConcurrentHashMap[String, Seq[FileStatus]]()

  private lazy val slicing = new Slicing(storage, config, timeline)

  /** Paths of the partitions, found by listing folders; "" for a table without partitions. */
  lazy val partitions: Seq[String] = partitionsBelow(Seq("")).sorted

  /** The newest slice of every file group. */
  def slices: Seq[FileSlice] = slicesOf(partitions)

  /** The newest slice of every file group of a partition; none if there is no such partition. */
  def slices(partition: String): Seq[FileSlice] = slicesOf(Seq(partition))

  /** The newest slices of some partitions, listed in parallel. */
  def slicesOf(partitions: Seq[String]): Seq[FileSlice] = slicing.newest(listed(partitions))

  /** The newest slices of those of some folders that are partitions. */
  def slicesOfAny(folders: Seq[String]): Seq[FileSlice] =
    slicing.newest(listed(folders).filter { case (_, files) => isPartition(files) })

  /** The newest base file of every group that has one, without logs: what a read-optimized query reads. */
  def readOptimizedSlices: Seq[FileSlice] = slicing.readOptimized(listed(partitions))

  def readOptimizedSlices(partition: String): Seq[FileSlice] = slicing.readOptimized(listed(Seq(partition)))

  /** A slice of a plan, with file sizes from the commits and without files that no commit names. */
  def committed(slice: FileSlice): FileSlice = slicing.committed(slice)

  private def listed(partitions: Seq[String]): Seq[(String, Seq[FileStatus])] =
    Parallel.map(partitions)(p => p -> listing(p))

  /** Every slice of every group of a partition, oldest first, for cleaning and explaining. */
  def allSlices(partition: String): Seq[FileSlice] = slicing.all(partition, listing(partition))

  /**
   * Base files of a partition whose instant is neither completed nor pending, in groups that readers see: left by a
   * write that died without markers. In such a group other engines' readers lose later updates, so the files are moved
   * away before a write.
   */
  def orphans(partition: String): Seq[BaseFile] = {
    val pending = timeline.pending.map(_.requested).toSet
    val groups  = slices(partition).map(_.fileId).toSet
    listing(partition).flatMap(base(partition, _))
      .filter(f => groups(f.fileId) && !timeline.isCompleted(f.instant) && !pending(f.instant))
  }

  private def base(partition: String, file: FileStatus): Option[BaseFile] =
    FileNames.parseBase(partition, file.getPath.getName, file.getLen)

  private def listing(partition: String): Seq[FileStatus] = {
    val cached = listings.get(partition)
    if (cached != null) cached
    else {
      val listed = storage.list(partition)
      listings.put(partition, listed)
      listed
    }
  }

  private def isPartition(files: Seq[FileStatus]): Boolean =
    files.exists(f => f.isFile && PartitionMetadata.isMetadata(f.getPath.getName))

  /**
   * Breadth first; the folders of one level are listed in parallel. A partition `a` may contain the partition `a/b`.
   * Folders below a table without partitions are not part of the table.
   */
  private def partitionsBelow(folders: Seq[String]): Seq[String] = if (folders.isEmpty) Nil
  else {
    val listed                = Parallel.map(folders)(folder => folder -> listing(folder))
    val (partitions, between) = listed.partition { case (_, files) => isPartition(files) }
    between.foreach { case (folder, _) => listings.remove(folder) }
    val below = listed.filterNot(_._1.isEmpty && partitions.nonEmpty).flatMap { case (folder, files) =>
      files.filter(f => f.isDirectory && PartitionMetadata.mayContainPartitions(f.getPath.getName)).map(f =>
        FileNames.path(folder, f.getPath.getName))
    }
    partitions.map(_._1) ++ partitionsBelow(below)
  }
}
