package io.merganser.table.slice

import io.merganser.table.file.{BaseFile, FileGroupId, LogFile}
import io.merganser.table.properties.TableConfig

/**
 * One version of a file group: an optional base file and the log files written since.
 *
 * @param baseInstant instant of the base file, or of the first log file if there is no base file
 * @param logs        in reading order
 */
final case class FileSlice(
    partitionPath: String,
    fileId: String,
    baseInstant: String,
    base: Option[BaseFile],
    logs: Seq[LogFile]
) {

  def group: FileGroupId = FileGroupId(partitionPath, fileId)

  /** Whether its logs were written under the rule that the table has; another one would give other rows. */
  def isOfRule(config: TableConfig): Boolean = config.ruleSince.forall(since => logs.forall(_.instant > since))

  def sizeBytes: Long = base.fold(0L)(_.sizeBytes) + logs.map(_.sizeBytes).sum
}
