package io.merganser.table.file

import io.merganser.merge.NamedValue

/** Announces a data file that a write is about to create. */
final case class Marker(partitionPath: String, fileName: String, kind: MarkerKind) {

  /** Path of the data file, relative to the table's base path. */
  def path: String = FileNames.path(partitionPath, fileName)
}

/**
 * How the announced file is written.
 *
 * @param name the last part of the marker's file name
 */
sealed abstract class MarkerKind(val name: String) extends NamedValue

object MarkerKind {

  /** The first base file of a file group, or a new log file. */
  case object Create extends MarkerKind("CREATE")

  /** A base file that replaces one. */
  case object Merge extends MarkerKind("MERGE")

  /** In version 6, a log file that other writes may have appended to. */
  case object Append extends MarkerKind("APPEND")

  val all: Seq[MarkerKind] = Seq(Create, Merge, Append)

  def parse(name: String): Option[MarkerKind] = all.find(_.name == name)
}
