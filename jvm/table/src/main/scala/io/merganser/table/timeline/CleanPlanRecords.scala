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
  import AvroRecordType.Described

  /** Of plans with whole paths and of metadata with names. */
  val Version = 2

  /** Key in the extra metadata: savepoints when the plan was made, comma separated. */
  val SavepointsKey = "savepointed_timestamps"

  private val Retained = new AvroRecordType[Instant](
    "HoodieActionInstant",
    required("timestamp", Str).from(_.requested),
    required("action", Str).from(_.action.name),
    required("state", Str).from(_.state.shown)
  )

  private val FileInfo = new AvroRecordType[String](
    "HoodieCleanFileInfo",
    optional("filePath", Str).from(path => path),
    optional("isBootstrapBaseFile", Bool).from(_ => false)
  )

  /** Of a plan with whole paths of files. */
  private val Record = new AvroRecordType[CleanPlan](
    "HoodieCleanerPlan",
    optional("earliestInstantToRetain", Retained.schema).from(_.earliest.map(Retained(_))),
    withDefault("lastCompletedCommitTimestamp", Str, "").from(_.lastCompleted),
    required("policy", Str).from(_.policy),
    optional("filesToBeDeletedPerPartition", map(array(Str))).from(_ => Map.empty),
    version(1).from(_ => Version),
    optional("filePathsToBeDeletedPerPartition", map(array(FileInfo.schema)))
      .from(_.files.map { case (partition, paths) => partition -> paths.map(FileInfo(_)) }),
    optional("partitionsToBeDeleted", array(Str)).from(_.partitions),
    optional("extraMetadata", map(Str)).from(_.extra)
  )

  /** @param pathOf the whole path of a file of a partition */
  def encode(plan: CleanPlan, pathOf: (String, String) => String): Array[Byte] =
    Record.encode(plan.copy(files = plan.files.map { case (partition, names) =>
      partition -> names.map(pathOf(partition, _))
    }))

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
  import AvroRecordType.Described

  /** Key in the extra metadata of our cleans: size of the deleted files, in bytes. */
  val BytesKey = "merganser.bytes.deleted"

  private val OfPartition = new AvroRecordType[(String, CleanedPartition)](
    "HoodieCleanPartitionMetadata",
    required("partitionPath", Str).from(_._1),
    required("policy", Str).from(_._2.policy),
    required("deletePathPatterns", array(Str)).from { case (_, cleaned) => cleaned.deleted ++ cleaned.failed },
    required("successDeleteFiles", array(Str)).from(_._2.deleted),
    required("failedDeleteFiles", array(Str)).from(_._2.failed),
    optional("isPartitionDeleted", Bool).from(_._2.isRemoved)
  )

  private val Record = new AvroRecordType[CleanMetadata](
    "HoodieCleanMetadata",
    required("startCleanTime", Str).from(_.startTime),
    required("timeTakenInMillis", Lng).from(_.elapsedMs),
    required("totalFilesDeleted", Int).from(_.filesDeleted),
    required("earliestCommitToRetain", Str).from(_.earliest.getOrElse("")),
    withDefault("lastCompletedCommitTimestamp", Str, "").from(_.lastCompleted),
    required("partitionMetadata", map(OfPartition.schema)).from(_.partitions.map(p => p._1 -> OfPartition(p))),
    version(1).from(_.version),
    optional("bootstrapPartitionMetadata", map(OfPartition.schema)).from(_ => Map.empty),
    optional("extraMetadata", map(Str)).from(_.extra)
  )

  def encode(metadata: CleanMetadata): Array[Byte] = Record.encode(metadata)

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
