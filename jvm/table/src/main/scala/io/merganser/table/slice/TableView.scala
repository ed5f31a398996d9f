package io.merganser.table.slice

import java.util.concurrent.ConcurrentHashMap

import io.merganser.table.file.{BaseFile, FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.fs.FileStatus

/**
 * A table's file slices as a timeline has them. Each partition's folder is listed once, the timeline not again.
 *
 * Files of writes that have not completed do not exist here, and do not take part in slicing.
 */
final class TableView(storage: Storage, config: TableConfig, timeline: Timeline) {

  private val listings = new ConcurrentHashMap[String, Seq[FileStatus]]()

  private lazy val slicing = new Slicing(storage, config, timeline)

  /** Folders that are partitions, "" for a table without; by walking. */
  lazy val partitions: Seq[String] = walk(Seq("")).sorted

  /** The newest slice of every file group. */
  def slices: Seq[FileSlice] = slicesOf(partitions)

  /** The newest slice of every file group of a partition; none if there is no such partition. */
  def slices(partition: String): Seq[FileSlice] = slicesOf(Seq(partition))

  /** The newest slices of some partitions, listed side by side. */
  def slicesOf(partitions: Seq[String]): Seq[FileSlice] = slicing.newest(listed(partitions))

  /** Base files alone, the newest of every group that has one: what is read without merging. */
  def readOptimizedSlices: Seq[FileSlice] = slicing.readOptimized(listed(partitions))

  def readOptimizedSlices(partition: String): Seq[FileSlice] = slicing.readOptimized(listed(Seq(partition)))

  /** A slice that a plan names, with its files as their commits have them: what they do not name is left out. */
  def committed(slice: FileSlice): FileSlice = slicing.committed(slice)

  private def listed(partitions: Seq[String]): Seq[(String, Seq[FileStatus])] =
    Parallel.map(partitions)(p => p -> listing(p))

  /** Every slice of every group of a partition, oldest first: history, for cleaning and explaining. */
  def allSlices(partition: String): Seq[FileSlice] = slicing.all(partition, listing(partition))

  /**
   * Base files of a partition whose instant neither completed nor is pending, in groups that readers see: left by a write
   * that died without markers. Other engines' readers lose later updates of such a group, so they are set aside first.
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
    val known = listings.get(partition)
    if (known != null) known
    else {
      val listed = storage.list(partition)
      listings.put(partition, listed)
      listed
    }
  }

  /**
   * Breadth first; the folders of one level are listed side by side. The partition `a` may hold the partition `a/b`; what lies in
   * folders of a table without partitions is not the table's.
   */
  private def walk(folders: Seq[String]): Seq[String] = if (folders.isEmpty) Nil
  else {
    val listed = Parallel.map(folders)(folder => folder -> listing(folder))
    val (partitions, between) =
      listed.partition(_._2.exists(f => f.isFile && PartitionMetadata.isMetadata(f.getPath.getName)))
    between.foreach { case (folder, _) => listings.remove(folder) }
    val below = listed.filterNot(_._1.isEmpty && partitions.nonEmpty).flatMap { case (folder, files) =>
      files.filter(f => f.isDirectory && PartitionMetadata.mayLieIn(f.getPath.getName)).map(f =>
        FileNames.path(folder, f.getPath.getName))
    }
    partitions.map(_._1) ++ walk(below)
  }
}
