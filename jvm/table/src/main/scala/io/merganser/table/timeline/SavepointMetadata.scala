package io.merganser.table.timeline

import org.apache.avro.generic.GenericRecord

/**
 * A savepoint: the files that reads as of its write need, which cleans retain.
 *
 * @param createdAtMs milliseconds since 1970
 * @param files       names of base files and logs, by partition path
 */
final case class SavepointMetadata(
    createdBy: String,
    createdAtMs: Long,
    comments: String,
    files: Map[String, Seq[String]]
)

private[table] object SavepointMetadata {

  import AvroRecords._

  def encode(savepoint: SavepointMetadata): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.SavepointMetadata,
      "savepointedBy" -> savepoint.createdBy,
      "savepointedAt" -> savepoint.createdAtMs,
      "comments" -> savepoint.comments,
      "partitionMetadata" -> savepoint.files.map { case (path, names) => path -> ofPartition(path, names) },
      "version" -> 1
    )
  )

  private def ofPartition(path: String, names: Seq[String]): GenericRecord =
    build(TimelineSchemas.SavepointPartitionMetadata, "partitionPath" -> path, "savepointDataFile" -> names)

  def decode(bytes: Array[Byte]): SavepointMetadata = {
    val savepoint = AvroRecords.decode(bytes)
    requireFields(savepoint, "partitionMetadata")
    SavepointMetadata(
      createdBy = savepoint.string("savepointedBy").getOrElse(""),
      createdAtMs = savepoint.optionalLong("savepointedAt").getOrElse(0L),
      comments = savepoint.string("comments").getOrElse(""),
      files = savepoint.recordMap("partitionMetadata").map { case (path, partition) =>
        requireFields(partition, "savepointDataFile")
        path -> partition.strings("savepointDataFile").map(file => file.drop(file.lastIndexOf('/') + 1))
      }
    )
  }
}
