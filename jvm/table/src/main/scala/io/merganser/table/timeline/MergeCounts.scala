package io.merganser.table.timeline

/**
 * Numbers of rows by their outcome. Whether a version that is appended to a log wins, loses, or deletes anything is decided by
 * readers and compactions, so it counts as appended; but where a statement has the stored row and the table's rule gives the
 * outcome, the version counts as that.
 *
 * @param inserted        keys that are new
 * @param updated         stored rows that a version replaced
 * @param unchanged       stored rows of rewritten files that stayed as they were, late ones not counted
 * @param late            keys whose versions all lost against the stored row
 * @param deleted         stored rows removed
 * @param ties            updated rows whose ordering value was equal to the stored one
 * @param duplicates      versions that another version of the same batch took the place of
 * @param appended        versions in log files whose outcome is not known, deletes among them
 * @param appendedDeletes deletes among those
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
    appendedDeletes: Long = 0
) {
  def +(o: MergeCounts): MergeCounts = MergeCounts(
    inserted + o.inserted, updated + o.updated, unchanged + o.unchanged, late + o.late,
    deleted + o.deleted, ties + o.ties, duplicates + o.duplicates,
    appended + o.appended, appendedDeletes + o.appendedDeletes
  )
}
