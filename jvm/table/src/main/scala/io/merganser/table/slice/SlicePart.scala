package io.merganser.table.slice

/**
 * A slice, or one of the parts of it that tasks read at the same time: the row groups of its base file whose middle
 * lies in a range and, if they are merged, the log records of their keys.
 *
 * @param start  of the range, in bytes
 * @param length of the range, in bytes
 */
final case class SlicePart(slice: FileSlice, start: Long = 0L, length: Long = Long.MaxValue) {
  private[slice] def isWhole: Boolean = start == 0 && slice.base.forall(_.sizeBytes <= length)
}

/** What a task merges of a slice: a part, and the log records with these keys. */
private[slice] final case class MergedPart(part: SlicePart, keys: KeySpan)
