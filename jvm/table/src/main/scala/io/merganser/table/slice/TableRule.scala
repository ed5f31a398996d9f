package io.merganser.table.slice

import io.merganser.merge.{CustomRule, DeleteCheck, DeleteMarker, MergeRule, RowLayout}
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{StoredRule, TableConfig}
import org.apache.spark.sql.types.{StructField, StructType}

import scala.collection.JavaConverters._

/** The table's merge rule, compiled for rows of one layout. Every path gets it here. */
final class TableRule private (val layout: RowLayout, val rule: MergeRule) extends Serializable

object TableRule {

  /** @param schema columns of the rows that meet, as [[layoutSchema]] makes them */
  def apply(stored: StoredRule, config: TableConfig, schema: StructType): TableRule = {
    val layout = RowLayout(schema, MetaColumns.RecordKey, orderingFields(stored, schema), marker(config))
    val rule = stored match {
      case _: StoredRule.ByMode =>
        if (layout.orderingOrdinals.isEmpty) MergeRule.commitTime(layout) else MergeRule.eventTime(layout)
      case user: StoredRule.ByMerger =>
        new CustomRule(user.source, layout, MetaColumns.names.toSet, new java.util.TreeMap(user.properties.asJava))
      case StoredRule.Unmerged => throw new IllegalStateException(s"rows of '${config.name}' meet where no rule was asked for")
    }
    new TableRule(layout, rule)
  }

  /**
   * The columns to read so that `asked` can be merged: the asked ones first, then the record key, the ordering fields,
   * the columns that mark deletes and those that the rule looks at, so far as they are not asked anyway.
   */
  def layoutSchema(asked: StructType, table: StructType, config: TableConfig, stored: StoredRule): StructType = {
    val needed = Seq(StructField(MetaColumns.RecordKey, MetaColumns.schema(MetaColumns.RecordKey).dataType)) ++
      (orderingFields(stored, table) ++ DeleteCheck.columns(table, marker(config)) ++ stored.columns(table)).map(table(_))
    StructType(asked ++ needed.filterNot(f => asked.fieldNames.contains(f.name)).distinct)
  }

  /** The ordering fields that versions carry and that are columns of the schema. */
  def orderingFields(stored: StoredRule, schema: StructType): Seq[String] = stored.orderingFields.filter(schema.fieldNames.contains)

  private[slice] def marker(config: TableConfig): Option[DeleteMarker] = for {
    field <- config.mergeProperties.get("hoodie.payload.delete.field")
    value <- config.mergeProperties.get("hoodie.payload.delete.marker")
  } yield DeleteMarker(field, value)
}
