package io.merganser.table.options

import io.merganser.merge.{NamedValue, NamedValues}

/** What an insert does with a row whose key is stored. */
sealed trait StoredKeyPolicy

object StoredKeyPolicy {

  /** The key is then stored twice. */
  case object InsertAgain extends StoredKeyPolicy

  /** Merged when the row is routed to the file group of the stored key, else inserted again. */
  case object MergeInFileGroup extends StoredKeyPolicy
  case object Drop extends StoredKeyPolicy

  /** Nothing is written. */
  case object Fail extends StoredKeyPolicy
}

/** How a null ordering value compares with others. */
sealed trait NullOrdering

object NullOrdering {
  case object Lowest extends NullOrdering
  case object Reject extends NullOrdering
}

/** Which deletes of MERGE and DELETE have an ordering value, and may lose by it; the others are unconditional. */
sealed abstract class StatementDeletes(val name: String) extends NamedValue

object StatementDeletes extends NamedValues[StatementDeletes] {

  /** Those of source rows that have all ordering fields. */
  case object BySource extends StatementDeletes("source")

  /** All; ordering fields that the source lacks have their stored values. */
  case object Ordered extends StatementDeletes("ordered")

  /** None. */
  case object Unconditional extends StatementDeletes("unconditional")

  override val all: Seq[StatementDeletes] = Seq(BySource, Ordered, Unconditional)
}

/** How columns that the written rows lack are filled. */
sealed abstract class MissingColumns(val name: String) extends NamedValue

object MissingColumns extends NamedValues[MissingColumns] {
  case object Reject extends MissingColumns("reject")
  case object Null extends MissingColumns("null")

  /** Columns that the table was created with are rejected; an upsert keeps the others' values, an insert gets null. */
  case object Added extends MissingColumns("added")

  /** They are not provided: a stored row keeps its values. */
  case object Keep extends MissingColumns("keep")

  override val all: Seq[MissingColumns] = Seq(Reject, Null, Added, Keep)
}

/** One of the writes that an application numbers, each with a greater version than the one before. */
final case class AppTransaction(app: String, version: Long) {
  override def toString: String = s"transaction '$app' version $version"
}

/** How long a write, or a run of a service, may show no sign of life. */
private[table] object Heartbeats {

  private def default(option: OptionEntry): Long = option.default.map(_.toLong).get

  /** Milliseconds between heartbeats by default. */
  val IntervalMs: Long = default(Options.HeartbeatInterval)

  /** Milliseconds without a heartbeat after which it counts as dead by default. */
  val ExpiredAfterMs: Long = expiryMs(IntervalMs)

  /** @param misses heartbeats that may be missed */
  def expiryMs(intervalMs: Long, misses: Long = default(Options.HeartbeatMisses)): Long = intervalMs * (misses + 1)
}

/** When other writers' pending writes are rolled back. */
sealed trait FailedWrites

object FailedWrites {
  case object Eager extends FailedWrites

  /** Only writes whose last heartbeat is older than this. */
  final case class Lazy(expiredAfterMs: Long) extends FailedWrites
}

/**
 * How files of the history are merged.
 *
 * @param batch      files of a layer that are merged into one of the next
 * @param maxBytes   of the files that are merged at once: larger files stay
 * @param retained   versions of the history that are kept for readers of them
 */
final case class HistorySettings(batch: Int = 10, maxBytes: Long = 1048576000L, retained: Int = 3)
