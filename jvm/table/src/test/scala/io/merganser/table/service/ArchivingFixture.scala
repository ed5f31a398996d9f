package io.merganser.table.service

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/** Timelines of named instants that are archived. */
trait ArchivingFixture { this: TableSuite =>

  /** The nth millisecond of a minute. */
  protected def at(n: Int): String = f"202601010000$n%05d"

  /** Requested time of the nth commit, which completes a millisecond later. */
  protected def commitAt(n: Int): String = at(n * 10)

  protected def plain(n: Int): CommitMetadata =
    CommitMetadata(OperationType.Upsert,
      Map("p" -> Seq(WriteStat(s"f$n", s"p/f$n-${commitAt(n)}", partitionPath = "p"))),
      Map("schema" -> "\"string\"", "number" -> n.toString))

  protected def completedName(config: TableConfig, requested: Int, completed: Int, action: Action): String =
    InstantFile.completed(at(requested), if (config.layoutVersion >= 2) Some(at(completed)) else None, action)

  /** Commits 1 to n with the files of all their states. */
  protected def commits(
      s: Storage,
      numbers: Seq[Int],
      action: Action = Action.Commit,
      metadata: Int => CommitMetadata = plain
  ): Unit = {
    val config = TableConfig.load(s)
    numbers.foreach { n =>
      s.createNew(s"${config.timelineFolder}/${InstantFile.requested(commitAt(n), action)}", Array.emptyByteArray)
      s.createNew(s"${config.timelineFolder}/${InstantFile.inflight(commitAt(n), action)}", Array.emptyByteArray)
      val isReplace = action == Action.ReplaceCommit
      s.createNew(s"${config.timelineFolder}/${completedName(config, n * 10, n * 10 + 1, action)}",
        if (config.layoutVersion >= 2) CommitMetadata.encodeAvro(metadata(n), isReplace)
        else CommitMetadataJson.encode(metadata(n), isReplace))
    }
  }

  /** A completed clean or rollback. */
  protected def service(s: Storage, requested: Int, action: Action, content: Array[Byte]): Unit = {
    val config = TableConfig.load(s)
    s.createNew(s"${config.timelineFolder}/${InstantFile.requested(at(requested), action)}", content)
    s.createNew(s"${config.timelineFolder}/${completedName(config, requested, requested + 1, action)}", content)
  }

  protected def pending(s: Storage, requested: Int, action: Action): Unit =
    s.createNew(s"${TableConfig.load(s).timelineFolder}/${InstantFile.requested(at(requested), action)}",
      Array.emptyByteArray)

  protected def archive(s: Storage, settings: ArchiveConfig = ArchiveConfig()): Archived =
    new Archiving(s, TableConfig.load(s), settings).run()

  protected def timelineOf(s: Storage): Timeline = Timeline.load(s, TableConfig.load(s))

  /** Requested times of the completed writes on the timeline. */
  protected def active(s: Storage): Seq[String] = timelineOf(s).completed.map(_.requested)

  protected def historyOf(s: Storage): ArchivedTimeline = new ArchivedTimeline(s, TableConfig.load(s))

  protected def archived(s: Storage): Seq[String] = historyOf(s).writes.map(_._1.requested)

  protected def numbers(range: Range): Seq[String] = range.map(commitAt)
}
