package io.merganser.table.commit

import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, OperationType, Timeline}

/** Conflicts of a write with commits of other writers since it began. */
private[table] object Conflicts {

  /**
   * @param nonBlocking the write only appends to logs, also where others have appended
   * @param refusesClustered whether a file group in a pending clustering is a conflict, by the clustering's instant
   * @return why the write cannot be committed, if it cannot
   */
  def find(
      began: Timeline,
      now: Timeline,
      instant: String,
      action: Action,
      metadata: CommitMetadata,
      touched: Set[FileGroupId],
      nonBlocking: Boolean = false,
      refusesClustered: String => Boolean = _ => true
  ): Option[String] = {
    val ours  = touched ++ metadata.touched
    val bases = replacesBases(metadata)

    // A compaction changes no row, and log files written meanwhile are assigned to a slice by their completion time. A
    // base file written meanwhile would not be.
    val committed = completedSince(began, now, instant).iterator.flatMap { other =>
      val done = now.metadata(other)
      val (mine, theirs) =
        if (action == Action.Compaction || action == Action.LogCompaction) (ours, replacesBases(done))
        else if (done.operationType == OperationType.Compact) (bases, done.touched)
        // A base file written meanwhile has the rows of the logs that it replaces, and a later read ignores it.
        else if (done.operationType == OperationType.LogCompact) (Set.empty[FileGroupId], Set.empty[FileGroupId])
        // Another file group of the same bucket is a conflict: keys would be stored in both.
        else if (nonBlocking) (ours, replacesBases(done) ++ (done.touched -- ours))
        else (ours, done.touched)
      val places = mine.map(bucketOrGroup)
      theirs.find(group => places(bucketOrGroup(group))).map { group =>
        s"${other.action} ${other.requested} changed $group since the write began"
      }
    }
    def clustered = now.groupsInClustering.collectFirst {
      case (group, clustering) if clustering != instant && ours(group) && refusesClustered(clustering) =>
        s"$group is in the planned clustering $clustering; where no process is running that, CALL " +
          s"run_clustering(op => 'execute', instants => '$clustering') runs it, and op => 'purge_pending_instant' " +
          "removes it" + (if (now.runsAtOnce(clustering)) s"; if its process has died, later writes remove it" else "")
    }
    def compacted = now.groupsInCompaction.collectFirst {
      case (group, compaction)
          if (bases(group) || (action == Action.LogCompaction && ours(group))) && compaction != instant &&
            !began.groupsInCompaction.get(group).contains(compaction) =>
        s"$group is being compacted by $compaction"
    }
    takenBack(began, now).orElse(committed.take(1).toList.headOption).orElse(clustered).orElse(compacted)
  }

  /** A restore, or a rollback of a completed write, since the table was read. */
  private def takenBack(began: Timeline, now: Timeline): Option[String] = {
    val known = began.instants.toSet
    val reads = began.completed.map(_.requested).toSet
    now.restores.find(!known(_)).map(i => s"restore ${i.requested} took back commits since the table was read").orElse(
      now.rollbacks.filterNot(known).flatMap(i => now.rollback(i).instants.map(i -> _.instant)).collectFirst {
        case (rollback, instant) if reads(instant) =>
          s"rollback ${rollback.requested} took back commit $instant since the table was read"
      })
  }

  /** A later commit to a partition whose rows the write replaces: rows of that commit would not be replaced. */
  def addedTo(replaces: String => Boolean, began: Timeline, now: Timeline, instant: String): Option[String] =
    completedSince(began, now, instant).iterator.flatMap { other =>
      val done = now.metadata(other)
      done.stats.collectFirst {
        case (partition, stats)
            if stats.nonEmpty && replaces(partition) && done.operationType != OperationType.LogCompact =>
          s"${other.action} ${other.requested} wrote to partition '$partition', whose rows this write replaces"
      }
    }.take(1).toList.headOption

  /**
   * A later commit after which keys of a partition belong into other file groups than this write put them in.
   *
   * @param ranges file groups of the ranges of a partition in which the write placed its rows
   */
  def rangesChanged(
      ranges: Option[String => Set[FileGroupId]],
      partitions: Set[String],
      began: Timeline,
      now: Timeline,
      instant: String
  ): Option[String] = ranges.flatMap { groups =>
    val changed = for {
      other <- completedSince(began, now, instant).iterator
      done = now.metadata(other)
      if done.operationType != OperationType.Compact
      replaced = done.replaced
      group <- done.touched.iterator
      if partitions(group.partitionPath) && (replaced(group) || !groups(group.partitionPath)(group))
    } yield s"${other.action} ${other.requested} changed the buckets of partition '${group.partitionPath}'"
    changed.take(1).toList.headOption
  }

  /**
   * A clean that removed files of a group before the write listed it: newer files of the group are not visible to the
   * write, so its keys were not found.
   */
  def cleaned(listed: ListedGroups, began: Timeline, now: Timeline): Option[String] =
    if (listed.partitions.isEmpty) None
    else {
      val gone = for {
        (clean, cleaned)   <- now.cleansSince(began).iterator
        (partition, names) <- cleaned.files.iterator if listed.partitions(partition)
        group              <- names.iterator.flatMap(FileNames.fileId(_)).map(FileGroupId(partition, _))
        if !listed.groups(group) && !began.replacedGroups(group)
      } yield s"clean ${clean.requested} removed files of $group before the write read their keys"
      gone.take(1).toList.headOption
    }

  /**
   * Reads what the comparison needs of other writers: of a timeline that begins with `now` it is not read again.
   *
   * @param known  timelines since which the commits of others are compared
   * @param listed what the write has listed
   */
  def readAhead(known: Seq[Timeline], now: Timeline, instant: String, listed: ListedGroups): Unit = {
    now.readAhead(known.flatMap(completedSince(_, now, instant)).distinct)
    if (listed.partitions.nonEmpty) known.foreach(now.cleansSince)
    now.readPlans()
  }

  def completedSince(began: Timeline, now: Timeline, instant: String): Seq[Instant] = {
    val known = began.completed.map(_.requested).toSet
    now.completed.filterNot(i => known(i.requested) || i.requested == instant)
  }

  /** A bucket counts as one group, though two writers that both create it use different file ids. */
  private def bucketOrGroup(group: FileGroupId): FileGroupId =
    FileNames.bucketOf(group.fileId).fold(group)(bucket => group.copy(fileId = bucket.toString))

  private def replacesBases(metadata: CommitMetadata): Set[FileGroupId] =
    metadata.stats.toSeq.flatMap { case (partition, stats) =>
      stats.filterNot(_.isLogFile).map(stat => FileGroupId(partition, stat.fileId))
    }.toSet ++
      metadata.replaced
}
