package io.merganser.table.config

import io.merganser.merge.MerganserException

/** Whether we have the merge rule that a table stores. */
object StoredRule {

  /**
   * To be called before a table is written or its rows are merged for a reader.
   *
   * @throws MerganserException MERGE_RULE_UNAVAILABLE naming mode, payload class or strategy id
   */
  def require(table: TableConfig): Unit = {
    val known = table.mergeMode != MergeMode.Custom && table.partialUpdateMode.isEmpty
    if (!known)
      throw MerganserException("MERGE_RULE_UNAVAILABLE", "table" -> table.name, "mode" -> table.mergeMode,
        "partialUpdateMode" -> table.partialUpdateMode.getOrElse("none"),
        "payloadClass" -> table.payloadClass.orElse(table.legacyPayloadClass).getOrElse("none"),
        "strategyId" -> table.strategyId.getOrElse("none"), "option" -> Options.MergerClasses.key)
  }
}
