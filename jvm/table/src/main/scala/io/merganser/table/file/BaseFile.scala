package io.merganser.table.file

/**
 * A base file.
 *
 * @param instant   of the write that created it
 * @param name      without folders
 * @param sizeBytes as listed
 */
final case class BaseFile(partitionPath: String, fileId: String, instant: String, name: String, sizeBytes: Long) {

  /** Relative to the table's base path. */
  def path: String = FileNames.path(partitionPath, name)
}
