package io.merganser.table.commit

/** The outcome of an attempt to plan by files that are listed without the table's lock, and may change meanwhile. */
private[table] sealed trait PlanAttempt[+P]

private[table] object PlanAttempt {

  /** The table changed while it was listed, and must be listed again. */
  case object Outdated extends PlanAttempt[Nothing]

  /** @param plan None if there is nothing to do */
  final case class Decided[P](plan: Option[P]) extends PlanAttempt[P]

  /** Number of attempts; only the last one may list the table under the lock. */
  private val Attempts = 3

  /** @param attempt takes its number, from 0, and whether another may follow; the last one decides */
  def decided[P](attempt: (Int, Boolean) => PlanAttempt[P]): Option[P] =
    (0 until Attempts).iterator.map(i => attempt(i, i < Attempts - 1))
      .collectFirst { case Decided(plan) => plan }.flatten
}
