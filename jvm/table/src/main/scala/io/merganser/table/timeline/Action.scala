package io.merganser.table.timeline

import io.merganser.merge.NamedValue

/**
 * What an instant does to its table.
 *
 * @param name    in file names
 * @param isWrite true if it writes rows of the table; false for services while they are pending
 */
sealed abstract class Action(val name: String, val isWrite: Boolean) extends NamedValue {

  /** The action in the name of its completed file: services that write data files complete as a commit. */
  def whenCompleted: Action = this
}

object Action {
  case object Commit extends Action("commit", isWrite = true)
  case object DeltaCommit extends Action("deltacommit", isWrite = true)

  /** A write that removes file groups too. */
  case object ReplaceCommit extends Action("replacecommit", isWrite = true)

  /** Pending only: its completed file is that of a commit. */
  case object Compaction extends Action("compaction", isWrite = false) {
    override def whenCompleted: Action = Commit
  }

  /** Pending only: its completed file is that of a deltacommit. */
  case object LogCompaction extends Action("logcompaction", isWrite = false) {
    override def whenCompleted: Action = DeltaCommit
  }

  /** Pending only: its completed file is that of a replacecommit; in layout 1 the files of a pending one are too. */
  case object Clustering extends Action("clustering", isWrite = false) {
    override def whenCompleted: Action = ReplaceCommit
  }

  case object Savepoint extends Action("savepoint", isWrite = false)
  case object Clean extends Action("clean", isWrite = false)
  case object Rollback extends Action("rollback", isWrite = false)
  case object Restore extends Action("restore", isWrite = false)
  case object Indexing extends Action("indexing", isWrite = false)

  /** Moves instants from the timeline to the history; it has no instant of its own. */
  case object Archive extends Action("archive", isWrite = false)

  /** Those of instants. */
  val all: Seq[Action] = Seq(Commit, DeltaCommit, ReplaceCommit, Compaction, LogCompaction, Clustering, Savepoint,
    Clean, Rollback, Restore, Indexing)

  /** By the name in a file name; None if the action is unknown. */
  def parse(name: String): Option[Action] = all.find(_.name == name)
}
