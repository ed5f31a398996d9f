package io.merganser.table.timeline

import io.merganser.table.file.FileNames
import org.apache.avro.generic.GenericRecord

/**
 * The plan of a restore, or of the rollback of a completed write. Its file has Hudi's record, with fields of ours that
 * name what is removed: so that a process that finds the plan can finish it when the commits are gone.
 *
 * @param target   requested time of the write that is restored; None for a rollback
 * @param instants that are taken back, the newest first
 * @param files    names of the data files that are deleted, by partition path
 * @param blocks   log files that have blocks of other writes too: by path, the instants whose blocks are revoked
 */
final case class RestorePlan(
    target: Option[String],
    instants: Seq[RolledBack],
    files: Map[String, Seq[String]],
    blocks: Map[String, Seq[String]]
) {

  def paths: Seq[String] = files.toSeq.flatMap { case (partition, names) => names.map(FileNames.path(partition, _)) }

  /** The plan of both: what an earlier one has not removed is removed with this one. */
  def and(earlier: RestorePlan): RestorePlan = {
    def joined(a: Map[String, Seq[String]], b: Map[String, Seq[String]]) =
      (a.toSeq ++ b.toSeq).groupBy(_._1).map { case (key, values) => key -> values.flatMap(_._2).distinct.sorted }
    val known = instants.map(_.instant).toSet
    copy(
      instants = (instants ++ earlier.instants.filterNot(i => known(i.instant))).sortBy(_.instant).reverse,
      files = joined(files, earlier.files),
      blocks = joined(blocks, earlier.blocks)
    )
  }
}

private[table] object RestorePlan {

  import AvroRecords._

  /**
   * @param wholePath of a file of the table, by its path relative to that
   * @param sizes     of the log files whose blocks are revoked, in bytes
   */
  def encode(plan: RestorePlan, wholePath: String => String, sizes: String => Long): Array[Byte] = {
    val ours = Seq("removedInstants" -> plan.instants.map(info), "removedFiles" -> plan.files,
      "revokedBlocks" -> plan.blocks)
    AvroRecords.encode(plan.target match {
      case Some(target) =>
        build(TimelineSchemas.RestorePlan,
          Seq("instantsToRollback" -> plan.instants.map(info), "version" -> 2,
            "savepointToRestoreTimestamp" -> target) ++ ours: _*)
      case None =>
        build(TimelineSchemas.CompletedRollbackPlan,
          Seq("instantToRollback" -> plan.instants.lastOption.map(info),
            "RollbackRequests" -> requests(plan, wholePath, sizes), "version" -> 1) ++ ours: _*)
    })
  }

  private[timeline] def info(instant: RolledBack): GenericRecord =
    build(TimelineSchemas.InstantInfo, "commitTime" -> instant.instant, "action" -> instant.action)

  private def requests(plan: RestorePlan, wholePath: String => String, sizes: String => Long): Seq[GenericRecord] = {
    def request(partition: String, fileId: String, base: String, files: Seq[String], blocks: Map[String, Long]) =
      build(TimelineSchemas.RollbackRequest, "partitionPath" -> partition, "fileId" -> fileId,
        "latestBaseInstant" -> base, "filesToBeDeleted" -> files, "logBlocksToBeDeleted" -> blocks)
    plan.files.toSeq.sortBy(_._1).map { case (partition, names) =>
      request(partition, "", "", names.map(name => wholePath(FileNames.path(partition, name))), Map.empty)
    } ++ plan.blocks.keys.toSeq.sorted.flatMap { path =>
      val partition = path.take(math.max(path.lastIndexOf('/'), 0))
      FileNames.parseLog(partition, path.drop(path.lastIndexOf('/') + 1), 0L).map(log =>
        request(partition, log.fileId, log.instant, Nil, Map(wholePath(path) -> sizes(path))))
    }
  }

  /** None for the plan of another engine. */
  def decode(bytes: Array[Byte]): Option[RestorePlan] = {
    val plan = AvroRecords.decode(bytes)
    if (plan.getSchema.getField("removedInstants") == null) None
    else Some(RestorePlan(
        plan.string("savepointToRestoreTimestamp"),
        rolledBack(plan.records("removedInstants")),
        plan.stringsMap("removedFiles"),
        plan.stringsMap("revokedBlocks")
      ))
  }

  private[timeline] def rolledBack(infos: Seq[GenericRecord]): Seq[RolledBack] =
    infos.map(i => RolledBack(i.string("commitTime").getOrElse(""), i.string("action").getOrElse("")))
}

/**
 * The result of a restore.
 *
 * @param startTime instant at which it was requested
 * @param elapsedMs duration in milliseconds
 * @param instants  that were taken back, the newest first
 * @param rollbacks what was deleted for each of them, by their requested time
 */
final case class RestoreMetadata(
    startTime: String,
    elapsedMs: Long,
    instants: Seq[RolledBack],
    rollbacks: Map[String, RollbackMetadata]
)

private[table] object RestoreMetadata {

  import AvroRecords._

  def encode(metadata: RestoreMetadata): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.RestoreMetadata,
      "startRestoreTime" -> metadata.startTime,
      "timeTakenInMillis" -> metadata.elapsedMs,
      "instantsToRollback" -> metadata.instants.map(_.instant),
      "hoodieRestoreMetadata" -> metadata.rollbacks.map { case (instant, rollback) =>
        instant -> Seq(RollbackMetadata.record(rollback))
      },
      "version" -> 1,
      "restoreInstantInfo" -> metadata.instants.map(RestorePlan.info)
    )
  )

  def decode(bytes: Array[Byte]): RestoreMetadata = of(AvroRecords.decode(bytes))

  private[timeline] def of(metadata: GenericRecord): RestoreMetadata = {
    requireFields(metadata, "instantsToRollback")
    val infos = RestorePlan.rolledBack(metadata.records("restoreInstantInfo"))
    val known = infos.map(_.instant).toSet
    RestoreMetadata(
      startTime = metadata.string("startRestoreTime").getOrElse(""),
      elapsedMs = metadata.long("timeTakenInMillis"),
      instants =
        infos ++ metadata.strings("instantsToRollback").filterNot(known).map(RolledBack(_, "")),
      rollbacks = metadata.recordsMap("hoodieRestoreMetadata").collect { case (instant, rollback +: _) =>
        instant -> RollbackMetadata.of(rollback)
      }
    )
  }
}
