package io.merganser.table.explain

import io.merganser.merge.NamedValue
import io.merganser.merge.buffer.{Outcome, TraceStep}
import io.merganser.table.change.ChangeReason
import io.merganser.table.slice.FileSlice
import org.apache.spark.unsafe.types.UTF8String

/** What became of a version of a key when it was merged. */
sealed abstract class RecordDecision(val name: String) extends NamedValue

object RecordDecision {

  /** It became the row: by its ordering value, as the newer commit, or because nothing was stored. */
  case object Won extends RecordDecision("won")

  /** The row stayed as it was, as it does for late-arriving versions. */
  case object Lost extends RecordDecision("lost")

  /** It became the row with an ordering value equal to the row's, as the newer version. */
  case object Tie extends RecordDecision("tie")

  /** Only columns without a value got one. */
  case object Filled extends RecordDecision("filled")

  /** It removed the row; a tombstone where there was none. */
  case object Deleted extends RecordDecision("deleted")

  /** A partial version without a row that it belongs to, or a delete that the rule ignores and that is not late. */
  case object Ignored extends RecordDecision("ignored")

  /** A base file has the row that earlier versions resulted in. */
  case object Stored extends RecordDecision("stored")

  /** A further row of the key in one base file. */
  case object Duplicate extends RecordDecision("duplicate")

  /** The file group was replaced by others, to which its rows moved or with which they are gone. */
  case object Replaced extends RecordDecision("replaced")

  private[explain] def of(step: TraceStep, reasons: ChangeReason): RecordDecision = step.outcome match {
    case Outcome.Unchanged | Outcome.Ignored => Ignored
    case Outcome.Late                        => Lost
    case Outcome.Deleted | Outcome.Absent    => Deleted
    case Outcome.Inserted                    => Won
    case _                                   => of(reasons.of(step.before.row, step.after.row))
  }

  private[explain] def of(reason: UTF8String): RecordDecision = reason match {
    case ChangeReason.Tie     => Tie
    case ChangeReason.Filled  => Filled
    case ChangeReason.Deleted => Deleted
    case _                    => Won
  }
}

/** What a version provides. */
sealed abstract class VersionKind(val name: String) extends Serializable

object VersionKind {
  case object Row extends VersionKind("row")
  case object PartialRow extends VersionKind("partial row")
  case object Delete extends VersionKind("delete")
  case object UnconditionalDelete extends VersionKind("unconditional delete")
}

/**
 * One stored version of a key and what became of it. Strings of values are JSON objects by column.
 *
 * @param slice    instant at which the file slice begins
 * @param commit   requested time of the write that the version is of
 * @param file     name of the base or log file that has it, without folders
 * @param isInLog  whether that is a log file
 * @param reason   why, in a sentence, with the values that decided
 * @param ordering its ordering values; None where the table has no ordering fields, or the version none
 * @param against  those of the row that it was merged with; None if there was none
 * @param values   the columns that it provides; None for a delete
 * @param result   the row afterwards; None if there is none
 * @param origins  for each column of that row the commit and the file that it came from
 * @param isCurrent whether readers see its row now
 */
final case class RecordStep(
    slice: String,
    commit: String,
    file: String,
    isInLog: Boolean,
    kind: VersionKind,
    decision: RecordDecision,
    reason: String,
    ordering: Option[String],
    against: Option[String],
    values: Option[String],
    result: Option[String],
    origins: Option[String],
    isCurrent: Boolean = false
)

/**
 * A file group that may have a key.
 *
 * @param slices     that are retained, oldest first
 * @param inserting  positions of those whose logs may have keys that their base files lack
 * @param replacedBy requested time of the commit that replaced the group; None for one that readers see
 */
final case class CandidateGroup(
    partitionPath: String,
    fileId: String,
    slices: IndexedSeq[FileSlice],
    inserting: Set[Int],
    replacedBy: Option[String]
)

/** Files that were opened to find a key. A base file that has the key counts as a footer, too. */
final case class OpenedFiles(footers: Int, baseFiles: Int, logFiles: Int) {

  def +(other: OpenedFiles): OpenedFiles =
    OpenedFiles(footers + other.footers, baseFiles + other.baseFiles, logFiles + other.logFiles)
}

/**
 * The versions of a key in one file group.
 *
 * @param steps          oldest first; none if the group does not have the key
 * @param nextCompaction what the next compaction changes for the key; a sentence
 */
final case class GroupHistory(
    partitionPath: String,
    fileId: String,
    replacedBy: Option[String],
    steps: Seq[RecordStep],
    nextCompaction: String,
    opened: OpenedFiles
)
