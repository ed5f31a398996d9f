package io.merganser.table.timeline

import org.apache.avro.generic.GenericRecord

/**
 * The plan of a rollback.
 *
 * @param instant  requested time of the instant rolled back
 * @param action   its action
 * @param files    partition path to the paths to delete
 */
final case class RollbackPlan(instant: String, action: String, files: Map[String, Seq[String]])

/**
 * An instant that was rolled back.
 *
 * @param action as the engine that rolled it back names it
 */
final case class RolledBack(instant: String, action: String) {

  /** Unknown ones count as writes. */
  private[table] def isWrite: Boolean = Action.parse(action).forall(_.isWrite)
}

/**
 * The result of a rollback.
 *
 * @param startTime instant at which it was requested
 * @param elapsedMs duration in milliseconds
 * @param instants  the instants rolled back
 * @param deleted   partition path to the paths deleted
 * @param failed    partition path to the paths that could not be deleted
 */
final case class RollbackMetadata(
    startTime: String,
    elapsedMs: Long,
    instants: Seq[RolledBack],
    deleted: Map[String, Seq[String]],
    failed: Map[String, Seq[String]] = Map.empty
)

object RollbackPlan {

  import AvroRecords._

  def encode(plan: RollbackPlan): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.RollbackPlan,
      "instantToRollback" -> build(TimelineSchemas.InstantInfo, "commitTime" -> plan.instant, "action" -> plan.action),
      "RollbackRequests" -> plan.files.toSeq.sortBy(_._1).map { case (partition, files) =>
        build(
          TimelineSchemas.RollbackRequest,
          "partitionPath" -> partition,
          "fileId" -> "",
          "latestBaseInstant" -> "",
          "filesToBeDeleted" -> files,
          "logBlocksToBeDeleted" -> Map.empty[String, Long]
        )
      },
      "version" -> 1
    )
  )

  def decode(bytes: Array[Byte]): RollbackPlan = {
    val plan    = AvroRecords.decode(bytes)
    val instant = plan.record("instantToRollback")
    val files = plan.records("RollbackRequests").groupBy(_.string("partitionPath").getOrElse(""))
      .map { case (partition, requests) => partition -> requests.flatMap(_.strings("filesToBeDeleted")) }
    RollbackPlan(instant.flatMap(_.string("commitTime")).getOrElse(""),
      instant.flatMap(_.string("action")).getOrElse(""), files)
  }
}

object RollbackMetadata {

  import AvroRecords._

  def encode(metadata: RollbackMetadata): Array[Byte] = AvroRecords.encode(record(metadata))

  private[timeline] def record(metadata: RollbackMetadata): GenericRecord = {
    val partitions = (metadata.deleted.keySet ++ metadata.failed.keySet).toSeq.map { partition =>
      partition -> build(
        TimelineSchemas.RollbackPartitionMetadata,
        "partitionPath" -> partition,
        "successDeleteFiles" -> metadata.deleted.getOrElse(partition, Nil),
        "failedDeleteFiles" -> metadata.failed.getOrElse(partition, Nil)
      )
    }
    build(
      TimelineSchemas.RollbackMetadata,
      "startRollbackTime" -> metadata.startTime,
      "timeTakenInMillis" -> metadata.elapsedMs,
      "totalFilesDeleted" -> metadata.deleted.values.map(_.size).sum,
      "commitsRollback" -> metadata.instants.map(_.instant),
      "partitionMetadata" -> partitions.toMap,
      "version" -> 1,
      "instantsRollback" -> metadata.instants.map(rolled =>
        build(TimelineSchemas.InstantInfo, "commitTime" -> rolled.instant, "action" -> rolled.action))
    )
  }

  def decode(bytes: Array[Byte]): RollbackMetadata = of(AvroRecords.decode(bytes))

  private[timeline] def of(metadata: GenericRecord): RollbackMetadata = {
    val partitions = metadata.recordMap("partitionMetadata")
    RollbackMetadata(
      startTime = metadata.string("startRollbackTime").getOrElse(""),
      elapsedMs = metadata.long("timeTakenInMillis"),
      instants = metadata.records("instantsRollback")
        .map(i => RolledBack(i.string("commitTime").getOrElse(""), i.string("action").getOrElse(""))),
      deleted = partitions.map { case (partition, files) => partition -> files.strings("successDeleteFiles") },
      failed = partitions.map { case (partition, files) => partition -> files.strings("failedDeleteFiles") }.filter(
        _._2.nonEmpty)
    )
  }
}
