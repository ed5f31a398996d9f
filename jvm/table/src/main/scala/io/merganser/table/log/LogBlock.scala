package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.file.LogFile
import io.merganser.table.log.LogFormat.{BlockType, Header}

/**
 * One block of a log file, without its content.
 *
 * @param log           the file
 * @param offset        start of the block in the file, in bytes
 * @param contentOffset start of its content in the file, in bytes
 * @param header        header entries by ordinal; only those in [[LogFormat.Header.Read]]
 * @param contentChecksum CRC32 of the content, if the commit has it
 */
private[log] final case class LogBlock(
    log: LogFile,
    offset: Long,
    blockType: Int,
    header: Map[Int, String],
    contentOffset: Long,
    contentLength: Long,
    contentChecksum: Option[Long] = None
) {

  /** The instant that wrote the block. */
  def instant: String = header.getOrElse(
    Header.InstantTime,
    throw unreadable("its header names no instant", "Restore the file from a copy.")
  )

  def isPartial: Boolean = header.get(Header.IsPartial).exists(_.equalsIgnoreCase("true"))

  def isRollback: Boolean =
    blockType == BlockType.Command && header.getOrElse(Header.CommandType, LogFormat.Rollback) == LogFormat.Rollback

  /** The instants whose blocks this one replaces. */
  def compactedInstants: Seq[String] =
    header.get(Header.CompactedBlockTimes).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)

  /** The content is not the one whose checksum the commit has. */
  def differs: MerganserException =
    unreadable(s"its content differs from the checksum in commit ${log.instant}", "Restore the file from a copy.")

  def unreadable(reason: String, remedy: String): MerganserException = MerganserException(
    "LOG_BLOCK_UNREADABLE",
    "block" -> BlockType.name(blockType),
    "offset" -> offset,
    "file" -> log.path,
    "reason" -> reason,
    "remedy" -> remedy
  )
}

private[log] object LogBlock {

  /** Stands for the blocks of a file that was not opened, because those of a log compaction replace them. */
  def replaced(log: LogFile): LogBlock =
    LogBlock(log, 0L, BlockType.Avro, Map(Header.InstantTime -> log.instant), 0L, 0L)
}
