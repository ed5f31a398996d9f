package io.merganser.table.timeline

import io.merganser.merge.NamedValue
import io.merganser.table.options.WriteOperation

/**
 * The kind of a commit, stored in its metadata.
 *
 * @param name      in the metadata
 * @param isService true for table services, which change no row
 */
sealed abstract class OperationType(val name: String, val isService: Boolean) extends NamedValue

object OperationType {
  case object Upsert extends OperationType("UPSERT", isService = false)
  case object Insert extends OperationType("INSERT", isService = false)
  case object BulkInsert extends OperationType("BULK_INSERT", isService = false)
  case object Delete extends OperationType("DELETE", isService = false)
  case object InsertOverwrite extends OperationType("INSERT_OVERWRITE", isService = false)
  case object InsertOverwriteTable extends OperationType("INSERT_OVERWRITE_TABLE", isService = false)
  case object DeletePartition extends OperationType("DELETE_PARTITION", isService = false)
  case object AlterSchema extends OperationType("ALTER_SCHEMA", isService = false)

  case object Compact extends OperationType("COMPACT", isService = true)
  case object LogCompact extends OperationType("LOG_COMPACT", isService = true)
  case object Cluster extends OperationType("CLUSTER", isService = true)
  case object Index extends OperationType("INDEX", isService = true)
  case object BucketRescale extends OperationType("BUCKET_RESCALE", isService = true)

  /** Of commits whose metadata has no operation type. */
  case object Unknown extends OperationType("UNKNOWN", isService = false)

  /** One that only other engines write, such as BOOTSTRAP. */
  final case class Other(text: String) extends OperationType(text, isService = false)

  val all: Seq[OperationType] = Seq(Upsert, Insert, BulkInsert, Delete, InsertOverwrite, InsertOverwriteTable,
    DeletePartition, AlterSchema, Compact, LogCompact, Cluster, Index, BucketRescale, Unknown)

  /** By the name in the metadata; any other name, in another case too, is preserved as it is. */
  def parse(name: String): OperationType = all.find(_.name == name).getOrElse(Other(name))

  /** The type of a write's commit. */
  def of(operation: WriteOperation): OperationType = operation match {
    case WriteOperation.Upsert               => Upsert
    case WriteOperation.Insert               => Insert
    case WriteOperation.BulkInsert           => BulkInsert
    case WriteOperation.Delete               => Delete
    case WriteOperation.InsertOverwrite      => InsertOverwrite
    case WriteOperation.InsertOverwriteTable => InsertOverwriteTable
    case WriteOperation.DeletePartition      => DeletePartition
  }
}
