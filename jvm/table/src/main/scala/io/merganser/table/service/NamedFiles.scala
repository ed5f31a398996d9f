package io.merganser.table.service

import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{ArchivedTimeline, CommitMetadata, Timeline}

import scala.collection.mutable

/** What is known of the files of an instant. */
private[service] sealed trait Named

private[service] object Named {

  /** Too old to know, or a commit whose metadata names no files. */
  case object Unknown extends Named

  /** There is no such commit. */
  case object NoCommit extends Named

  final case class Files(paths: Set[String]) extends Named

  def of(metadata: CommitMetadata): Named = {
    val paths = metadata.stats.flatMap { case (partition, stats) =>
      stats.flatMap(s => s.path +: s.cdcStats.keys.toSeq).filter(_.nonEmpty).flatMap(path =>
        Seq(path, FileNames.path(partition, path.drop(path.lastIndexOf('/') + 1))))
    }.toSet
    if (paths.isEmpty) Unknown else Files(paths)
  }
}

/** The files that commits name, on the timeline and in the history. */
private[service] final class NamedFiles(storage: Storage, config: TableConfig, timeline: Timeline) {

  /** An instant of which nothing is known may be missing. */
  def apply(instants: Set[String]): Map[String, Named] = {
    val (archived, others) = instants.partition(isBeforeTimeline)
    val here = Parallel.map(others.toSeq, "read commits")(i =>
      i -> timeline.metadata(i).fold[Named](Named.NoCommit)(Named.of)).toMap
    val later = inHistory(here.collect { case (instant, Named.NoCommit) => instant }.toSet)
    here ++ later ++ archivedOnes(archived)
  }

  private lazy val archive = new ArchivedTimeline(storage, config)

  /** Instants before the first write on the timeline; all, if it has none. */
  private def isBeforeTimeline(instant: String): Boolean =
    timeline.metadata(instant).isEmpty && timeline.start.forall(instant < _)

  /**
   * The timeline may begin with an old write that had a savepoint, which another engine has deleted: the history then
   * has later writes.
   */
  private def inHistory(instants: Set[String]): Map[String, Named] =
    if (instants.isEmpty || timeline.isWhole) Map.empty
    else archive.newestFirst(Some(instants.min), Some(instants.max)).collect {
      case (instant, metadata) if instants(instant.requested) => instant.requested -> Named.of(metadata)
    }.toMap

  /** One pass over the history, which has every write between its first and its last. */
  private def archivedOnes(instants: Set[String]): Map[String, Named] =
    if (instants.isEmpty || timeline.isWhole) Map.empty
    else {
      val found  = mutable.Map.empty[String, Named]
      var newest = Option.empty[String]
      var oldest = Option.empty[String]
      archive.newestFirst(None, None).foreach { case (instant, metadata) =>
        if (newest.isEmpty) newest = Some(instant.requested)
        oldest = Some(instant.requested)
        if (instants(instant.requested)) found(instant.requested) = Named.of(metadata)
      }
      instants.filter(i => !found.contains(i) && oldest.exists(_ < i) && newest.exists(i < _)).foreach(
        found(_) = Named.NoCommit)
      found.toMap
    }
}
