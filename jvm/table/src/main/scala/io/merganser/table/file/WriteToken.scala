package io.merganser.table.file

/**
 * Which attempt of which task writes: it makes the file names of a retried task distinct. Shared by all files of a
 * task, whose changed rows it numbers: no two rows of a commit have the same task and number.
 *
 * @param mayBegin called once a file is announced, and before it is created; throws if the attempt may begin none
 */
final class WriteToken(val partitionId: Int, stageId: Int, attemptId: Long, mayBegin: () => Unit = () => ()) {
  private[this] var rows  = 0L
  private[this] var files = List.empty[Marker]

  /** The number of the next row that the task changes. */
  private[table] def nextRow(): Long = {
    rows += 1
    rows - 1
  }

  /** Announces a file that is about to be created. */
  private[table] def announce(marker: Marker, markers: Markers): Unit = {
    files ::= marker
    markers.create(marker)
    // Not before: the write may end in between, and the marker would be nobody's.
    mayBegin()
  }

  /** The files that the attempt has announced, the last one first. */
  private[table] def announced: Seq[Marker] = files

  override def toString: String = s"$partitionId-$stageId-$attemptId"
}

object WriteToken {
  def apply(partitionId: Int, stageId: Int, attemptId: Long): WriteToken =
    new WriteToken(partitionId, stageId, attemptId)
}
