package io.merganser.table.timeline

/**
 * The checksums of log files in a commit's extra metadata, where other engines ignore them: `name=digits` of each file,
 * with commas between them. In memory they are with the statistics of their files.
 */
private[timeline] object LogChecksums {

  private val Key = "merganser.log.crc32"

  /** The extra metadata with the checksums of the files, if there are any. */
  def add(metadata: CommitMetadata): Map[String, String] = {
    val files = metadata.allStats.filter(_.checksums.nonEmpty).map(stat => s"${stat.fileName}=${stat.checksums}")
    if (files.isEmpty) metadata.extra else metadata.extra + (Key -> files.mkString(","))
  }

  /** The metadata with the checksums at their files. */
  def take(metadata: CommitMetadata): CommitMetadata = metadata.extra.get(Key).fold(metadata) { files =>
    val byName = files.split(',').map(_.split('=')).collect {
      case Array(name, digits) if digits.forall(c => Character.digit(c, 16) >= 0) => name -> digits
    }.toMap
    metadata.copy(
      stats = metadata.stats.map { case (partition, stats) =>
        partition -> stats.map(stat => stat.copy(checksums = byName.getOrElse(stat.fileName, "")))
      },
      extra = metadata.extra - Key
    )
  }
}
