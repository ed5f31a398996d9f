package io.merganser.table.timeline

import io.merganser.table.file.{FileGroupId, FileNames}
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
  import AvroRecordType.Described

  private val RunsAtOnceKey = "merganser.runsAtOnce"

  private val Execution = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"

  private val Slice = new AvroRecordType[ClusteringSlice](
    "HoodieSliceInfo",
    // Empty, not null, for a slice without one: other engines look at its length.
    optional("dataFilePath", Str).from(_.baseFile.getOrElse("")),
    optional("deltaFilePaths", array(Str)).from(_.logFiles),
    optional("fileId", Str).from(_.fileId),
    optional("partitionPath", Str).from(_.partitionPath),
    optional("bootstrapFilePath", Str).from(_ => ""),
    version(1).from(_ => 1)
  )

  private val Group = new AvroRecordType[ClusteringGroup](
    "HoodieClusteringGroup",
    optional("slices", array(Slice.schema)).from(_.slices.map(Slice(_))),
    optional("metrics", map(Dbl)).from(_.metrics),
    withDefault("numOutputFileGroups", orNull(Int), Integer.valueOf(1)).from(_.outputGroups),
    optional("extraMetadata", map(Str)).unset,
    version(1).from(_ => 1)
  )

  private val Strategy = new AvroRecordType[ClusteringPlan](
    "HoodieClusteringStrategy",
    optional("strategyClassName", Str).from(_ => Execution),
    optional("strategyParams", map(Str)).from(_.params),
    version(1).from(_ => 1)
  )

  /** Of a plan with whole paths of files, as other engines read it. */
  private[timeline] val Record = new AvroRecordType[ClusteringPlan](
    "HoodieClusteringPlan",
    optional("inputGroups", array(Group.schema)).from(_.groups.map(Group(_))),
    optional("strategy", Strategy.schema).from(Strategy(_)),
    optional("extraMetadata", map(Str))
      .from(plan => if (plan.runsAtOnce) Map(RunsAtOnceKey -> "true") else Map.empty),
    version(1).from(_ => 1),
    optional("preserveHoodieMetadata", Bool).from(_.preservesCommit),
    optional("missingSchedulePartitions", array(Str)).unset
  )

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
  import AvroRecordType.Described

  private[timeline] val Record = new AvroRecordType[RequestedReplace](
    "HoodieRequestedReplaceMetadata",
    optional("operationType", Str).from(_.operationType.map(_.name)),
    optional("clusteringPlan", ClusteringPlan.Record.schema).from(_.plan.map(ClusteringPlan.Record(_))),
    optional("extraMetadata", map(Str)).from(_.plan.map(_ => Map.empty)),
    version(1).from(_ => 1)
  )

  /** For an insert overwrite or a partition delete, which have no plan. */
  def empty: Array[Byte] = Record.encode(RequestedReplace(None, None))

  /** @param path makes the full path of a file, of its path relative to the table */
  def clustering(plan: ClusteringPlan, path: String => String): Array[Byte] = {
    def whole(slice: ClusteringSlice) = {
      def full(name: String) = path(FileNames.path(slice.partitionPath, name))
      slice.copy(baseFile = slice.baseFile.map(full), logFiles = slice.logFiles.map(full))
    }
    val groups = plan.groups.map(group => group.copy(slices = group.slices.map(whole)))
    Record.encode(RequestedReplace(Some(OperationType.Cluster), Some(plan.copy(groups = groups))))
  }

  def decode(bytes: Array[Byte]): RequestedReplace =
    if (bytes.isEmpty) RequestedReplace(None, None)
    else {
      val request = AvroRecords.decode(bytes)
      RequestedReplace(request.string("operationType").map(OperationType.parse),
        request.record("clusteringPlan").map(ClusteringPlan.read))
    }
}
