package io.merganser.merge

/**
 * Keeps the newer version, deletes too.
 *
 * A delete without an ordering value ends the key's history: the next version is merged with nothing.
 *
 * Laws: associative and idempotent; the order of commits is the rule itself.
 */
final class CommitTimeRule extends MergeRule {

  override val laws: Laws = Laws(associative = true, idempotent = true, orderFree = false)

  override def merge(older: Version, newer: Version): Version =
    if (older.endsHistory || (older.isDelete && older.isUnordered)) newer.withoutHistory else newer
}
