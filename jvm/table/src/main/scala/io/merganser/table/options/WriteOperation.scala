package io.merganser.table.options

import io.merganser.merge.NamedValue

/** @param isInsert rows are added, and written after a shuffle by key */
sealed abstract class WriteOperation(val name: String, val isInsert: Boolean) extends NamedValue

object WriteOperation {
  case object Upsert extends WriteOperation("upsert", isInsert = false)
  case object Insert extends WriteOperation("insert", isInsert = true)
  case object BulkInsert extends WriteOperation("bulk_insert", isInsert = false)
  case object Delete extends WriteOperation("delete", isInsert = false)

  /** An insert that replaces all rows of the partitions it writes to. */
  case object InsertOverwrite extends WriteOperation("insert_overwrite", isInsert = true)

  /** An insert that replaces all rows of the table. */
  case object InsertOverwriteTable extends WriteOperation("insert_overwrite_table", isInsert = true)

  /** Removes all rows of partitions, and writes none. */
  case object DeletePartition extends WriteOperation("delete_partition", isInsert = true)

  val all: Seq[WriteOperation] =
    Seq(Upsert, Insert, BulkInsert, Delete, InsertOverwrite, InsertOverwriteTable, DeletePartition)

  private[table] def of(name: String): WriteOperation =
    all.find(_.name == name).getOrElse(throw new IllegalStateException(s"no operation '$name'"))
}

/** What requests the write; it decides which options name the operation. */
sealed trait WriteSource

object WriteSource {
  case object DataFrameWrite extends WriteSource
  case object SqlInsert extends WriteSource

  /** MERGE, UPDATE and DELETE: their rows are upserted. */
  case object SqlChange extends WriteSource
}
