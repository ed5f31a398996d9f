package io.merganser.table.timeline

import io.merganser.table.log.RecordLog
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.avro.Schema
import org.apache.avro.generic.GenericRecord
import org.apache.hadoop.fs.FileStatus

import scala.util.Try

/**
 * Writes the archive of layout 1: log files with a record for each state of an instant, of Hudi's type
 * HoodieArchivedMetaEntry. Call under the table lock.
 */
private[table] final class HistoryLog(storage: Storage, config: TableConfig) {
  import AvroRecords._
  import HistoryLog._

  private val folder = config.historyFolder

  /** Requested time and action of the completed instants in the newest file: those of an archiving that failed. */
  def known: Set[(String, Action)] = logs(storage, folder).lastOption.toSeq.flatMap(RecordLog.records(storage, folder,
      _)).filter(_.string("actionState").contains(InstantState.Completed.shown)).flatMap { entry =>
    for {
      requested <- entry.string("commitTime")
      action    <- entry.string("actionType").flatMap(Action.parse)
    } yield (requested, action)
  }.toSet

  /**
   * Adds instants in a new file, which appears as a whole.
   *
   * @param batch most records of a block
   */
  def add(instants: Seq[(Instant, Seq[StateFile])], batch: Int): Unit = {
    val records = for ((instant, states) <- instants; state <- states) yield entry(instant, state)
    // A block has one schema.
    val schemas = records.map(_.getSchema).distinct
    val blocks  = schemas.flatMap(schema => records.filter(_.getSchema == schema).grouped(batch))
    val last    = logs(storage, folder).lastOption.fold(0L)(number)
    storage.createNew(s"$folder/$Prefix${last + 1}$Suffix",
      blocks.flatMap(b => RecordLog.block(JavaStrings.of(b.head.getSchema), b)).toArray)
  }

  private def entry(instant: Instant, file: StateFile): GenericRecord = {
    val content = contentOf(file)
    // Each block has the schema of its content: other engines' records may have fields of other releases.
    val schema = record("HoodieArchivedMetaEntry",
      content.map { case (name, c) => optional(name, c.getSchema) }.toSeq ++
        fields: _*)
    build(schema,
      Seq(
        "commitTime" -> instant.requested,
        "actionType" -> file.action.name,
        "version" -> 1,
        "actionState" -> file.state.shown,
        "stateTransitionTime" -> file.modified
      ) ++ content: _*)
  }

  private def contentOf(file: StateFile): Option[(String, GenericRecord)] = {
    def container = if (isContainer(file.content)) Some(decode(file.content)) else None
    (file.action, file.state) match {
      case (action, InstantState.Completed) if action.isWrite =>
        val isReplace = action == Action.ReplaceCommit
        val metadata  = decode(CommitMetadata.encodeAvro(CommitMetadata.decode(file.content), isReplace))
        Some((if (isReplace) "hoodieReplaceCommitMetadata" else "hoodieCommitMetadata") -> metadata)
      case (Action.Clean, InstantState.Completed)         => container.map("hoodieCleanMetadata" -> _)
      case (Action.Clean, _)                              => container.map("hoodieCleanerPlan" -> _)
      case (Action.Rollback, InstantState.Completed)      => container.map("hoodieRollbackMetadata" -> _)
      case (Action.Compaction, InstantState.Requested)    => container.map("hoodieCompactionPlan" -> _)
      case (Action.LogCompaction, InstantState.Requested) => container.map("hoodieCompactionPlan" -> _)
      case (Action.ReplaceCommit, InstantState.Requested) => container.map("hoodieRequestedReplaceMetadata" -> _)
      case _                                              => None
    }
  }
}

/**
 * The file of an instant in one of its states.
 *
 * @param action   in its name
 * @param modified when it was written, as an instant
 */
private[table] final case class StateFile(
    action: Action,
    state: InstantState,
    content: Array[Byte],
    modified: Option[String]
)

private[timeline] object HistoryLog {
  import AvroRecords._

  private val Prefix = ".commits_.archive."
  private val Suffix = "_1-0-1"

  /** The log files of an archive, oldest first. */
  def logs(storage: Storage, folder: String): Seq[FileStatus] =
    storage.list(folder).filter(f => f.isFile && f.getPath.getName.startsWith(Prefix)).sortBy(number)

  private def number(file: FileStatus): Long =
    Try(file.getPath.getName.drop(Prefix.length).takeWhile(_.isDigit).toLong).getOrElse(0L)

  /** New fields at each call: an Avro field belongs to one record. */
  private def fields: Seq[Schema.Field] = Seq(optional("commitTime", Str), optional("actionType", Str), version(1),
    optional("actionState", Str), optional("stateTransitionTime", Str))
}
