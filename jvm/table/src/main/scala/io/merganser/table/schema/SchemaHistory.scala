package io.merganser.table.schema

/**
 * The versions of a table's columns, with ids (schema on read). A file or a log block has the columns of the version
 * that was the newest at its instant.
 *
 * @param versions newest first; not empty
 */
final case class SchemaHistory(versions: Seq[InternalSchema]) {

  /** The columns as of this history's end. */
  def newest: InternalSchema = versions.head

  /** The version with which the write of an instant wrote. */
  def at(instant: String): InternalSchema = {
    val time = SchemaHistory.number(instant)
    versions.find(_.version <= time).getOrElse(versions.last)
  }

  /** How the newest columns are stored in the files and log blocks of an instant. */
  def columns(instant: String): FileColumns = FileColumns(newest, at(instant))

  /** The history as of an instant, inclusive. */
  def asOf(instant: String): SchemaHistory = {
    val time  = SchemaHistory.number(instant)
    val known = versions.dropWhile(_.version > time)
    SchemaHistory(if (known.isEmpty) versions.takeRight(1) else known)
  }

  /** The history with one version more, unless it is the newest already. */
  def add(version: InternalSchema): SchemaHistory =
    if (version == newest) this else SchemaHistory(version +: versions.filter(_.version != version.version))
}

object SchemaHistory {

  /** An instant as the number of a version: 0 for an instant of other characters than digits. */
  def number(instant: String): Long =
    if (instant.nonEmpty && instant.length <= 18 && instant.forall(_.isDigit)) instant.toLong else 0L
}
