package io.merganser.table.timeline

import org.apache.avro.Schema
import org.apache.avro.generic.GenericRecord

/** Avro schemas of the timeline's files; the field order is the format's. */
private[timeline] object TimelineSchemas {

  import AvroRecords._

  private val RuntimeStats: Schema =
    record("HoodieRuntimeStats", Seq("totalScanTime", "totalCreateTime", "totalUpsertTime").map(optional(_, Lng)): _*)

  val WriteStat: Schema = record(
    "HoodieWriteStat",
    optional("fileId", Str),
    optional("path", Str),
    optional("prevCommit", Str),
    optional("numWrites", Lng),
    optional("numDeletes", Lng),
    optional("numUpdateWrites", Lng),
    optional("totalWriteBytes", Lng),
    optional("totalWriteErrors", Lng),
    optional("partitionPath", Str),
    optional("totalLogRecords", Lng),
    optional("totalLogFiles", Lng),
    optional("totalUpdatedRecordsCompacted", Lng),
    optional("numInserts", Lng),
    optional("totalLogBlocks", Lng),
    optional("totalCorruptLogBlock", Lng),
    optional("totalRollbackBlocks", Lng),
    optional("fileSizeInBytes", Lng),
    optional("logVersion", Int),
    optional("logOffset", Lng),
    optional("baseFile", Str),
    optional("logFiles", array(Str)),
    optional("cdcStats", map(Lng)),
    optional("prevBaseFile", Str),
    optional("minEventTime", Lng),
    optional("maxEventTime", Lng),
    optional("runtimeStats", RuntimeStats),
    optional("totalLogFilesCompacted", Lng),
    optional("totalLogReadTimeMs", Lng),
    optional("totalLogSizeCompacted", Lng),
    optional("tempPath", Str),
    optional("numUpdates", Lng)
  )

  /** New fields at each call: an Avro field belongs to one record. */
  private def commitFields: Seq[Schema.Field] = Seq(
    optional("partitionToWriteStats", map(array(WriteStat))),
    optional("compacted", Bool),
    optional("extraMetadata", map(Str)),
    version(1),
    optional("operationType", Str)
  )

  val CommitMetadata: Schema = record("HoodieCommitMetadata", commitFields: _*)

  val ReplaceCommitMetadata: Schema =
    record("HoodieReplaceCommitMetadata", commitFields :+ optional("partitionToReplaceFileIds", map(array(Str))): _*)

  val CompactionOperation: Schema = record(
    "HoodieCompactionOperation",
    optional("baseInstantTime", Str),
    optional("deltaFilePaths", array(Str)),
    optional("dataFilePath", Str),
    optional("fileId", Str),
    optional("partitionPath", Str),
    optional("metrics", map(Schema.create(Schema.Type.DOUBLE))),
    optional("bootstrapFilePath", Str)
  )

  private val CompactionStrategy: Schema = record(
    "HoodieCompactionStrategy",
    optional("compactorClassName", Str),
    optional("strategyParams", map(Str)),
    version(1)
  )

  val CompactionPlan: Schema = record(
    "HoodieCompactionPlan",
    optional("operations", array(CompactionOperation)),
    optional("extraMetadata", map(Str)),
    version(1),
    optional("strategy", CompactionStrategy),
    withDefault("preserveHoodieMetadata", Schema.createUnion(Bool, Schema.create(Schema.Type.NULL)),
      java.lang.Boolean.FALSE),
    optional("missingSchedulePartitions", array(Str))
  )

  val SliceInfo: Schema = record(
    "HoodieSliceInfo",
    optional("dataFilePath", Str),
    optional("deltaFilePaths", array(Str)),
    optional("fileId", Str),
    optional("partitionPath", Str),
    optional("bootstrapFilePath", Str),
    version(1)
  )

  val ClusteringGroup: Schema = record(
    "HoodieClusteringGroup",
    optional("slices", array(SliceInfo)),
    optional("metrics", map(Schema.create(Schema.Type.DOUBLE))),
    withDefault("numOutputFileGroups", Schema.createUnion(Int, Schema.create(Schema.Type.NULL)), Integer.valueOf(1)),
    optional("extraMetadata", map(Str)),
    version(1)
  )

  val ClusteringStrategy: Schema = record(
    "HoodieClusteringStrategy",
    optional("strategyClassName", Str),
    optional("strategyParams", map(Str)),
    version(1)
  )

  val ClusteringPlan: Schema = record(
    "HoodieClusteringPlan",
    optional("inputGroups", array(ClusteringGroup)),
    optional("strategy", ClusteringStrategy),
    optional("extraMetadata", map(Str)),
    version(1),
    optional("preserveHoodieMetadata", Bool),
    optional("missingSchedulePartitions", array(Str))
  )

  val RequestedReplaceMetadata: Schema = record(
    "HoodieRequestedReplaceMetadata",
    optional("operationType", Str),
    optional("clusteringPlan", ClusteringPlan),
    optional("extraMetadata", map(Str)),
    version(1)
  )

  val InstantInfo: Schema = record("HoodieInstantInfo", required("commitTime", Str), required("action", Str))

  private def empty = java.util.Collections.emptyList[AnyRef]()

  val RollbackRequest: Schema = record(
    "HoodieRollbackRequest",
    required("partitionPath", Str),
    optional("fileId", Str),
    optional("latestBaseInstant", Str),
    withDefault("filesToBeDeleted", array(Str), empty),
    optional("logBlocksToBeDeleted", map(Lng))
  )

  val RollbackPlan: Schema = record(
    "HoodieRollbackPlan",
    optional("instantToRollback", InstantInfo),
    optional("RollbackRequests", array(RollbackRequest)),
    version(1)
  )

  val RollbackPartitionMetadata: Schema = record(
    "HoodieRollbackPartitionMetadata",
    required("partitionPath", Str),
    required("successDeleteFiles", array(Str)),
    required("failedDeleteFiles", array(Str)),
    optional("rollbackLogFiles", map(Lng)),
    optional("logFilesFromFailedCommit", map(Lng))
  )

  val RollbackMetadata: Schema = record(
    "HoodieRollbackMetadata",
    required("startRollbackTime", Str),
    required("timeTakenInMillis", Lng),
    required("totalFilesDeleted", Int),
    required("commitsRollback", array(Str)),
    required("partitionMetadata", map(RollbackPartitionMetadata)),
    version(1),
    withDefault("instantsRollback", array(InstantInfo), empty)
  )

  /** Fields of ours: what is removed, by partition path, and the log blocks that are revoked, by the file's path. */
  private def removedFields: Seq[Schema.Field] =
    Seq(optional("removedInstants", array(InstantInfo)), optional("removedFiles", map(array(Str))),
      optional("revokedBlocks", map(array(Str))))

  val RestorePlan: Schema = record(
    "HoodieRestorePlan",
    Seq(
      withDefault("instantsToRollback", array(InstantInfo), empty),
      version(2),
      optional("savepointToRestoreTimestamp", Str)
    ) ++ removedFields: _*
  )

  val CompletedRollbackPlan: Schema = record(
    "HoodieRollbackPlan",
    Seq(
      optional("instantToRollback", InstantInfo),
      optional("RollbackRequests", array(RollbackRequest)),
      version(1)
    ) ++ removedFields: _*
  )

  val RestoreMetadata: Schema = record(
    "HoodieRestoreMetadata",
    required("startRestoreTime", Str),
    required("timeTakenInMillis", Lng),
    required("instantsToRollback", array(Str)),
    required("hoodieRestoreMetadata",
      map(array(Schema.createUnion(Schema.create(Schema.Type.NULL), RollbackMetadata)))),
    version(1),
    withDefault("restoreInstantInfo", array(InstantInfo), empty)
  )

  private val ActionInstant: Schema =
    record("HoodieActionInstant", required("timestamp", Str), required("action", Str), required("state", Str))

  private val CleanFileInfo: Schema =
    record("HoodieCleanFileInfo", optional("filePath", Str), optional("isBootstrapBaseFile", Bool))

  val CleanerPlan: Schema = record(
    "HoodieCleanerPlan",
    optional("earliestInstantToRetain", ActionInstant),
    withDefault("lastCompletedCommitTimestamp", Str, ""),
    required("policy", Str),
    optional("filesToBeDeletedPerPartition", map(array(Str))),
    version(1),
    optional("filePathsToBeDeletedPerPartition", map(array(CleanFileInfo))),
    optional("partitionsToBeDeleted", array(Str)),
    optional("extraMetadata", map(Str))
  )

  val CleanPartitionMetadata: Schema = record(
    "HoodieCleanPartitionMetadata",
    required("partitionPath", Str),
    required("policy", Str),
    required("deletePathPatterns", array(Str)),
    required("successDeleteFiles", array(Str)),
    required("failedDeleteFiles", array(Str)),
    optional("isPartitionDeleted", Bool)
  )

  val CleanMetadata: Schema = record(
    "HoodieCleanMetadata",
    required("startCleanTime", Str),
    required("timeTakenInMillis", Lng),
    required("totalFilesDeleted", Int),
    required("earliestCommitToRetain", Str),
    withDefault("lastCompletedCommitTimestamp", Str, ""),
    required("partitionMetadata", map(CleanPartitionMetadata)),
    version(1),
    optional("bootstrapPartitionMetadata", map(CleanPartitionMetadata)),
    optional("extraMetadata", map(Str))
  )

  val SavepointPartitionMetadata: Schema = record("HoodieSavepointPartitionMetadata", required("partitionPath", Str),
    required("savepointDataFile", array(Str)))

  val SavepointMetadata: Schema = record(
    "HoodieSavepointMetadata",
    required("savepointedBy", Str),
    required("savepointedAt", Lng),
    required("comments", Str),
    required("partitionMetadata", map(SavepointPartitionMetadata)),
    version(1)
  )

  def cleanFileInfo(path: String): GenericRecord =
    build(CleanFileInfo, "filePath" -> path, "isBootstrapBaseFile" -> false)

  def completedInstant(instant: Instant): GenericRecord = build(ActionInstant, "timestamp" -> instant.requested,
    "action" -> instant.action.name, "state" -> instant.state.shown)
}
