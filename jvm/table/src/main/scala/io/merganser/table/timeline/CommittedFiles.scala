package io.merganser.table.timeline

import java.util.{LinkedHashMap => OrderedMap}

/**
 * One file that a completed write names.
 *
 * @param sizeBytes as the write left it; of a log file of version 6 what the write appended to it
 */
final case class CommittedFile(partitionPath: String, sizeBytes: Long)

/**
 * What completed writes name, for all readers of this process: a completed file of the timeline does not change. What was used
 * longest ago is forgotten, so that a fixed number of files stays.
 */
private[timeline] object CommittedFiles {

  private type Files = Map[String, CommittedFile]

  private val MaxFiles = 200000

  private val known = new OrderedMap[String, Files](16, 0.75f, true)
  private var count = 0

  /** @param file place, size and time of a completed file of the timeline */
  def get(file: String): Option[Files] = synchronized(Option(known.get(file)))

  def put(file: String, files: Files): Unit = if (files.size <= MaxFiles / 4) synchronized {
    Option(known.put(file, files)).foreach(count -= _.size + 1)
    count += files.size + 1
    val eldest = known.values.iterator
    while (count > MaxFiles && eldest.hasNext) {
      count -= eldest.next().size + 1
      eldest.remove()
    }
  }

  /** By their names without folders. */
  def of(metadata: CommitMetadata): Files = metadata.stats.flatMap { case (partition, stats) =>
    stats.filter(_.path.nonEmpty).map(stat => stat.fileName -> CommittedFile(partition, stat.fileSizeInBytes))
  }
}
