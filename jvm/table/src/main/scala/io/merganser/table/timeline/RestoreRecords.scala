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
  import AvroRecordType.Described

  private type Planned = (RestorePlan, Seq[RollbackRequest])

  /** Fields of ours: what is removed, by partition path, and the log blocks that are revoked, by the file's path. */
  private def removed = Seq[RecordField[Planned]](
    optional("removedInstants", array(RolledBack.Record.schema)).from(_._1.instants.map(RolledBack.Record(_))),
    optional("removedFiles", map(array(Str))).from(_._1.files),
    optional("revokedBlocks", map(array(Str))).from(_._1.blocks)
  )

  private val OfRestore = new AvroRecordType[Planned](
    "HoodieRestorePlan",
    Seq[RecordField[Planned]](
      emptyByDefault("instantsToRollback", RolledBack.Record.schema).from(_._1.instants.map(RolledBack.Record(_))),
      version(2).from(_ => 2),
      optional("savepointToRestoreTimestamp", Str).from(_._1.target)
    ) ++ removed: _*
  )

  private val OfRollback = new AvroRecordType[Planned]("HoodieRollbackPlan",
    RollbackPlan.fields[Planned](_._1.instants.lastOption, _._2) ++ removed: _*)

  /**
   * @param wholePath of a file of the table, by its path relative to that
   * @param sizes     of the log files whose blocks are revoked, in bytes
   */
  def encode(plan: RestorePlan, wholePath: String => String, sizes: String => Long): Array[Byte] =
    if (plan.target.isDefined) OfRestore.encode((plan, Nil))
    else OfRollback.encode((plan, requests(plan, wholePath, sizes)))

  private def requests(plan: RestorePlan, wholePath: String => String, sizes: String => Long): Seq[RollbackRequest] =
    plan.files.toSeq.sortBy(_._1).map { case (partition, names) =>
      RollbackRequest(partition, files = names.map(name => wholePath(FileNames.path(partition, name))))
    } ++ plan.blocks.keys.toSeq.sorted.flatMap { path =>
      val partition = path.take(math.max(path.lastIndexOf('/'), 0))
      FileNames.parseLog(partition, path.drop(path.lastIndexOf('/') + 1), 0L).map(log =>
        RollbackRequest(partition, log.fileId, log.instant, blocks = Map(wholePath(path) -> sizes(path))))
    }

  /** None for the plan of another engine. */
  def decode(bytes: Array[Byte]): Option[RestorePlan] = {
    val plan = AvroRecords.decode(bytes)
    if (plan.getSchema.getField("removedInstants") == null) None
    else Some(RestorePlan(
        plan.string("savepointToRestoreTimestamp"),
        plan.records("removedInstants").map(RolledBack.of),
        plan.stringsMap("removedFiles"),
        plan.stringsMap("revokedBlocks")
      ))
  }
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
  import AvroRecordType.Described

  private val Record = new AvroRecordType[RestoreMetadata](
    "HoodieRestoreMetadata",
    required("startRestoreTime", Str).from(_.startTime),
    required("timeTakenInMillis", Lng).from(_.elapsedMs),
    required("instantsToRollback", array(Str)).from(_.instants.map(_.instant)),
    required("hoodieRestoreMetadata", map(array(nullOr(RollbackMetadata.Record.schema))))
      .from(_.rollbacks.map { case (instant, rollback) => instant -> Seq(RollbackMetadata.Record(rollback)) }),
    version(1).from(_ => 1),
    emptyByDefault("restoreInstantInfo", RolledBack.Record.schema).from(_.instants.map(RolledBack.Record(_)))
  )

  def encode(metadata: RestoreMetadata): Array[Byte] = Record.encode(metadata)

  def decode(bytes: Array[Byte]): RestoreMetadata = of(AvroRecords.decode(bytes))

  private[timeline] def of(metadata: GenericRecord): RestoreMetadata = {
    requireFields(metadata, "instantsToRollback")
    val infos = metadata.records("restoreInstantInfo").map(RolledBack.of)
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
