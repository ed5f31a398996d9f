package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.table.options.{BucketLayout, IndexType, Options, StoredKeyPolicy, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{MergeMode, StoredRule}
import io.merganser.table.settings.WriteConfig

/**
 * What non-blocking writers can do. Several of them append to one file group at the same time, so nothing that a write
 * stores may depend on stored rows, and the row that results from several versions of a key must not depend on their
 * order, except for ties.
 */
private[write] object NonBlocking {

  /**
   * @param readsTable rows or outcomes of the write depend on stored rows
   * @param isPartial  some rows do not provide all columns
   * @throws MerganserException NON_BLOCKING_UNSUPPORTED
   */
  def require(
      settings: WriteConfig,
      config: TableConfig,
      index: IndexType,
      replaced: Replaced,
      readsTable: Boolean,
      isPartial: Boolean
  ): Unit = {
    def refuse(what: String, remedy: String) = throw MerganserException("NON_BLOCKING_UNSUPPORTED",
      "table" -> config.name, "key" -> Options.ConcurrencyMode.key, "what" -> what, "remedy" -> remedy)
    val optimistic = "Use OPTIMISTIC_CONCURRENCY_CONTROL for it"
    if (!config.isMergeOnRead)
      refuse("the table is copy-on-write, where writers of one file group replace its file", optimistic)
    if (config.version < 8)
      refuse(s"the table has version ${config.version}, which stores no completion times",
        "Upgrade it with CALL upgrade_table, or use OPTIMISTIC_CONCURRENCY_CONTROL")
    index match {
      case IndexType.Bucket(_, _, Some(BucketLayout.Fixed), _) => ()
      case IndexType.Bucket(_, _, Some(BucketLayout.Rings), _) =>
        refuse("its buckets use CONSISTENT_HASHING and can be split while a write is running", optimistic)
      case _: IndexType.Bucket =>
        refuse("its numbers of buckets differ by partition and can be changed while a write is running", optimistic)
      case _ =>
        refuse("its index is not BUCKET, so writers would give a new key different file groups", optimistic)
    }
    settings.rule match {
      case StoredRule.ByMode(MergeMode.EventTimeOrdering, fields, None) if fields.nonEmpty => ()
      case StoredRule.ByMode(MergeMode.CommitTimeOrdering, _, None) =>
        refuse("under COMMIT_TIME_ORDERING the order of the versions decides, and engines differ in it",
          "Use OPTIMISTIC_CONCURRENCY_CONTROL, or a table with EVENT_TIME_ORDERING")
      case rule =>
        val name = rule match {
          case _: StoredRule.ByMode    => "its partial update mode"
          case p: StoredRule.ByPayload => s"its payload class ${p.payload.getClass.getSimpleName.stripSuffix("$")}"
          case _: StoredRule.Declared  => "its rule of columns"
          case _                       => "its record merger"
        }
        refuse(s"$name may give another row if versions are merged in another order",
          "Use OPTIMISTIC_CONCURRENCY_CONTROL, or a table with EVENT_TIME_ORDERING")
    }
    if (replaced != Replaced.Nothing)
      refuse("it replaces rows of other writers", optimistic)
    settings.operation match {
      case WriteOperation.Upsert => ()
      case WriteOperation.Insert =>
        if (settings.storedKeys == StoredKeyPolicy.Drop || settings.storedKeys == StoredKeyPolicy.Fail)
          refuse(s"the insert looks for stored keys (${Options.InsertDuplicatePolicy.key})", optimistic)
      case WriteOperation.Delete =>
        refuse("a delete without an ordering value also removes versions that are written at the same time",
          "Upsert rows whose column _hoodie_is_deleted is true, or use OPTIMISTIC_CONCURRENCY_CONTROL")
      case other => refuse(s"the operation is ${other.name}", "Use upsert, or OPTIMISTIC_CONCURRENCY_CONTROL")
    }
    if (readsTable) refuse("its rows are computed from stored rows, which other writers may change", optimistic)
    if (isPartial)
      refuse("rows do not provide all columns, and the missing values depend on the stored rows",
        "Provide all columns, or use OPTIMISTIC_CONCURRENCY_CONTROL")
  }
}
