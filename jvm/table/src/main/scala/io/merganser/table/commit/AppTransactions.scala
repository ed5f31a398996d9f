package io.merganser.table.commit

import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.merge.Json
import io.merganser.table.options.AppTransaction
import io.merganser.table.timeline.{CommitMetadata, InstantTime, Timeline}

import scala.collection.JavaConverters._

/**
 * The newest transaction of each application, in the extra metadata of commits. A commit lists those of the commits
 * before it, too, so that they outlive the archiving of these, until an application has not written for some time.
 */
object AppTransactions {

  /** A version of an application's transactions, and the instant of the commit that has it. */
  final case class Committed(version: Long, instant: String)

  /** Key in the extra metadata: JSON with an object `{"version": 3, "instant": "…"}` for each application. */
  private[table] val Key = "merganser.transactions"

  /** Commits of other engines do not list transactions: this many are searched for one of ours. */
  private val Searched = 100

  /**
   * The newest committed version of the application, if that is the transaction's or a later one. Reads the metadata of
   * one commit for an application that the newest commits list, and of all commits for a new one.
   *
   * @param searched an earlier timeline, which does not have it: only the commits since then are searched
   */
  def find(timeline: Timeline, transaction: AppTransaction, searched: Option[Timeline] = None): Option[Committed] =
    // A commit that ran beside one that was taken back may list the latter.
    newest(timeline, transaction.app, searched).filter(_.version >= transaction.version)

  private def newest(timeline: Timeline, app: String, searched: Option[Timeline]): Option[Committed] =
    timeline.newestFirst(searched).flatMap(listed).map(of(_, app)).collectFirst {
      case Some(found) if timeline.isCompleted(found.instant) => found
    }

  /** The newest commit of ours, which is to be read before the table is locked, of a timeline of that time. */
  private[table] final class Before(val timeline: Timeline) {
    val ours: Option[CommitMetadata] = newestOfOurs(timeline, None)
  }

  private def newestOfOurs(timeline: Timeline, since: Option[Timeline]): Option[CommitMetadata] =
    timeline.newestFirst(since).take(Searched).find(isOurs)

  /** Whether a commit has the list, which may be empty. */
  private[table] def isOurs(metadata: CommitMetadata): Boolean =
    isListed(metadata) || metadata.extra.contains(CommitMetadata.WriterKey)

  private[table] def isListed(metadata: CommitMetadata): Boolean = metadata.extra.contains(Key)

  /**
   * The list for a new commit.
   *
   * @param now timeline under the lock of the commit
   * @param own transaction of the commit
   * @param before what was read before the lock: only commits since then are read
   * @param hours  after which an application that has stopped writing is not listed any more; 0: for good
   */
  private[table] def extend(
      now: Timeline,
      own: Option[AppTransaction],
      instant: String,
      before: Option[Before] = None,
      hours: Long = 0L
  ): Map[String, String] = {
    val ours                 = newestOfOurs(now, before.map(_.timeline)).orElse(before.flatMap(_.ours))
    val all                  = ours.flatMap(listed).getOrElse(Json.createObjectNode())
    val start                = if (hours == 0) None else InstantTime.parse(instant).map(_.minusHours(hours))
    def isOver(t: Committed) = start.exists(from => InstantTime.parse(t.instant).exists(_.isBefore(from)))
    all.fieldNames.asScala.toList.filter(of(all, _).exists(isOver)).foreach(all.remove)
    // Those of commits that were taken back: they would count again when the timeline begins after them.
    all.fieldNames.asScala.toList.filterNot(app => of(all, app).exists(t => now.isCompleted(t.instant))).foreach {
      app =>
        all.remove(app)
        newest(now, app, None).foreach(t => all.putObject(app).put("version", t.version).put("instant", t.instant))
    }
    own.foreach(t => all.putObject(t.app).put("version", t.version).put("instant", instant))
    if (all.isEmpty) Map.empty else Map(Key -> all.toString)
  }

  private def listed(metadata: CommitMetadata): Option[ObjectNode] =
    metadata.extra.get(Key).map(Json.readTree).collect { case list: ObjectNode => list }

  private def of(list: ObjectNode, app: String): Option[Committed] =
    Option(list.get(app)).map(t => Committed(t.path("version").asLong, t.path("instant").asText))
}
