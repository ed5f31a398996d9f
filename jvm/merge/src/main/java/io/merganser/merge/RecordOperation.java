package io.merganser.merge;

/** What a version of a row does to its key. */
public enum RecordOperation {
  /** The row itself: also of a row that has no operation. */
  INSERT,
  /** The row before an update, in a change feed. It counts as a delete and reaches mergers as {@link #DELETE}. */
  UPDATE_BEFORE,
  /** The row after an update, in a change feed. */
  UPDATE_AFTER,
  /** The key is removed. */
  DELETE
}
