package io.merganser.table.timeline

import io.merganser.table.file.FileGroupId

/**
 * One file slice to compact.
 *
 * @param baseInstant of the slice
 * @param baseFile    name of its base file, if it has one
 * @param logFiles    names of its log files
 * @param metrics     TOTAL_LOG_FILES_SIZE is what other engines' compactors insist on
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
}

/** What a scheduled compaction is to do. */
final case class CompactionPlan(operations: Seq[CompactionOperation], extra: Map[String, String] = Map.empty) {

  def groups: Set[FileGroupId] = operations.map(_.group).toSet
}

object CompactionPlan {

  import AvroRecords._

  private val LogSize = "TOTAL_LOG_FILES_SIZE"

  /** An operation with the metrics that other engines read. Sizes in bytes. */
  def operation(
      partitionPath: String,
      fileId: String,
      baseInstant: String,
      baseFile: Option[(String, Long)],
      logFiles: Seq[(String, Long)]
  ): CompactionOperation = {
    val megabyte = 1024.0 * 1024.0
    val logs     = logFiles.map(_._2).sum.toDouble
    val base     = baseFile.fold(0.0)(_._2.toDouble)
    val metrics = Map(
      LogSize -> logs,
      "TOTAL_LOG_FILES" -> logFiles.size.toDouble,
      "TOTAL_IO_READ_MB" -> (logs + base) / megabyte,
      "TOTAL_IO_WRITE_MB" -> (if (base > 0) base else logs) / megabyte,
      "TOTAL_IO_MB" -> (logs + base + (if (base > 0) base else logs)) / megabyte
    )
    CompactionOperation(partitionPath, fileId, baseInstant, baseFile.map(_._1), logFiles.map(_._1), metrics)
  }

  def encode(plan: CompactionPlan): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.CompactionPlan,
      "operations" -> plan.operations.map { o =>
        build(
          TimelineSchemas.CompactionOperation,
          "baseInstantTime" -> o.baseInstant,
          "deltaFilePaths" -> o.logFiles,
          "dataFilePath" -> o.baseFile,
          "fileId" -> o.fileId,
          "partitionPath" -> o.partitionPath,
          "metrics" -> (Map(LogSize -> 0.0) ++ o.metrics)
        )
      },
      "extraMetadata" -> Some(plan.extra).filter(_.nonEmpty),
      "version" -> 2,
      "preserveHoodieMetadata" -> true
    )
  )

  /** Plans of version 1 hold whole paths; names are what is given back. */
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

/** What a replacecommit or a clustering announces before it starts. */
private[table] final case class RequestedReplace(operationType: Option[String], clusteredGroups: Set[FileGroupId]) {
  def isClustering: Boolean = operationType.contains("CLUSTER") || clusteredGroups.nonEmpty
}

private[table] object RequestedReplace {

  import AvroRecords._

  /** Of an insert overwrite or a partition delete: there is nothing to announce. */
  def empty: Array[Byte] = AvroRecords.encode(build(TimelineSchemas.RequestedReplaceMetadata, "version" -> 1))

  def decode(bytes: Array[Byte]): RequestedReplace =
    if (bytes.isEmpty) RequestedReplace(None, Set.empty)
    else {
      val announced = AvroRecords.decode(bytes)
      val slices =
        announced.record("clusteringPlan").toSeq.flatMap(_.records("inputGroups")).flatMap(_.records("slices"))
      RequestedReplace(
        announced.string("operationType"),
        slices.map(s => FileGroupId(s.string("partitionPath").getOrElse(""), s.string("fileId").getOrElse(""))).toSet
      )
    }
}
