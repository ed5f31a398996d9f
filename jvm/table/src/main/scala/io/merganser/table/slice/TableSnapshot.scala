package io.merganser.table.slice

import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.storage.Storage
import org.apache.spark.sql.types.StructType

/**
 * The rows of a table as of one timeline. Sent to tasks.
 *
 * @param rule    the rule that the table stores
 * @param columns the data columns
 * @param rowKey  how record keys are computed, in a table that stores none
 */
final case class TableSnapshot(
    storage: Storage,
    config: TableConfig,
    rule: StoredRule,
    columns: StructType,
    visibility: LogVisibility,
    rowKey: Option[RowKey] = None
) {

  /** @param projected columns to return; see [[SliceInput]] */
  def reader(projected: StructType): SliceReader = new SliceReader(new SliceInput(this, projected))

  /** @param projected columns of the versions' rows; see [[SliceInput]] */
  def versions(projected: StructType): SliceVersions = new SliceVersions(new SliceInput(this, projected))
}
