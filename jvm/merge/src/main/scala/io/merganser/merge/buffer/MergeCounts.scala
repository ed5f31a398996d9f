package io.merganser.merge.buffer

/**
 * Numbers of rows by outcome; [[MergeCounts.all]] says what each is. Whether a version in a log wins, loses or deletes
 * is decided by readers and compactions, so it counts as appended, unless the statement has the stored row and the
 * outcome follows from the table's rule. A compaction counts each of these versions once.
 *
 * @param lateness how far the late-arriving versions were behind the stored row, where that is known
 */
final case class MergeCounts(
    inserted: Long = 0,
    updated: Long = 0,
    unchanged: Long = 0,
    late: Long = 0,
    deleted: Long = 0,
    ties: Long = 0,
    duplicates: Long = 0,
    appended: Long = 0,
    appendedDeletes: Long = 0,
    filled: Long = 0,
    noOps: Long = 0,
    tombstones: Long = 0,
    lateness: Lateness = Lateness.none
) {
  def +(o: MergeCounts): MergeCounts =
    MergeCounts.of(count => count.in(this) + count.in(o), lateness + o.lateness)
}

/**
 * A number of rows by outcome.
 *
 * @param name in camel case, as in the metadata of commits
 * @param in   its value
 * @param set  the counts with another value of it
 * @param doc  what it counts
 */
final case class Count(name: String, in: MergeCounts => Long, set: (MergeCounts, Long) => MergeCounts, doc: String) {

  /** The name of its column in results. */
  val column: String = name.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT)
}

object MergeCounts {

  /** Every count, in the order in which they are shown. */
  val all: Seq[Count] = Seq(
    Count("inserted", _.inserted, (c, n) => c.copy(inserted = n), "new keys"),
    Count("updated", _.updated, (c, n) => c.copy(updated = n), "stored rows that a version replaced"),
    Count("unchanged", _.unchanged, (c, n) => c.copy(unchanged = n),
      "stored rows of rewritten files that did not change and are not counted as late, including rows whose delete " +
        "the rule ignores"),
    Count("late", _.late, (c, n) => c.copy(late = n),
      "keys whose incoming versions are all late and lose to the stored row; in a compaction also versions that lose " +
        "to an earlier one in the logs"),
    Count("deleted", _.deleted, (c, n) => c.copy(deleted = n), "stored rows removed"),
    Count("ties", _.ties, (c, n) => c.copy(ties = n),
      "updated rows whose ordering value was equal to the stored one; not what late versions added to a row"),
    Count("duplicates", _.duplicates, (c, n) => c.copy(duplicates = n),
      "versions superseded by another version of the same batch; in a compaction, by a later one in the logs"),
    Count("appended", _.appended, (c, n) => c.copy(appended = n),
      "versions in log files whose outcome is not known yet, including deletes"),
    Count("appendedDeletes", _.appendedDeletes, (c, n) => c.copy(appendedDeletes = n), "deletes among the appended"),
    Count("filled", _.filled, (c, n) => c.copy(filled = n),
      "updated rows in which the rule combined the stored row with versions: filled or added columns, partial rows"),
    Count("noOps", _.noOps, (c, n) => c.copy(noOps = n),
      "updated rows in which no column changed, and partial rows whose key is not stored"),
    Count("tombstones", _.tombstones, (c, n) => c.copy(tombstones = n),
      "deletes of keys that had no row anyway: incoming ones, or, in a write, a retained one, which also counts as " +
        "late")
  )

  def of(value: Count => Long, lateness: Lateness): MergeCounts =
    all.foldLeft(MergeCounts(lateness = lateness))((counts, count) => count.set(counts, value(count)))

  def of(tally: MergeTally): MergeCounts = MergeCounts(
    inserted = tally.inserted,
    updated = tally.updated,
    unchanged = tally.unchanged,
    late = tally.late,
    deleted = tally.deleted,
    ties = tally.ties,
    duplicates = tally.duplicates,
    filled = tally.filled,
    noOps = tally.noOps,
    tombstones = tally.tombstones,
    lateness = tally.lateness
  )

  def sum(counts: Iterable[MergeCounts]): MergeCounts = counts.foldLeft(MergeCounts())(_ + _)
}
