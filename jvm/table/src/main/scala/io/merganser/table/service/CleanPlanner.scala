package io.merganser.table.service

import java.time.Clock
import java.util.concurrent.ConcurrentHashMap

import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{CleaningConfig, CleaningPolicy}
import io.merganser.table.slice.{ChangeFiles, TableView}
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline._

import scala.util.Try

/** A file that a clean deletes. */
final case class CleanFile(partitionPath: String, name: String, sizeBytes: Long) {

  /** Relative to the table's base path. */
  def path: String = FileNames.path(partitionPath, name)
}

/** A plan for the timeline, with its files. */
private[table] final case class PlannedClean(plan: CleanPlan, files: Seq[CleanFile]) {
  def deletes: Boolean = files.nonEmpty || plan.partitions.nonEmpty
}

/** Plans a clean of a table as of a timeline. Lists the partitions in which files may have been superseded. */
private[table] final class CleanPlanner(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    cleaning: CleaningConfig,
    clock: Clock = Clock.systemUTC
) {
  import CleanPlanner._

  private val policy    = cleaning.policy
  private val retention = CleaningRetention.of(timeline, config, policy, clock)
  private val view      = new TableView(storage, config, timeline)

  private lazy val newest: Option[(Instant, CleanMetadata)] = timeline.instants.reverseIterator
    .filter(i => i.action == Action.Clean && i.isCompleted)
    .flatMap(i => timeline.cleanMetadata(i).map(i -> _)).take(1).toList.headOption

  /** Whether anything may be due, without a call of the store. */
  private def mayBeDue: Boolean = policy match {
    case CleaningPolicy.Versions(count) =>
      timeline.completed.size > count || timeline.completed.exists(_.action == Action.ReplaceCommit)
    case _ => retention.earliest.isDefined
  }

  /** Whether enough commits have completed since the last clean. */
  private def isTriggered: Boolean =
    newest.fold(timeline.completed.size)(n => timeline.completed.count(_.requested > n._2.lastCompleted)) >=
      cleaning.triggerCommits

  /**
   * @param onRequest also if too few commits have completed since the last clean
   * @return None if there is nothing to do; a plan without files where it saves later cleans from looking at the same
   *         commits again
   */
  def plan(onRequest: Boolean): Option[PlannedClean] =
    if (!mayBeDue || (!onRequest && !isTriggered)) None
    else {
      val scope = if (cleaning.isIncremental) changed else None
      if (scope.exists(s => s.partitions.isEmpty && s.commits <= MostCommits)) {
        retention.earliest.foreach(e => looked.put(storage.identity, e.requested))
        None
      } else {
        val found  = Parallel.map(scope.fold(view.partitions)(_.partitions), "list partitions")(inPartition)
        val files  = found.flatMap(_._1)
        val byPath = files.groupBy(_.partitionPath).map { case (path, some) => path -> some.map(_.name) }
        val plan = CleanPlan(retention.earliest, timeline.completed.lastOption.fold("")(_.requested), policy.name,
          byPath, found.flatMap(_._2), extra)
        Some(PlannedClean(plan, files)).filter(p =>
          p.deletes || (cleaning.isIncremental && newest.forall(_._2.lastCompleted < plan.lastCompleted)))
      }
    }

  private def extra: Map[String, String] = {
    val savepoints = timeline.savepoints.map(_.requested).distinct
    // Later cleans by file versions skip what this one has seen, unless it had to retain more.
    val versions = policy match {
      case CleaningPolicy.Versions(count) if !retention.hasPending => Map(VersionsKey -> count.toString)
      case _                                                       => Map.empty[String, String]
    }
    (if (savepoints.isEmpty) Map.empty[String, String]
     else Map(CleanPlan.SavepointsKey -> savepoints.mkString(","))) ++ versions
  }

  /** Files to delete in a partition, and the partition if nothing is left in it then. */
  private def inPartition(partition: String): (Seq[CleanFile], Option[String]) = {
    val saved   = timeline.savedFiles.getOrElse(partition, Set.empty[String])
    val slices  = view.allSlices(partition)
    val files   = view.dataFiles(partition)
    val changes = new ChangeFiles(files)
    val old = slices.groupBy(_.fileId).values.toSeq.flatMap { group =>
      val superseded = retention.superseded(group, saved)
      val ofSlices = superseded.flatMap { slice =>
        slice.base.map(b => CleanFile(partition, b.name, b.sizeBytes)).toSeq ++ slice.logs.map(log =>
          CleanFile(partition, log.name, log.sizeBytes))
      }
      val withChanges = changes.of(group, superseded) ++ changes.older(group).filter(f =>
        timeline.isCompleted(f.instant) && !saved(f.name))
      ofSlices ++ withChanges.map(f => CleanFile(partition, f.name, f.sizeBytes))
    }
    // A bucket may get files of the same id again.
    val replaced = files.filter(f => retention.replaced.get(f.group).exists(f.instant <= _))
    val whole    = replaced.groupBy(_.group).values.filterNot(_.exists(f => saved(f.name))).flatten.toSeq
    val all      = (old ++ whole.map(f => CleanFile(partition, f.name, f.sizeBytes))).sortBy(_.name)
    val isEmpty  = partition.nonEmpty && slices.isEmpty && view.hasOnly(partition, all.map(_.name).toSet)
    (all, if (isEmpty) Some(partition) else None)
  }

  /** Partitions that completed writes since the last clean superseded files in; None if all may have such files. */
  private def changed: Option[Scope] = policy match {
    case CleaningPolicy.Versions(count) =>
      newest.filter { case (clean, metadata) =>
        val counted = metadata.extra.get(VersionsKey).flatMap(n => Try(n.toInt).toOption)
        clean.completed.isDefined && counted.exists(_ <= count) && sameSavepoints(metadata)
      }.map { case (clean, _) =>
        val since = timeline.completed.filter(_.completed.exists(_ > clean.requested))
        scope(since, since.size)
      }
    case _ =>
      val known = newest.filter(n => sameSavepoints(n._2)).flatMap(_._2.earliest).flatMap(completed)
        .filterNot(e => timeline.start.exists(_ > e.requested))
      if (known.isDefined || (newest.isEmpty && timeline.isWhole)) {
        val seen    = known.map(since)
        val again   = Option(looked.get(storage.identity)).flatMap(completed).map(since)
        val commits = timeline.completed.filter(i => retention.isPast(i) && !seen.exists(_.isPast(i)))
        Some(scope(commits.filterNot(i => again.exists(_.isPast(i))), commits.size))
      } else None
  }

  private def completed(requested: String): Option[Instant] = timeline.completed.find(_.requested == requested)

  /** What an earlier clean looked at that retained from a write on. */
  private def since(earliest: Instant) = new CleaningRetention(timeline, policy, Some(earliest))

  /** Files that a savepoint retained are due when it is removed. */
  private def sameSavepoints(metadata: CleanMetadata): Boolean = {
    val now = timeline.savepoints.map(_.requested).toSet
    metadata.extra.get(CleanPlan.SavepointsKey).forall(_.split(',').filter(_.nonEmpty).forall(now))
  }

  private def scope(commits: Seq[Instant], count: Int): Scope = {
    val partitions = timeline.metadataOf(commits.iterator, Int.MaxValue).flatMap(c => partitionsOf(c._2))
    Scope(partitions.toSet.toSeq.sorted, count)
  }
}

private object CleanPlanner {

  /** Key in the extra metadata of our cleans by file versions: their number. */
  val VersionsKey = "merganser.clean.fileversions"

  /** So many commits are looked at again by the next clean; more of them are worth a clean that deletes nothing. */
  val MostCommits = 16

  /**
   * Of tables that this process has cleaned, by location: the earliest retained write of the last look at its commits,
   * of which none had superseded a file.
   */
  val looked = new ConcurrentHashMap[String, String]

  /** @param commits how many there are since the last clean */
  final case class Scope(partitions: Seq[String], commits: Int)

  /** The partitions in which a commit superseded files: wrote the next base file of a group, or replaced groups. */
  def partitionsOf(metadata: CommitMetadata): Set[String] = metadata.replaced.map(_.partitionPath).toSet ++
    metadata.stats.collect {
      case (partition, stats) if stats.exists(s => !s.isLogFile && isNext(metadata, s)) => partition
    }

  /** A compaction of logs without a base file writes the first one, and supersedes the logs. */
  private def isNext(metadata: CommitMetadata, stat: WriteStat): Boolean =
    stat.prevCommit != WriteStat.NoPrevCommit || metadata.operationType.isService
}
