package io.merganser.table.file

/**
 * Which attempt of which task writes: it makes the file names of a retried task distinct. Shared by all files of a
 * task, whose changed rows it numbers: no two rows of a commit have the same task and number.
 */
final class WriteToken(val partitionId: Int, stageId: Int, attemptId: Long) {
  private[this] var rows = 0L

  /** The number of the next row that the task changes. */
  private[table] def nextRow(): Long = {
    rows += 1
    rows - 1
  }

  override def toString: String = s"$partitionId-$stageId-$attemptId"
}

object WriteToken {
  def apply(partitionId: Int, stageId: Int, attemptId: Long): WriteToken =
    new WriteToken(partitionId, stageId, attemptId)
}
