package io.merganser.table.slice

import io.merganser.merge.{DeleteCheck, DeleteMarker, MergeRule, RowLayout}
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{MergeMode, StoredRule, TableConfig}
import org.apache.spark.sql.types.{StructField, StructType}

/** The table's merge rule, compiled for rows of one layout. Every path gets it here. */
final class TableRule private (val layout: RowLayout, val rule: MergeRule) extends Serializable

object TableRule {

  /**
   * @param schema columns of the rows that meet, as [[layoutSchema]] makes them
   * @throws MerganserException MERGE_RULE_UNAVAILABLE if the table stores a rule that is not built in
   */
  def apply(config: TableConfig, schema: StructType): TableRule = {
    StoredRule.require(config)
    val ordering = if (config.mergeMode == MergeMode.EventTimeOrdering) orderingFields(config, schema) else Nil
    val layout   = RowLayout(schema, MetaColumns.RecordKey, ordering, marker(config))
    new TableRule(layout, if (ordering.isEmpty) MergeRule.commitTime(layout) else MergeRule.eventTime(layout))
  }

  /**
   * The columns to read so that `asked` can be merged: the asked ones first, then the record key, the ordering fields
   * and the columns that mark deletes, so far as they are not asked anyway.
   */
  def layoutSchema(asked: StructType, table: StructType, config: TableConfig): StructType = {
    val needed = Seq(StructField(MetaColumns.RecordKey, MetaColumns.schema(MetaColumns.RecordKey).dataType)) ++
      orderingFields(config, table).map(table(_)) ++ DeleteCheck.columns(table, marker(config)).map(table(_))
    StructType(asked ++ needed.filterNot(f => asked.fieldNames.contains(f.name)).distinct)
  }

  /** The ordering fields that are columns of the schema, under a mode that compares them. */
  def orderingFields(config: TableConfig, schema: StructType): Seq[String] =
    if (config.mergeMode == MergeMode.CommitTimeOrdering) Nil else config.orderingFields.filter(schema.fieldNames.contains)

  private[slice] def marker(config: TableConfig): Option[DeleteMarker] = for {
    field <- config.mergeProperties.get("hoodie.payload.delete.field")
    value <- config.mergeProperties.get("hoodie.payload.delete.marker")
  } yield DeleteMarker(field, value)
}
