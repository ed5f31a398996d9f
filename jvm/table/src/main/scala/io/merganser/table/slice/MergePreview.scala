package io.merganser.table.slice

import io.merganser.merge.buffer.MergeCounts

/**
 * What a write would do to one row. Strings of rows are JSON objects by column.
 *
 * @param outcome  inserted, updated, late, deleted, absent (a delete of a key that has no row) or replaced
 * @param reason   why, in a sentence, with the values that decided
 * @param incoming columns that the last version of the key provides; None for a delete, and for a replaced row
 * @param before   the row before; None if there was none
 * @param after    the row afterwards; None if there is none
 */
final case class PreviewedRow(
    partitionPath: String,
    key: String,
    outcome: String,
    reason: String,
    incoming: Option[String],
    before: Option[String],
    after: Option[String]
)

/**
 * What a write would do to the rows of one file group.
 *
 * @param counts as readers see the rows afterwards, also of what is appended to logs
 * @param rows   some of the rows, of each outcome
 */
final case class MergePreview(counts: MergeCounts, rows: Seq[PreviewedRow])
