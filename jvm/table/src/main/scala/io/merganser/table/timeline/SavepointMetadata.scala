package io.merganser.table.timeline

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
  import AvroRecordType.Described

  private val OfPartition = new AvroRecordType[(String, Seq[String])](
    "HoodieSavepointPartitionMetadata",
    required("partitionPath", Str).from(_._1),
    required("savepointDataFile", array(Str)).from(_._2)
  )

  private val Record = new AvroRecordType[SavepointMetadata](
    "HoodieSavepointMetadata",
    required("savepointedBy", Str).from(_.createdBy),
    required("savepointedAt", Lng).from(_.createdAtMs),
    required("comments", Str).from(_.comments),
    required("partitionMetadata", map(OfPartition.schema)).from(_.files.map(f => f._1 -> OfPartition(f))),
    version(1).from(_ => 1)
  )

  def encode(savepoint: SavepointMetadata): Array[Byte] = Record.encode(savepoint)

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
