package io.merganser.table.timeline

import io.merganser.table.file.FileGroupId
import io.merganser.table.options.{LayoutStrategy, Options}
import org.apache.avro.generic.GenericRecord

/**
 * A file slice to cluster.
 *
 * @param baseFile name of its base file, if it has one
 * @param logFiles names of its log files
 */
final case class ClusteringSlice(
    partitionPath: String,
    fileId: String,
    baseFile: Option[String],
    logFiles: Seq[String]
) {
  def group: FileGroupId = FileGroupId(partitionPath, fileId)
}

/**
 * File slices of one partition that are sorted together.
 *
 * @param outputGroups number of file groups that they are expected to become
 * @param metrics      for other engines
 */
final case class ClusteringGroup(
    slices: Seq[ClusteringSlice],
    outputGroups: Int,
    metrics: Map[String, Double] = Map.empty
) {
  def partitionPath: String = slices.headOption.fold("")(_.partitionPath)
}

/**
 * The plan of a scheduled clustering.
 *
 * @param params          of the strategy that runs it, by the names of options
 * @param preservesCommit whether rows keep their commit time
 * @param runsAtOnce      whether it is made for the run that follows: if that dies, the plan is of no use. Other
 *                        engines do not store it.
 */
final case class ClusteringPlan(
    groups: Seq[ClusteringGroup],
    params: Map[String, String],
    preservesCommit: Boolean,
    runsAtOnce: Boolean = false
) {
  def slices: Seq[ClusteringSlice] = groups.flatMap(_.slices)

  def fileGroups: Set[FileGroupId] = slices.map(_.group).toSet

  def partitions: Seq[String] = groups.flatMap(_.slices.map(_.partitionPath)).distinct

  /** None: the runner's settings decide. Other engines do not store it. */
  def layout: Option[LayoutStrategy] = params.get(Options.LayoutStrategyOption.key).flatMap(LayoutStrategy.parse)

  /** Bytes up to which files are filled. None: the runner's settings decide; other engines do not store it. */
  def targetFileBytes: Option[Long] =
    params.get(Options.ClusteringTargetFileBytes.key).flatMap(v => scala.util.Try(v.toLong).toOption).filter(_ > 0)
}

object ClusteringPlan {

  import AvroRecords._

  private val RunsAtOnceKey = "merganser.runsAtOnce"

  private val Execution = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"

  /** @param path makes the full path of a file, of its path relative to the table, as other engines read it */
  private[timeline] def build(plan: ClusteringPlan, path: String => String): GenericRecord = {
    def full(slice: ClusteringSlice, name: String) =
      path(io.merganser.table.file.FileNames.path(slice.partitionPath, name))
    AvroRecords.build(
      TimelineSchemas.ClusteringPlan,
      "inputGroups" -> plan.groups.map { group =>
        AvroRecords.build(
          TimelineSchemas.ClusteringGroup,
          "slices" -> group.slices.map { slice =>
            AvroRecords.build(
              TimelineSchemas.SliceInfo,
              // Empty, not null, for a slice without one: other engines look at its length.
              "dataFilePath" -> slice.baseFile.fold("")(full(slice, _)),
              "deltaFilePaths" -> slice.logFiles.map(full(slice, _)),
              "fileId" -> slice.fileId,
              "partitionPath" -> slice.partitionPath,
              "bootstrapFilePath" -> "",
              "version" -> 1
            )
          },
          "metrics" -> group.metrics,
          "numOutputFileGroups" -> group.outputGroups,
          "version" -> 1
        )
      },
      "strategy" -> AvroRecords.build(TimelineSchemas.ClusteringStrategy, "strategyClassName" -> Execution,
        "strategyParams" -> plan.params, "version" -> 1),
      "extraMetadata" -> (if (plan.runsAtOnce) Map(RunsAtOnceKey -> "true") else Map.empty[String, String]),
      "version" -> 1,
      "preserveHoodieMetadata" -> plan.preservesCommit
    )
  }

  private[timeline] def read(plan: GenericRecord): ClusteringPlan = ClusteringPlan(
    plan.records("inputGroups").map { group =>
      ClusteringGroup(
        group.records("slices").map { s =>
          ClusteringSlice(s.string("partitionPath").getOrElse(""), s.string("fileId").getOrElse(""),
            s.string("dataFilePath").filter(_.nonEmpty).map(fileName), s.strings("deltaFilePaths").map(fileName))
        },
        outputGroups = math.max(1, group.optionalLong("numOutputFileGroups").fold(1)(_.toInt)),
        metrics = group.doubleMap("metrics")
      )
    },
    plan.record("strategy").fold(Map.empty[String, String])(_.stringMap("strategyParams")),
    plan.value("preserveHoodieMetadata").forall(_ == true),
    runsAtOnce = plan.stringMap("extraMetadata").get(RunsAtOnceKey).contains("true")
  )

  private def fileName(path: String): String = path.drop(path.lastIndexOf('/') + 1)
}

/** The content of the requested file of a replacecommit or a clustering. */
private[table] final case class RequestedReplace(operationType: Option[OperationType], plan: Option[ClusteringPlan]) {
  val clusteredGroups: Set[FileGroupId] = plan.fold(Set.empty[FileGroupId])(_.fileGroups)

  def isClustering: Boolean = operationType.contains(OperationType.Cluster) || clusteredGroups.nonEmpty
}

private[table] object RequestedReplace {

  import AvroRecords._

  /** For an insert overwrite or a partition delete, which have no plan. */
  def empty: Array[Byte] = AvroRecords.encode(build(TimelineSchemas.RequestedReplaceMetadata, "version" -> 1))

  /** @param path makes the full path of a file, of its path relative to the table */
  def clustering(plan: ClusteringPlan, path: String => String): Array[Byte] = AvroRecords.encode(
    build(
      TimelineSchemas.RequestedReplaceMetadata,
      "operationType" -> OperationType.Cluster.name,
      "clusteringPlan" -> ClusteringPlan.build(plan, path),
      "extraMetadata" -> Map.empty[String, String],
      "version" -> 1
    ))

  def decode(bytes: Array[Byte]): RequestedReplace =
    if (bytes.isEmpty) RequestedReplace(None, None)
    else {
      val request = AvroRecords.decode(bytes)
      RequestedReplace(request.string("operationType").map(OperationType.parse),
        request.record("clusteringPlan").map(ClusteringPlan.read))
    }
}
