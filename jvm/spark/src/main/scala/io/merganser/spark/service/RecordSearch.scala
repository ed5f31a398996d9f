package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.KeyBuckets
import io.merganser.table.explain.{CandidateGroup, GroupHistory, OpenedFiles, RecordHistory}
import io.merganser.table.file.FileGroupId
import io.merganser.table.slice.{FileSlice, LogInserts}
import io.merganser.table.timeline.Action
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where a key was searched.
 *
 * @param partitions number of partitions that were listed
 * @param fileGroups in them, those that were replaced and not cleaned yet included
 * @param candidates of these, those that the index admits
 */
final case class SearchedFiles(partitions: Int, fileGroups: Int, candidates: Int, opened: OpenedFiles) {

  override def toString: String = {
    def count(number: Int, one: String) = s"$number $one${if (number == 1) "" else "s"}"
    val groups                          = s"${count(partitions, "partition")} with ${count(fileGroups, "file group")}"
    val logs                            = count(opened.logFiles, "log file")
    s"$groups, of which $candidates may have the key; " +
      s"read ${count(opened.footers, "footer")}, ${count(opened.baseFiles, "base file")} and $logs"
  }
}

/**
 * The retained versions of one key.
 *
 * @param groups those that have it, the ones that readers see last
 */
final case class RecordReport(key: String, groups: Seq[GroupHistory], searched: SearchedFiles)

/** Finds the versions of one key in the file groups that can hold it. Changes nothing. */
object RecordSearch {

  /**
   * @param key       as the table stores it
   * @param partition path of the one partition to search; None: all
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING if a clean removed a file meanwhile
   */
  def explain(scope: ServiceScope, key: String, partition: Option[String]): RecordReport = {
    import scope.{settings, table}
    val folders = partition.fold(table.view.partitions)(p => table.view.partitionsAmong(Seq(p)))
    val groups  = groupsOf(table, folders)
    val buckets = if (groups.isEmpty) None else KeyBuckets.of(settings, table)
    val wanted  = UTF8String.fromString(key)
    val candidates = groups.filter { case (group, _, replaced) =>
      replaced.isDefined || buckets.forall(_.admits(group.partitionPath, group.fileId, wanted))
    }
    val found  = if (candidates.isEmpty) Nil else read(scope, key, withInserts(table, candidates))
    val opened = found.map(_.opened).foldLeft(OpenedFiles(0, 0, 0))(_ + _)
    val having = found.filter(_.steps.nonEmpty).sortBy(g => (g.replacedBy.isEmpty, g.steps.head.slice, g.partitionPath))
    RecordReport(key, having, SearchedFiles(folders.size, groups.size, candidates.size, opened))
  }

  private type Group = (FileGroupId, IndexedSeq[FileSlice], Option[String])

  private def groupsOf(table: OpenTable, partitions: Seq[String]): Seq[Group] =
    byGroup(table.view.allSlices(partitions), None) ++ replaced(table, partitions)

  private def byGroup(slices: Seq[FileSlice], replacedBy: Option[String]): Seq[Group] =
    slices.groupBy(_.group).toSeq.map { case (group, some) => (group, some.toIndexedSeq, replacedBy) }

  /** Groups that commits have replaced, as they were before; a clean may have removed them. */
  private def replaced(table: OpenTable, partitions: Seq[String]): Seq[Group] = {
    val timeline = table.timeline
    val listed   = partitions.toSet
    val gone     = timeline.replacedGroups.filter(group => listed(group.partitionPath))
    if (gone.isEmpty) Nil
    else timeline.metadataOf(timeline.completed.iterator.filter(_.action == Action.ReplaceCommit),
      most = Int.MaxValue).flatMap { case (instant, metadata) =>
      val here   = metadata.replaced.filter(gone)
      val before = timeline.completed.map(_.requested).filter(_ < instant.requested)
      if (here.isEmpty || before.isEmpty) Nil
      else {
        val view = table.view.asOf(timeline.asOf(before.max))
        byGroup(view.allSlices(here.map(_.partitionPath).toSeq).filter(s => here(s.group)), Some(instant.requested))
      }
    }.toList
  }

  private def withInserts(table: OpenTable, groups: Seq[Group]): Seq[CandidateGroup] = {
    val all       = groups.flatMap(_._2).toIndexedSeq
    val inserting = LogInserts.in(all, table.config, table.timeline, table.hasRings)
    val starts    = groups.map(_._2.size).scanLeft(0)(_ + _)
    groups.zip(starts).map { case ((group, slices, replaced), start) =>
      CandidateGroup(group.partitionPath, group.fileId, slices,
        slices.indices.filter(i => inserting(start + i)).toSet, replaced)
    }
  }

  private def read(scope: ServiceScope, key: String, groups: Seq[CandidateGroup]): Seq[GroupHistory] = {
    import scope.{session, settings, table}
    val history = new RecordHistory(table.snapshot(settings.rule), session.sessionState.conf.sessionLocalTimeZone, key)
    val tasks   = math.min(groups.size, 4 * session.sparkContext.defaultParallelism)
    ServiceStep(session, table, "explain a record") {
      Partitions.collect(session.sparkContext.parallelize(groups, tasks))(_.map(history.of))
    }
  }
}
