package io.merganser.table.commit

import io.merganser.table.file.FileGroupId

/** Where a write looked up its keys before it inserted them as new. */
sealed trait KeyScope

object KeyScope {

  /** No lookup: rows are inserted whatever is stored, or each key has one file group, which all its writers touch. */
  case object Nowhere extends KeyScope

  /** In the partition of the row. */
  case object InPartition extends KeyScope

  /** In all partitions, as a global index does. */
  case object InTable extends KeyScope

  /** In all partitions of a table whose buckets get new keys in logs, which are not compared with other keys. */
  case object InBuckets extends KeyScope
}

/**
 * Stored state that a write depends on, besides file groups. A write that has committed since this one began must not
 * have changed it.
 *
 * @param newKeys  where its new keys must not have been inserted
 * @param replaces partitions of which it replaces all rows: nothing may have been written there
 * @param listed   partitions whose file groups it listed after it began, with these groups: a clean must not have
 *                 removed another one's files before
 * @param ranges   of a partition that it writes to, with consistent hashing: the file groups of its ranges, which must
 *                 be all that there are; None for other tables
 * @param nonBlocking it only appends versions whose merge does not depend on stored rows: others may append to the same
 *                 file groups
 */
final case class WriteBasis(
    newKeys: KeyScope = KeyScope.Nowhere,
    replaces: String => Boolean = WriteBasis.Nowhere,
    listed: ListedGroups = ListedGroups(Set.empty, Set.empty),
    nonBlocking: Boolean = false,
    ranges: Option[String => Set[FileGroupId]] = None
)

final case class ListedGroups(partitions: Set[String], groups: Set[FileGroupId])

object WriteBasis {
  private val Nowhere: String => Boolean = _ => false
}
