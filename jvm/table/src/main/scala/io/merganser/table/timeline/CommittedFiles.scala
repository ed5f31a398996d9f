package io.merganser.table.timeline

import io.merganser.table.file.FileNames

import java.util.{LinkedHashMap => OrderedMap}

/**
 * A file named by a completed write. A table may have a million of them: the path is the one long string of each.
 *
 * @param path      relative to the table's: buckets of different partitions may have files of the same name
 * @param sizeBytes size after the write; for a log file of version 6, the bytes that the write appended
 * @param hasInserts whether rows were inserted, as far as the writer counted them
 * @param checksums of a log file's blocks; empty if the writer recorded none
 * @param baseFile  for a log file, the name of the base file that its rows are read with, if it has one
 * @param isOfLogCompaction whether it replaces other log files
 * @param hasRows   false if the writer counted neither rows nor deletes in it
 * @param replaced  for a base file, the instant of the one that it replaces
 */
final case class CommittedFile(
    path: String,
    partitionPath: String,
    sizeBytes: Long,
    hasInserts: Boolean,
    checksums: String,
    baseFile: Option[String] = None,
    isOfLogCompaction: Boolean = false,
    hasRows: Boolean = true,
    replaced: Option[String] = None
) {

  /** Without folders. */
  def name: String = path.substring(path.lastIndexOf('/') + 1)
}

/**
 * A cache, shared by the readers of this process, of the files that completed writes name; completed files of the
 * timeline do not change. Holds a bounded number of files and evicts the least recently used ones.
 */
private[timeline] object CommittedFiles {

  private type Files = Map[String, CommittedFile]

  private val MaxFiles = 200000

  private val cache = new OrderedMap[String, Files](16, 0.75f, true)
  private var count = 0

  /** @param file path, size and time of a completed file of the timeline */
  def get(file: String): Option[Files] = synchronized(Option(cache.get(file)))

  def put(file: String, files: Files): Unit = if (files.size <= MaxFiles / 4) synchronized {
    Option(cache.put(file, files)).foreach(count -= _.size + 1)
    count += files.size + 1
    val eldest = cache.values.iterator
    while (count > MaxFiles && eldest.hasNext) {
      count -= eldest.next().size + 1
      eldest.remove()
    }
  }

  /** Files by path. */
  def of(metadata: CommitMetadata): Files = metadata.stats.flatMap { case (partition, stats) =>
    stats.filter(_.path.nonEmpty).map { stat =>
      val path = FileNames.path(partition, stat.fileName)
      path -> CommittedFile(path, partition, stat.fileSizeInBytes, stat.numInserts > 0, stat.checksums,
        stat.baseFileName, metadata.operationType == OperationType.LogCompact, stat.numWrites + stat.numDeletes > 0,
        if (stat.isLogFile) None else Some(stat.prevCommit).filterNot(c => c.isEmpty || c == WriteStat.NoPrevCommit))
    }
  }
}
