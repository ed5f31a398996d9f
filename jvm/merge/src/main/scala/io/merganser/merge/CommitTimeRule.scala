package io.merganser.merge

/**
 * Keeps the newer version, deletes too.
 *
 * Laws: associative and idempotent; the order of commits is the rule itself.
 */
final class CommitTimeRule extends MergeRule {

  override val laws: Laws = Laws(associative = true, idempotent = true, orderFree = false)

  override def merge(older: Version, newer: Version): Version = newer
}
