package io.merganser.table.timeline

import io.merganser.table.file.FileGroupId
import io.merganser.table.storage.Parallel

/** The services and savepoints of a timeline: what they have planned and done. */
private[timeline] trait ServiceInstants { this: Timeline =>

  /**
   * The plan of a compaction or log compaction, whatever state the instant has: on an earlier timeline it may have had
   * another one.
   *
   * @throws io.merganser.merge.MerganserException READ_TAKEN_BACK, TIMELINE_FILE_UNREADABLE
   */
  def compactionPlan(instant: Instant): CompactionPlan =
    files.decodePlan(find(instant.requested, instant.action).getOrElse(instant))(CompactionPlan.decode)

  /** The plan of a compaction, unless its file is gone. */
  def plannedBy(compaction: Instant): Option[CompactionPlan] =
    if (files.has(compaction, InstantState.Requested)) Some(compactionPlan(compaction)) else None

  /**
   * What a completed rollback deleted.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def rollback(instant: Instant): RollbackMetadata =
    files.decodeCompleted(instant)(RollbackMetadata.decode)

  /**
   * What a completed restore took back.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def restore(instant: Instant): RestoreMetadata = files.decodeCompleted(instant)(RestoreMetadata.decode)

  /**
   * Whether a rollback took back a completed write, as each of ours did. One of another engine may have removed what a
   * failed write had left.
   */
  private[table] def isOfCompleted(rollback: Instant): Boolean =
    files.named(rollback, InstantState.Requested).exists(name =>
      files.decodeOnce(name)(ifNotEmpty(RestorePlan.decode)).flatten.isDefined)

  /** Completed restores, the oldest first. */
  def restores: Seq[Instant] = instants.filter(i => i.isCompleted && i.action == Action.Restore)

  /** Completed rollbacks, the oldest first. */
  def rollbacks: Seq[Instant] = instants.filter(i => i.isCompleted && i.action == Action.Rollback)

  /**
   * What completed cleans deleted and what pending ones will delete.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def cleans: Seq[Cleaned] =
    Parallel.map(instants.filter(_.action == Action.Clean))(cleaned).flatten

  /** [[cleans]] without those that an earlier timeline has completed, with their instants. */
  private[table] def cleansSince(earlier: Timeline): Seq[(Instant, Cleaned)] = {
    val known = earlier.instants.filter(i => i.action == Action.Clean && i.isCompleted).toSet
    instants.filter(i => i.action == Action.Clean && !known(i)).flatMap(i => cleaned(i).map(i -> _))
  }

  /** What a clean deleted, or will. */
  private[table] def cleaned(clean: Instant): Option[Cleaned] =
    if (clean.isCompleted)
      Some(files.decodeOnce(files.name(clean, InstantState.Completed), files.archive.content(clean))(
          Cleaned.ofMetadata))
    else files.named(clean, InstantState.Requested).map(files.decodeOnce(_)(Cleaned.ofPlan))

  /** The newest clean that has completed. */
  private[table] def lastClean: Option[Instant] =
    instants.reverseIterator.find(i => i.action == Action.Clean && i.isCompleted)

  /** Cleans that have not completed, the oldest first. */
  private[table] def pendingCleans: Seq[Instant] = pending.filter(_.action == Action.Clean)

  /**
   * The plan of a clean; None if its process ended before it wrote one.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def cleanPlan(clean: Instant): Option[CleanPlan] =
    files.named(clean, InstantState.Requested).flatMap(files.decode(_, files.archive.plan(clean))(
        ifNotEmpty(CleanPlan.decode)))

  /**
   * The metadata of a completed clean; None if the file is empty.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def cleanMetadata(clean: Instant): Option[CleanMetadata] =
    files.decodeCompleted(clean)(ifNotEmpty(CleanMetadata.decode))

  /** Instants of savepoints, completed or not. */
  private[table] def savepoints: Seq[Instant] = instants.filter(_.action == Action.Savepoint)

  /**
   * Names of the files that completed savepoints retain, by partition path.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] lazy val savedFiles: Map[String, Set[String]] =
    Parallel.map(savepoints.filter(_.isCompleted))(savepoint).flatMap(_.files).groupBy(_._1).map {
      case (partition, names) => partition -> names.flatMap(_._2).toSet
    }

  /**
   * The content of a completed savepoint; without files if the file is empty.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def savepoint(instant: Instant): SavepointMetadata =
    files.decode(files.name(instant, InstantState.Completed))(ifNotEmpty(SavepointMetadata.decode)).getOrElse(
      SavepointMetadata("", 0L, "", Map.empty))

  private def ifNotEmpty[T](decode: Array[Byte] => T)(bytes: Array[Byte]): Option[T] =
    if (bytes.isEmpty) None else Some(decode(bytes))

  /** File groups in a pending compaction, with its instant. */
  lazy val groupsInCompaction: Map[FileGroupId, String] =
    pendingCompactions.flatMap(instant => compactionPlan(instant).groups.map(_ -> instant.requested)).toMap

  /** File groups in a pending log compaction, with its instant. */
  lazy val groupsInLogCompaction: Map[FileGroupId, String] =
    pendingLogCompactions.flatMap(instant => compactionPlan(instant).groups.map(_ -> instant.requested)).toMap

  /** File groups in a pending clustering, with its instant; they must not be updated. */
  lazy val groupsInClustering: Map[FileGroupId, String] =
    pendingReplaces.flatMap { case (instant, request) => request.clusteredGroups.map(_ -> instant.requested) }.toMap

  /** Pending clusterings; in layout 1 their file names do not distinguish them from replacecommits. */
  private[table] lazy val pendingClusterings: Set[String] = plannedClusterings.map(_._1.requested).toSet

  /** Pending clusterings with their plans, oldest first. */
  def plannedClusterings: Seq[(Instant, ClusteringPlan)] = pendingReplaces.collect {
    case (instant, request) if request.isClustering =>
      instant -> request.plan.getOrElse(ClusteringPlan(Nil, Map.empty, preservesCommit = true))
  }

  /** Whether a pending clustering was planned for the run that follows, see [[ClusteringPlan]]. */
  private[table] def runsAtOnce(clustering: String): Boolean =
    plannedClusterings.exists { case (instant, plan) => instant.requested == clustering && plan.runsAtOnce }

  /** Writes that have not completed, without clusterings, in both layouts. */
  def runningWrites: Seq[Instant] = pendingWrites.filterNot(i => pendingClusterings(i.requested))

  /**
   * The plan of a clustering, whatever state the instant has; None for another replacecommit, and if it is archived.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def clusteringPlan(instant: Instant): Option[ClusteringPlan] =
    files.named(find(instant.requested, instant.action).getOrElse(instant), InstantState.Requested)
      .flatMap(name => files.decodeOnce(name)(RequestedReplace.decode).plan)

  private[timeline] lazy val pendingReplaces: Seq[(Instant, RequestedReplace)] =
    pending.filter(_.action.whenCompleted == Action.ReplaceCommit).map { instant =>
      val request =
        files.named(instant, InstantState.Requested).flatMap(name =>
          files.ifPresent(files.decodeOnce(name)(RequestedReplace.decode)))
      instant -> request.getOrElse(RequestedReplace(None, None))
    }

  /** File groups that completed replacecommits removed. */
  lazy val replacedGroups: Set[FileGroupId] =
    completed.filter(_.action == Action.ReplaceCommit).flatMap(metadata(_).replaced).toSet

  private lazy val replaces: Set[String] = completed.filter(_.action == Action.ReplaceCommit).map(_.requested).toSet

  private[table] def isReplace(requested: String): Boolean = replaces(requested)

  /** The first replacecommit that removed a file group. */
  private[table] def replacedAt(group: FileGroupId): Option[String] =
    completed.find(i => i.action == Action.ReplaceCommit && metadata(i).replaced(group)).map(_.requested)
}
