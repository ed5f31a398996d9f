package io.merganser.table.properties

import io.merganser.merge.NamedValue

/** How a table applies changes: by rewriting base files, or by appending log files that readers merge. */
sealed abstract class TableType(val name: String) extends NamedValue

object TableType {
  case object CopyOnWrite extends TableType("COPY_ON_WRITE")
  case object MergeOnRead extends TableType("MERGE_ON_READ")

  val all: Seq[TableType] = Seq(CopyOnWrite, MergeOnRead)

  /** By the name in hoodie.properties, in any case. */
  def parse(name: String): Option[TableType] = all.find(_.name.equalsIgnoreCase(name.trim))
}
