package io.merganser.table.timeline

import io.merganser.table.file.{BaseFile, FileGroupId, LogFile}

/**
 * One file slice to compact.
 *
 * @param baseInstant base instant of the slice
 * @param baseFile    name of its base file, if it has one
 * @param logFiles    names of its log files
 * @param metrics     other engines' compactors require TOTAL_LOG_FILES_SIZE
 */
final case class CompactionOperation(
    partitionPath: String,
    fileId: String,
    baseInstant: String,
    baseFile: Option[String],
    logFiles: Seq[String],
    metrics: Map[String, Double] = Map.empty
) {
  def group: FileGroupId = FileGroupId(partitionPath, fileId)

  /** Of its log files. */
  def logBytes: Double = metrics.getOrElse(CompactionPlan.LogSize, 0.0)

  /** That the compaction reads and writes. */
  def ioMegabytes: Double = metrics.getOrElse(CompactionPlan.IoMegabytes, 0.0)
}

/** The plan of a scheduled compaction. */
final case class CompactionPlan(operations: Seq[CompactionOperation], extra: Map[String, String] = Map.empty) {

  def groups: Set[FileGroupId] = operations.map(_.group).toSet
}

object CompactionPlan {

  import AvroRecords._
  import AvroRecordType.Described

  private[timeline] val LogSize     = "TOTAL_LOG_FILES_SIZE"
  private[timeline] val IoMegabytes = "TOTAL_IO_MB"

  /**
   * The compaction of a slice, with the metrics that other engines read.
   *
   * @param baseInstant base instant of the slice
   */
  def operation(
      group: FileGroupId,
      baseInstant: String,
      baseFile: Option[BaseFile],
      logFiles: Seq[LogFile]
  ): CompactionOperation = {
    val megabyte = 1024.0 * 1024.0
    val logs     = logFiles.map(_.sizeBytes).sum.toDouble
    val base     = baseFile.fold(0.0)(_.sizeBytes.toDouble)
    val metrics = Map(
      LogSize -> logs,
      "TOTAL_LOG_FILES" -> logFiles.size.toDouble,
      "TOTAL_IO_READ_MB" -> (logs + base) / megabyte,
      "TOTAL_IO_WRITE_MB" -> (if (base > 0) base else logs) / megabyte,
      IoMegabytes -> (logs + base + (if (base > 0) base else logs)) / megabyte
    )
    CompactionOperation(group.partitionPath, group.fileId, baseInstant, baseFile.map(_.name), logFiles.map(_.name),
      metrics)
  }

  private val Operation = new AvroRecordType[CompactionOperation](
    "HoodieCompactionOperation",
    optional("baseInstantTime", Str).from(_.baseInstant),
    optional("deltaFilePaths", array(Str)).from(_.logFiles),
    optional("dataFilePath", Str).from(_.baseFile),
    optional("fileId", Str).from(_.fileId),
    optional("partitionPath", Str).from(_.partitionPath),
    optional("metrics", map(Dbl)).from(Map(LogSize -> 0.0) ++ _.metrics),
    optional("bootstrapFilePath", Str).unset
  )

  private val Strategy = record("HoodieCompactionStrategy", optional("compactorClassName", Str),
    optional("strategyParams", map(Str)), version(1))

  private val Record = new AvroRecordType[CompactionPlan](
    "HoodieCompactionPlan",
    optional("operations", array(Operation.schema)).from(_.operations.map(Operation(_))),
    optional("extraMetadata", map(Str)).from(plan => Some(plan.extra).filter(_.nonEmpty)),
    version(1).from(_ => 2),
    optional("strategy", Strategy).unset,
    withDefault("preserveHoodieMetadata", orNull(Bool), java.lang.Boolean.FALSE).from(_ => true),
    optional("missingSchedulePartitions", array(Str)).unset
  )

  def encode(plan: CompactionPlan): Array[Byte] = Record.encode(plan)

  /** Returns file names; plans of version 1 store full paths. */
  def decode(bytes: Array[Byte]): CompactionPlan = {
    val plan = AvroRecords.decode(bytes)
    CompactionPlan(
      plan.records("operations").map { o =>
        CompactionOperation(
          partitionPath = o.string("partitionPath").getOrElse(""),
          fileId = o.string("fileId").getOrElse(""),
          baseInstant = o.string("baseInstantTime").getOrElse(""),
          baseFile = o.string("dataFilePath").filter(_.nonEmpty).map(fileName),
          logFiles = o.strings("deltaFilePaths").map(fileName),
          metrics = o.doubleMap("metrics")
        )
      },
      plan.stringMap("extraMetadata")
    )
  }

  private def fileName(path: String): String = path.drop(path.lastIndexOf('/') + 1)
}
