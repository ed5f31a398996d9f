package io.merganser.table.timeline

import io.merganser.table.file.FileNames

import java.net.URLEncoder
import java.nio.charset.StandardCharsets.UTF_8

/**
 * The checksums of log files in a commit's extra metadata, where other engines ignore them: `path=digits` of each file,
 * with commas between them, and the path encoded as in a URL. In memory they are with the statistics of their files.
 */
private[timeline] object LogChecksums {

  private val Key = "merganser.log.crc32"

  /** The extra metadata with the checksums of the files, if there are any. */
  def add(metadata: CommitMetadata): Map[String, String] = {
    val files =
      for ((partition, stats) <- metadata.stats.toSeq; stat <- stats if stat.checksums.nonEmpty)
        yield s"${encoded(partition, stat)}=${stat.checksums}"
    if (files.isEmpty) metadata.extra else metadata.extra + (Key -> files.mkString(","))
  }

  /** The metadata with the checksums at their files. */
  def take(metadata: CommitMetadata): CommitMetadata = metadata.extra.get(Key).fold(metadata) { files =>
    val byPath = files.split(',').map(_.split('=')).collect {
      case Array(path, digits) if digits.forall(c => Character.digit(c, 16) >= 0) => path -> digits
    }.toMap
    metadata.copy(
      stats = metadata.stats.map { case (partition, stats) =>
        partition -> stats.map(stat => stat.copy(checksums = byPath.getOrElse(encoded(partition, stat), "")))
      },
      extra = metadata.extra - Key
    )
  }

  /** Buckets of different partitions may have files of the same name. */
  private def encoded(partition: String, stat: WriteStat): String =
    URLEncoder.encode(FileNames.path(partition, stat.fileName), UTF_8.name)
}
