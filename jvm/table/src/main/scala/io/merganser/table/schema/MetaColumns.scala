package io.merganser.table.schema

import io.merganser.merge.DeleteCheck
import io.merganser.table.avro.Milliseconds
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** The five columns that precede the user's in every base file and log record; all nullable strings. */
object MetaColumns {

  /** Instant that last wrote the record. */
  val CommitTime = "_hoodie_commit_time"

  /** `<instant>_<task partition>_<counter>`, unique in its commit. */
  val CommitSeqno = "_hoodie_commit_seqno"

  val RecordKey = "_hoodie_record_key"

  /** The partition path as the directory spells it; empty in a table without partitions. */
  val PartitionPath = "_hoodie_partition_path"

  /** Name of the base file that contains the row; in log records the file id. */
  val FileName = "_hoodie_file_name"

  /** In this order. */
  val names: Seq[String] = Seq(CommitTime, CommitSeqno, RecordKey, PartitionPath, FileName)

  val schema: StructType = StructType(names.map(StructField(_, StringType, nullable = true)))

  /** The record key alone. */
  val keySchema: StructType = StructType(Seq(schema(RecordKey)))

  /** Not stored of written frames: the columns above, and the one that other engines' change streams add. */
  private val reserved = names.toSet + DeleteCheck.OperationColumn

  private val nameSet = names.toSet

  def isMeta(column: String): Boolean = nameSet.contains(column)

  /** Whether a column of the user may not have the name, in any case. */
  def isReserved(column: String): Boolean = reserved.exists(_.equalsIgnoreCase(column))

  /** The meta columns, then those of `schema` that are not meta columns. */
  def before(schema: StructType): StructType = StructType(MetaColumns.schema.fields ++ without(schema).fields)

  /** The columns of a frame that are the user's own, in the units of a new table. */
  def ofUser(schema: StructType): StructType =
    Milliseconds.without(StructType(schema.filterNot(field => reserved(field.name))))

  def without(schema: StructType): StructType = StructType(schema.fields.filterNot(field => isMeta(field.name)))
}
