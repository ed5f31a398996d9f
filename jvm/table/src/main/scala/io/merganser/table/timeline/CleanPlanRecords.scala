package io.merganser.table.timeline

import org.apache.avro.generic.GenericRecord

/**
 * The plan of a clean.
 *
 * @param earliest      the oldest write whose files are retained, with all later ones; None for file versions
 * @param lastCompleted the newest completed write when the plan was made
 * @param policy        name of the policy
 * @param files         partition path to the names of the files to delete
 * @param partitions    those that are removed with their folders
 */
final case class CleanPlan(
    earliest: Option[Instant],
    lastCompleted: String,
    policy: String,
    files: Map[String, Seq[String]],
    partitions: Seq[String] = Nil,
    extra: Map[String, String] = Map.empty,
    version: Int = CleanPlan.Version
)

object CleanPlan {

  import AvroRecords._

  /** Of plans with whole paths and of metadata with names. */
  val Version = 2

  /** Key in the extra metadata: savepoints when the plan was made, comma separated. */
  val SavepointsKey = "savepointed_timestamps"

  /** @param pathOf the whole path of a file of a partition */
  def encode(plan: CleanPlan, pathOf: (String, String) => String): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.CleanerPlan,
      "earliestInstantToRetain" -> plan.earliest.map(TimelineSchemas.completedInstant),
      "lastCompletedCommitTimestamp" -> plan.lastCompleted,
      "policy" -> plan.policy,
      "filesToBeDeletedPerPartition" -> Map.empty[String, Seq[String]],
      "version" -> Version,
      "filePathsToBeDeletedPerPartition" -> plan.files.map { case (partition, names) =>
        partition -> names.map(name => TimelineSchemas.cleanFileInfo(pathOf(partition, name)))
      },
      "partitionsToBeDeleted" -> plan.partitions,
      "extraMetadata" -> plan.extra
    )
  )

  def decode(bytes: Array[Byte]): CleanPlan = of(AvroRecords.decode(bytes))

  private[table] def of(plan: GenericRecord): CleanPlan = {
    requireFields(plan, "policy", "filePathsToBeDeletedPerPartition")
    CleanPlan(
      earliest = plan.record("earliestInstantToRetain").flatMap { retained =>
        val action = retained.string("action").flatMap(Action.parse).getOrElse(Action.Commit)
        retained.string("timestamp").filter(_.nonEmpty).map(Instant(_, action, InstantState.Completed))
      },
      lastCompleted = plan.string("lastCompletedCommitTimestamp").getOrElse(""),
      policy = plan.string("policy").getOrElse(""),
      files = Cleaned.ofPlan(plan).files,
      partitions = plan.strings("partitionsToBeDeleted"),
      extra = plan.stringMap("extraMetadata"),
      version = plan.optionalLong("version").fold(1)(_.toInt)
    )
  }
}

/**
 * What a clean did in one partition; names of files.
 *
 * @param failed    files that could not be deleted, or were gone
 * @param isRemoved whether the partition's folder was removed
 */
final case class CleanedPartition(policy: String, deleted: Seq[String], failed: Seq[String], isRemoved: Boolean)

/**
 * The metadata of a completed clean.
 *
 * @param startTime     requested time of the clean
 * @param earliest      the oldest instant whose files were retained; None for file versions
 * @param lastCompleted the newest completed write when it was planned
 */
final case class CleanMetadata(
    startTime: String,
    elapsedMs: Long,
    filesDeleted: Int,
    earliest: Option[String],
    lastCompleted: String,
    partitions: Map[String, CleanedPartition],
    extra: Map[String, String],
    version: Int = CleanPlan.Version
)

object CleanMetadata {

  import AvroRecords._

  /** Key in the extra metadata of our cleans: size of the deleted files, in bytes. */
  val BytesKey = "merganser.bytes.deleted"

  def encode(metadata: CleanMetadata): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.CleanMetadata,
      "startCleanTime" -> metadata.startTime,
      "timeTakenInMillis" -> metadata.elapsedMs,
      "totalFilesDeleted" -> metadata.filesDeleted,
      "earliestCommitToRetain" -> metadata.earliest.getOrElse(""),
      "lastCompletedCommitTimestamp" -> metadata.lastCompleted,
      "partitionMetadata" -> metadata.partitions.map { case (path, partition) => path -> record(path, partition) },
      "version" -> metadata.version,
      "bootstrapPartitionMetadata" -> Map.empty[String, GenericRecord],
      "extraMetadata" -> metadata.extra
    )
  )

  private def record(path: String, partition: CleanedPartition): GenericRecord = build(
    TimelineSchemas.CleanPartitionMetadata,
    "partitionPath" -> path,
    "policy" -> partition.policy,
    "deletePathPatterns" -> (partition.deleted ++ partition.failed),
    "successDeleteFiles" -> partition.deleted,
    "failedDeleteFiles" -> partition.failed,
    "isPartitionDeleted" -> partition.isRemoved
  )

  private[table] def decode(bytes: Array[Byte]): CleanMetadata = of(AvroRecords.decode(bytes))

  private[table] def of(metadata: GenericRecord): CleanMetadata = {
    requireFields(metadata, "earliestCommitToRetain", "partitionMetadata")
    CleanMetadata(
      startTime = metadata.string("startCleanTime").getOrElse(""),
      elapsedMs = metadata.long("timeTakenInMillis"),
      filesDeleted = metadata.long("totalFilesDeleted").toInt,
      earliest = metadata.string("earliestCommitToRetain").filter(_.nonEmpty),
      lastCompleted = metadata.string("lastCompletedCommitTimestamp").getOrElse(""),
      partitions = metadata.recordMap("partitionMetadata").map { case (path, p) =>
        path -> CleanedPartition(p.string("policy").getOrElse(""), p.strings("successDeleteFiles"),
          p.strings("failedDeleteFiles"), p.boolean("isPartitionDeleted"))
      },
      extra = metadata.stringMap("extraMetadata"),
      version = metadata.optionalLong("version").fold(1)(_.toInt)
    )
  }
}
