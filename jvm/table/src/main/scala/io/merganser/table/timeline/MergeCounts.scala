package io.merganser.table.timeline

/**
 * Numbers of rows by outcome. Whether a version in a log wins, loses or deletes is decided by readers and compactions,
 * so it counts as appended, unless the statement has the stored row and the outcome follows from the table's rule. A
 * compaction counts each of these versions once.
 *
 * @param inserted        keys that are new
 * @param updated         stored rows that a version replaced
 * @param unchanged       unchanged stored rows of rewritten files, except for those counted as `late`; with those of
 *                        which the rule ignores a delete
 * @param late            keys with late-arriving versions only: all lost to the stored row; of a compaction also
 *                        versions that lost to an earlier one of the logs
 * @param deleted         stored rows removed
 * @param ties            updated rows whose ordering value was equal to the stored one
 * @param duplicates      versions superseded by another version of the same batch; of a compaction, by a later one
 *                        of the logs
 * @param appended        versions in log files whose outcome is not known, including deletes
 * @param appendedDeletes deletes among `appended`
 * @param filled          updated rows that the rule made of the stored row and versions: filled or added columns,
 *                        partial rows
 * @param noOps           updated rows in which no column changed, and partial rows that belong to no row
 * @param tombstones      keys without a stored row that a delete kept without one: an incoming delete, or in a
 *                        write a retained one, which also counts as `late`
 * @param lateness        how far the late-arriving versions were behind the stored row, where that is known
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
  def +(o: MergeCounts): MergeCounts = MergeCounts(
    inserted + o.inserted, updated + o.updated, unchanged + o.unchanged, late + o.late,
    deleted + o.deleted, ties + o.ties, duplicates + o.duplicates,
    appended + o.appended, appendedDeletes + o.appendedDeletes,
    filled + o.filled, noOps + o.noOps, tombstones + o.tombstones,
    lateness + o.lateness
  )
}
