package io.merganser.table.file

/**
 * A file group of a table.
 *
 * @param partitionPath empty in a table without partitions
 * @param fileId        unique in its partition
 */
final case class FileGroupId(partitionPath: String, fileId: String) {
  override def toString: String = s"file group '$fileId' of partition '$partitionPath'"
}
