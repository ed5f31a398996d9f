package io.merganser.table.commit

/** Where a write looked for the keys that it found to be new. */
sealed trait KeyScope

object KeyScope {

  /** Nowhere: its rows are added whatever is stored; or each key has one file group, which every writer of the key touches. */
  case object Nowhere extends KeyScope

  /** In the partition of its row. */
  case object InPartition extends KeyScope

  /** In all partitions, as a global index does. */
  case object InTable extends KeyScope
}

/**
 * What a write decided from what was stored when it began, besides the file groups it depends on. Another write that has
 * committed since then must not have changed that.
 *
 * @param newKeys  where its new keys must not have been added
 * @param replaces partitions of which it replaces all rows: nothing may have been added there
 */
final case class WriteBasis(newKeys: KeyScope = KeyScope.Nowhere, replaces: String => Boolean = WriteBasis.None)

object WriteBasis {
  private val None: String => Boolean = _ => false
}
