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

object RolledBack {

  import AvroRecords._
  import AvroRecordType.Described

  private[timeline] val Record =
    new AvroRecordType[RolledBack]("HoodieInstantInfo", required("commitTime", Str).from(_.instant),
      required("action", Str).from(_.action))

  private[timeline] def of(info: GenericRecord): RolledBack =
    RolledBack(info.string("commitTime").getOrElse(""), info.string("action").getOrElse(""))
}

/**
 * What a rollback does in one partition.
 *
 * @param blocks log files whose blocks are revoked, with their size in bytes
 */
private[timeline] final case class RollbackRequest(
    partitionPath: String,
    fileId: String = "",
    baseInstant: String = "",
    files: Seq[String] = Nil,
    blocks: Map[String, Long] = Map.empty
)

private[timeline] object RollbackRequest {

  import AvroRecords._
  import AvroRecordType.Described

  val Record = new AvroRecordType[RollbackRequest](
    "HoodieRollbackRequest",
    required("partitionPath", Str).from(_.partitionPath),
    optional("fileId", Str).from(_.fileId),
    optional("latestBaseInstant", Str).from(_.baseInstant),
    emptyByDefault("filesToBeDeleted", Str).from(_.files),
    optional("logBlocksToBeDeleted", map(Lng)).from(_.blocks)
  )
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
  import AvroRecordType.Described

  private[timeline] def fields[A](instant: A => Option[RolledBack], requests: A => Seq[RollbackRequest]) =
    Seq[RecordField[A]](
      optional("instantToRollback", RolledBack.Record.schema).from(instant(_).map(RolledBack.Record(_))),
      optional("RollbackRequests", array(RollbackRequest.Record.schema)).from(requests(_).map(
          RollbackRequest.Record(_))),
      version(1).from(_ => 1)
    )

  private val Record = new AvroRecordType[RollbackPlan]("HoodieRollbackPlan",
    fields[RollbackPlan](plan => Some(RolledBack(plan.instant, plan.action)),
      _.files.toSeq.sortBy(_._1).map { case (partition, files) => RollbackRequest(partition, files = files) }): _*)

  def encode(plan: RollbackPlan): Array[Byte] = Record.encode(plan)

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
  import AvroRecordType.Described

  private val OfPartition = new AvroRecordType[(String, RollbackMetadata)](
    "HoodieRollbackPartitionMetadata",
    required("partitionPath", Str).from(_._1),
    required("successDeleteFiles", array(Str)).from { case (path, of) => of.deleted.getOrElse(path, Nil) },
    required("failedDeleteFiles", array(Str)).from { case (path, of) => of.failed.getOrElse(path, Nil) },
    optional("rollbackLogFiles", map(Lng)).unset,
    optional("logFilesFromFailedCommit", map(Lng)).unset
  )

  private[timeline] val Record = new AvroRecordType[RollbackMetadata](
    "HoodieRollbackMetadata",
    required("startRollbackTime", Str).from(_.startTime),
    required("timeTakenInMillis", Lng).from(_.elapsedMs),
    required("totalFilesDeleted", Int).from(_.deleted.values.map(_.size).sum),
    required("commitsRollback", array(Str)).from(_.instants.map(_.instant)),
    required("partitionMetadata", map(OfPartition.schema))
      .from(of => (of.deleted.keySet ++ of.failed.keySet).toSeq.map(path => path -> OfPartition((path, of))).toMap),
    version(1).from(_ => 1),
    emptyByDefault("instantsRollback", RolledBack.Record.schema).from(_.instants.map(RolledBack.Record(_)))
  )

  def encode(metadata: RollbackMetadata): Array[Byte] = Record.encode(metadata)

  def decode(bytes: Array[Byte]): RollbackMetadata = of(AvroRecords.decode(bytes))

  private[timeline] def of(metadata: GenericRecord): RollbackMetadata = {
    val partitions = metadata.recordMap("partitionMetadata")
    RollbackMetadata(
      startTime = metadata.string("startRollbackTime").getOrElse(""),
      elapsedMs = metadata.long("timeTakenInMillis"),
      instants = metadata.records("instantsRollback").map(RolledBack.of),
      deleted = partitions.map { case (partition, files) => partition -> files.strings("successDeleteFiles") },
      failed = partitions.map { case (partition, files) => partition -> files.strings("failedDeleteFiles") }.filter(
        _._2.nonEmpty)
    )
  }
}
