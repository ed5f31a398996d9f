package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.KeyColumns
import io.merganser.spark.write.place.{IndexResolver, KeyBuckets, StoredKeyForm}
import io.merganser.spark.write.tag.DuplicateKeys
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.settings.{KeylessTable, WriteConfig}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{Action, CommitMetadata, CompactionOperation, CompactionPlan, Instant, OperationType}
import io.merganser.table.verify._
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StructType

import java.io.FileNotFoundException
import scala.util.Try

/**
 * What was found wrong with a table.
 *
 * @param total    number of file groups that the table has
 * @param examined those whose rows were read
 * @param notes    checks that were not made of all of them, and why
 */
final case class VerifyReport(total: Int, examined: Seq[FileGroupId], notes: Seq[String], findings: Seq[Finding])

/**
 * Looks for what is wrong with a table: its files are compared with its commits, the rows of file groups with their
 * files, and the paths of a merge with each other. Changes nothing. Rows are read in Spark tasks; the driver gets
 * counts, and one key for each of them.
 */
object VerifyService {

  /** File groups that are examined where no number is configured. */
  val DefaultGroups: Int = 1000

  /** Logs of a slice above which they are not merged again, in bytes: a task has all of its versions in memory. */
  private val MostLogBytes = 128L << 20

  private val Examples = 20

  /** Conditions of keys and paths that each write makes in its own way. */
  private val LeftToWrites = Set("TIMESTAMP_FORMAT_MISSING", "PARTITION_KIND_UNKNOWN", "KEY_GENERATOR_UNSUPPORTED")

  /**
   * @param compacted the next slice, if a compaction of ours made its base file of this one, by its plan
   * @param isLeftOut whether a compaction of ours made the base file of the next slice, but of other files by its plan,
   *                  as slices between the two were cleaned, or the plan is gone
   */
  private final case class Replayed(slice: FileSlice, compacted: Option[FileSlice], isLeftOut: Boolean)

  /**
   * @param sample number of file groups to examine; of more, those whose ids have the smallest hashes
   * @throws MerganserException SLICE_FILE_MISSING if cleans removed files during two attempts
   */
  def verify(scope: ServiceScope, sample: Option[Int]): VerifyReport = {
    val most = sample.getOrElse(DefaultGroups)
    // A file that is missing may have been cleaned since the timeline was read.
    val first = Try(examine(scope, most))
    val isMissing = first.fold(
      { case e: MerganserException => e.condition == "SLICE_FILE_MISSING"; case _ => false },
      _.findings.exists(_.kind == FindingKind.MissingFile))
    val now = if (isMissing) scope.refreshed else scope
    if (now.table.timeline.instants == scope.table.timeline.instants) first.get else examine(now, most)
  }

  /**
   * Repairs what services repair without a choice: partition metadata, keys in several places, uncommitted files; then
   * examines the table again.
   *
   * @throws MerganserException DRY_RUN_OF_SERVICE
   */
  def repair(scope: ServiceScope, sample: Option[Int]): VerifyReport = {
    import scope.{settings, table}
    settings.requireNoDryRun("repair", table.config.name)
    val found = verify(scope.keyed, sample)
    val kinds = found.findings.map(_.kind).toSet
    if (kinds(FindingKind.PartitionMetadata)) RepairService.partitions(table, settings).add(dryRun = false)
    if (kinds(FindingKind.UncommittedFile))
      RepairService.removeOrphans(table.refreshed(), settings, Some(System.currentTimeMillis()), backup = None)
    if (kinds(FindingKind.DuplicateKey) || kinds(FindingKind.OtherBucket))
      DuplicateRepair.run(scope.refreshed, partition = None)
    val repaired = FindingKind.all.filter(kind => kinds(kind) && Repaired(kind))
    if (repaired.isEmpty) found
    else {
      val after = verify(scope.refreshed.keyed, sample)
      after.copy(notes = after.notes :+ s"repaired: ${repaired.map(_.name).mkString(", ")}")
    }
  }

  private val Repaired: Set[FindingKind] = Set(FindingKind.PartitionMetadata, FindingKind.UncommittedFile,
    FindingKind.DuplicateKey, FindingKind.OtherBucket)

  private def examine(scope: ServiceScope, most: Int): VerifyReport = {
    import scope.{settings, table}
    val (slices, missing) = slicesOf(table)
    val chosen            = sampled(slices, most)
    val checks            = new SliceChecks(scope)
    val older             = olderOf(table, chosen)
    val checked           = checks.of(chosen) ++ checks.replayed(older)
    val unreadable        = checked.filter(hindersMerges).map(f => FileGroupId(f.partitionPath, f.fileId)).toSet
    val readable          = chosen.filterNot(s => unreadable(s.group))
    val findings = uncommitted(table) ++ missing ++ partitions(table, settings) ++ checked ++
      duplicates(scope, readable)
    val large   = chosen.count(isLarge) + older.count(o => isLarge(o.slice))
    val leftOut = older.count(_.isLeftOut)
    val notes = (if (older.isEmpty) Nil else Seq(s"the logs of ${older.size} older file slices were merged again")) ++
      (if (leftOut == 0) Nil
       else Seq(s"$leftOut of these were not compared with the next compaction: its plan does not name their files")) ++
      (if (large == 0) Nil else Seq(s"the logs of $large were too large to be merged again")) ++
      (if (checks.knowsPaths) Nil
       else Seq("rows were not compared with partitions, as the table does not store how their paths are made")) ++
      (if (checks.knowsKeys) Nil
       else Seq("rows were not compared with their keys, as the table does not store how these are made"))
    VerifyReport(slices.size, chosen.map(_.group), notes, sorted(findings))
  }

  /** Slices with logs that others of their file groups have replaced, as far as they are retained. */
  private def olderOf(table: OpenTable, chosen: Seq[FileSlice]): Seq[Replayed] =
    if (!table.config.isMergeOnRead) Nil
    else {
      val groups = chosen.map(_.group).toSet
      val pairs = table.view.allSlices(chosen.map(_.partitionPath).distinct).filter(s => groups(s.group))
        .groupBy(_.group).values.flatMap(slices => slices.zip(slices.drop(1))).filter(_._1.logs.nonEmpty)
        .filter(pair => pair._1.isOfRule(table.config)).toSeq
      val compactions = ourCompactions(table, pairs.flatMap(_._2.base).map(_.instant).toSet)
      pairs.map { case (slice, next) =>
        val plan       = next.base.filter(_ => slice.base.isDefined).flatMap(base => compactions.get(base.instant))
        val isReplayed = plan.exists(_.operations.exists(isOf(_, slice)))
        Replayed(slice, Some(next).filter(_ => isReplayed), isLeftOut = plan.isDefined && !isReplayed)
      }.sortBy(r => (r.slice.partitionPath, r.slice.fileId, r.slice.baseInstant))
    }

  /** Whether a compaction was planned of exactly the files of a slice. */
  private def isOf(operation: CompactionOperation, slice: FileSlice): Boolean =
    operation.group == slice.group && operation.baseFile == slice.base.map(_.name) &&
      operation.logFiles.toSet == slice.logs.map(_.name).toSet

  /**
   * The plans of compactions of ours, by instant; without operations where a plan is gone. None while a clean is under
   * way, which may have removed some of the files of a slice.
   */
  private def ourCompactions(table: OpenTable, instants: Set[String]): Map[String, CompactionPlan] =
    if (instants.isEmpty || table.timeline.instants.exists(i => i.action == Action.Clean && !i.isCompleted)) Map.empty
    else {
      val commits = table.timeline.completed.filter(i => instants(i.requested))
      readable(table, commits).collect {
        case (instant, metadata)
            if metadata.operationType == OperationType.Compact && metadata.extra.contains(CommitMetadata.WriterKey) =>
          instant.requested -> planOf(table, instant)
      }.toMap
    }

  private def planOf(table: OpenTable, compaction: Instant): CompactionPlan =
    try table.timeline.plannedBy(compaction).getOrElse(CompactionPlan(Nil))
    catch { case _: MerganserException => CompactionPlan(Nil) }

  /** Commits with their metadata; one that cannot be read is found where files are compared with commits. */
  private def readable(table: OpenTable, commits: Seq[Instant]): Seq[(Instant, CommitMetadata)] =
    try table.timeline.metadataOf(commits.iterator, most = Int.MaxValue).toList
    catch {
      case _: MerganserException => commits.flatMap { commit =>
          try Some(commit -> table.timeline.metadata(commit))
          catch { case _: MerganserException => None }
        }
    }

  private def isLarge(slice: FileSlice): Boolean = slice.logs.map(_.sizeBytes).sum > MostLogBytes

  /** Whether the rows of the file group can be read and merged by their keys. */
  private def hindersMerges(finding: Finding): Boolean =
    Seq(FindingKind.UnreadableFile, FindingKind.MissingFile, FindingKind.NullKey).contains(finding.kind)

  private def sorted(findings: Seq[Finding]): Seq[Finding] =
    findings.distinct.sortBy(f => (FindingKind.all.indexOf(f.kind), f.partitionPath, f.fileId, f.file, f.detail))

  private def sampled(slices: Seq[FileSlice], most: Int): Seq[FileSlice] =
    if (slices.size <= most) slices
    else slices.sortBy(s => (scala.util.hashing.MurmurHash3.stringHash(s.fileId), s.fileId)).take(most)
      .sortBy(s => (s.partitionPath, s.fileId))

  /** The newest slices, also of partitions of which files are missing, and what is missing. */
  private def slicesOf(table: OpenTable): (Seq[FileSlice], Seq[Finding]) =
    try { (table.view.slices, Nil) }
    catch {
      case whole: MerganserException =>
        val (slices, found) = table.view.partitionsWithMetadata.map { partition =>
          try { (table.view.slices(partition), Nil) }
          catch {
            case e: MerganserException =>
              // Without a commit of the partition its files are not known.
              val rest = Try(table.view.allSlices(partition)).getOrElse(Nil).groupBy(_.group).values.map(_.last)
              (rest.toSeq, Seq(SliceChecks.finding(partition, "", e)))
          }
        }.unzip
        val findings = found.flatten
        val isFound  = findings.nonEmpty || whole.condition == "PARTITION_METADATA_MISSING" // by the check of folders
        (slices.flatten, if (isFound) findings else Seq(SliceChecks.finding("", "", whole)))
    }

  private def uncommitted(table: OpenTable): Seq[Finding] =
    try RepairService.orphans(table, Some(System.currentTimeMillis())).map { file =>
        val partition = file.path.take(math.max(0, file.path.lastIndexOf('/')))
        Finding(FindingKind.UncommittedFile, partition, "", file.path, None, 1, file.reason)
      }
    catch { case e: MerganserException => Seq(SliceChecks.finding("", "", e)) }

  private def partitions(table: OpenTable, settings: WriteConfig): Seq[Finding] =
    RepairService.partitions(table, settings).add(dryRun = true).filterNot(_.hasMetadata).map(folder =>
      Finding(FindingKind.PartitionMetadata, folder.path, "", "", None, 1,
        "a folder with data files has no partition metadata: other engines ignore it"))

  private def duplicates(scope: ServiceScope, slices: Seq[FileSlice]): Seq[Finding] =
    if (KeylessTable.is(scope.table.config)) Nil
    else {
      import scope.{session, settings, table}
      val byPath = IndexResolver.globalKeys(settings.index, table.config).isEmpty
      val (count, keys) = ServiceStep(session, table, "find duplicates") {
        DuplicateKeys(session, table, settings, byPath).count(slices, Examples)
      }
      if (count == 0) Nil
      else {
        val where = if (byPath) "in a partition" else "in the table"
        Seq(Finding(FindingKind.DuplicateKey, keys.head._2, "", "", Some(keys.head._1), count,
            s"keys that are stored more than once $where: ${keys.map(_._1).mkString(", ")}" +
              (if (count > keys.size) ", …" else "")))
      }
    }

  /** The checks of slices, in tasks. */
  private final class SliceChecks(scope: ServiceScope) {
    import scope.{session, settings, table}
    private val config = table.config

    def of(slices: Seq[FileSlice]): Seq[Finding] =
      if (slices.isEmpty) Nil
      else {
        val place = KeyBuckets.of(settings, table)
        val bases = new BaseFileCheck(table.storage, config, table.timeline.completedInstants, table.timeline.history,
          table.rowKey, written(slices), place, ofRow)
        val replay = new SliceReplay(table.snapshot(settings.rule), place)
        val tasks  = math.min(slices.size, 4 * session.sparkContext.defaultParallelism)
        ServiceStep(session, table, "verify") {
          val shared = session.sparkContext.parallelize(slices, tasks)
          Partitions.collect(shared)(_.flatMap(SliceChecks.run(_, bases, replay)))
        }
      }

    def replayed(slices: Seq[Replayed]): Seq[Finding] =
      if (slices.isEmpty) Nil
      else {
        val replay = new SliceReplay(table.snapshot(settings.rule), place = None)
        ServiceStep(session, table, "verify older file slices") {
          val tasks = math.min(slices.size, 4 * session.sparkContext.defaultParallelism)
          Partitions.collect(session.sparkContext.parallelize(slices, tasks))(_.flatMap(SliceChecks.older(_, replay)))
        }
      }

    /** Rows of base files by the commits on the timeline. */
    private def written(slices: Seq[FileSlice]): Map[String, Long] = {
      val files    = slices.flatMap(_.base).map(_.path).toSet
      val instants = slices.flatMap(_.base).map(_.instant).toSet
      val commits  = table.timeline.completed.filter(i => instants(i.requested))
      readable(table, commits).flatMap(_._2.allStats)
        .map(stat => FileNames.path(stat.partitionPath, stat.fileName) -> stat.numWrites)
        .filter { case (file, _) => files(file) }.toMap
    }

    private val fields = config.partitionFields.map(_.takeWhile(_ != '.'))

    private val storesPaths = fields.nonEmpty && !config.dropsPartitionColumns &&
      fields.forall(table.schema.fieldNames.contains)

    /** Whether rows are compared with their partitions, if their columns are stored. */
    def knowsPaths: Boolean = !storesPaths || paths.nonEmpty

    /** In each form that writers may have used; none if the columns or their way to paths are not stored. */
    private lazy val paths: Seq[Expression] =
      if (!storesPaths) Nil
      else known(StoredKeyForm.possiblePaths(session, settings, table).map(one =>
          KeyColumns.pathOf(session, one.keyed(config), table.schema, rows)))

    private val keys = config.recordKeyFields.map(_.takeWhile(_ != '.'))

    private lazy val storesKeys =
      config.storesKeys && !KeylessTable.is(config) && keys.forall(columns.fieldNames.contains)

    /** Whether rows are compared with their keys, if these and their columns are stored. */
    def knowsKeys: Boolean = !storesKeys || madeKeys.nonEmpty

    private lazy val madeKeys: Seq[Expression] =
      if (!storesKeys) Nil
      else known(StoredKeyForm.possibleKeys(session, settings, table).map(one =>
          KeyColumns.keyOf(session, one.keyed(config), table.schema, rows)))

    private def known(made: => Seq[Expression]): Seq[Expression] =
      try made
      catch { case e: MerganserException if LeftToWrites(e.condition) => Nil }

    private lazy val columns = {
      val dropped = if (config.dropsPartitionColumns) config.partitionFields.toSet else Set.empty[String]
      StructType(table.schema.filter(f => (fields ++ keys).contains(f.name) && !dropped(f.name)))
    }

    private lazy val rows = StructType(BaseFileCheck.metaColumns ++ columns)

    private def ofRow: Option[PlaceOfRow] =
      Some(PlaceOfRow(columns, paths, madeKeys)).filter(p => p.paths.nonEmpty || p.keys.nonEmpty)
  }

  private object SliceChecks {

    def run(slice: FileSlice, bases: BaseFileCheck, replay: SliceReplay): Seq[Finding] =
      readable(slice)(slice.base.toSeq.flatMap(bases.of(slice, _))) ++
        (if (slice.logs.isEmpty || isLarge(slice)) Nil else readable(slice)(replay.of(slice)))

    def older(replayed: Replayed, replay: SliceReplay): Seq[Finding] =
      if (isLarge(replayed.slice)) Nil else readable(replayed.slice)(replay.of(replayed.slice, replayed.compacted))

    private def readable(slice: FileSlice)(check: => Seq[Finding]): Seq[Finding] =
      try check
      catch {
        case e: MerganserException => Seq(finding(slice.partitionPath, slice.fileId, e))
        case e: FileNotFoundException =>
          Seq(Finding(FindingKind.MissingFile, slice.partitionPath, slice.fileId, "", None, 1, String.valueOf(e)))
        case e: java.io.IOException =>
          Seq(Finding(FindingKind.UnreadableFile, slice.partitionPath, slice.fileId, "", None, 1, String.valueOf(e)))
      }

    /** A failure to read as what is wrong. */
    def finding(partitionPath: String, fileId: String, e: MerganserException): Finding = {
      val kind = if (e.condition == "SLICE_FILE_MISSING") FindingKind.MissingFile else FindingKind.UnreadableFile
      Finding(kind, partitionPath, fileId, String.valueOf(e.parameters.getOrElse("file", "")), None, 1,
        String.valueOf(e.getMessage))
    }
  }
}
