package io.merganser.table.rule

import io.merganser.merge._
import io.merganser.merge.columns.ColumnRule
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.types.{StructField, StructType}

import scala.collection.JavaConverters._

/** The table's merge rule, compiled for rows of one layout. Every path gets it here. */
final class CompiledRule private (val layout: RowLayout, rule: MergeRule) extends Serializable {
  private val order = OrderingComparator.of(layout)

  /**
   * Folds the versions of keys by this rule. To be called in a task.
   *
   * @param fileGroup partition path and id of the file group that has the keys, for messages
   */
  def fold(fileGroup: String): KeyFold = new KeyFold(rule, fileGroup, order)

  def laws: Laws = rule.laws
}

object CompiledRule {

  /** When and into which file a row was written: a row combined from two versions takes these from the newer one. */
  private val commitMetadataColumns = Seq(MetaColumns.CommitTime, MetaColumns.CommitSeqno, MetaColumns.FileName)

  /**
   * @param schema columns of the rows to merge, as [[layoutSchema]] returns them
   * @throws io.merganser.merge.MerganserException ORDERING_FIELD_MISSING if a column of the payload class is missing
   */
  def apply(stored: StoredRule, config: TableConfig, schema: StructType): CompiledRule = {
    val layout = layoutOf(stored, config, schema)
    new CompiledRule(layout, ruleOf(stored, config, layout))
  }

  /**
   * The rule for a bulk insert that combines its rows: among rows with equal ordering values the first wins. A user's
   * merger and the functions of columns decide themselves.
   */
  def ofBulkInsert(stored: StoredRule, config: TableConfig, schema: StructType): CompiledRule = {
    val layout        = layoutOf(stored, config, schema)
    val rule          = ruleOf(stored, config, layout)
    val decidesItself = stored.isInstanceOf[StoredRule.UserMerger] || stored.isInstanceOf[StoredRule.Declared]
    if (layout.ordering.isEmpty || decidesItself) new CompiledRule(layout, rule)
    else new CompiledRule(layout, new BatchRule(rule, new FirstOfTies(rule, new OrderingComparator(layout))))
  }

  private def layoutOf(stored: StoredRule, config: TableConfig, schema: StructType): RowLayout =
    RowLayout(schema, MetaColumns.RecordKey, orderingFields(stored, schema), PayloadClasses.markers(config))
      .copy(ordersDeletes = stored.decidesDeletes)

  private def ruleOf(stored: StoredRule, config: TableConfig, layout: RowLayout): MergeRule =
    stored match {
      case StoredRule.ByMode(_, _, None) => MergeRule.eventTime(layout)
      case StoredRule.ByMode(_, _, Some(missing)) =>
        new PartialRule(FillMissingRule.byEventTime(layout, missing, commitMetadataColumns), layout,
          nullsAreValues = true)
      case StoredRule.ByPayload(payload, fields, nullsAreMissing) =>
        fields.find(OrderingField.find(layout.schema, _).isEmpty).foreach(refuse(config, layout.schema, _))
        new PartialRule(payload.rule(layout, commitMetadataColumns), layout, nullsAreValues = nullsAreMissing)
      case user: StoredRule.UserMerger =>
        new CustomRule(user.source, layout, MetaColumns.names.toSet, new java.util.TreeMap(user.properties.asJava),
          user.isAssociative)
      case declared: StoredRule.Declared =>
        new ColumnRule(layout, declared.of, declared.rule.groupsOf(layout.schema.fieldNames.toSeq),
          commitMetadataColumns, declared.rule.delete, declared.fixed ++ MetaColumns.names)
      case StoredRule.Unmerged => throw new IllegalStateException(s"no rule to merge rows of '${config.name}'")
    }

  /**
   * The columns to read so that `requested` can be merged: the requested ones first, then the record key, the ordering
   * fields, the columns that mark deletes and those that the rule reads, unless already requested.
   */
  def layoutSchema(requested: StructType, table: StructType, config: TableConfig, stored: StoredRule): StructType = {
    // A late-arriving version that fills any column changes the commit metadata, so these columns need all others.
    val needsAll = stored.fillsColumns && requested.fieldNames.exists(commitMetadataColumns.contains)
    val readByRule =
      if (needsAll) table.fieldNames.toSeq
      else stored.columns(table) ++ stored.columnsFor(requested.fieldNames.toSeq, table)
    val ordering = orderingFields(stored, table)
    val needed = Seq(StructField(MetaColumns.RecordKey, MetaColumns.schema(MetaColumns.RecordKey).dataType)) ++
      (orderingColumns(stored, table) ++ DeleteCheck.columns(table, PayloadClasses.markers(config)) ++
        readByRule.map(columnOf(table, _))).map(table(_))
    val layout = StructType(requested ++ needed.filterNot(f => requested.fieldNames.contains(f.name)).distinct)
    ordering.find(OrderingField.find(layout, _).isEmpty).foreach { field =>
      throw new IllegalStateException(
        s"ordering field '$field' is not among the requested columns: ${requested.catalogString}")
    }
    layout
  }

  /** The ordering fields that versions carry and that are in the schema: columns, or fields inside structs. */
  def orderingFields(stored: StoredRule, schema: StructType): Seq[String] =
    stored.orderingFields.filter(OrderingField.find(schema, _).isDefined)

  /** Warns of a rule that has less to compare than the table's settings suggest; see [[StoredRule.warning]]. */
  def warning(config: TableConfig, schema: StructType): Option[String] =
    StoredRule.warning(config, OrderingField.find(schema, _).isDefined)

  /** The columns of the schema that contain the ordering fields. */
  def orderingColumns(stored: StoredRule, schema: StructType): Seq[String] =
    stored.orderingFields.flatMap(OrderingField.find(schema, _)).map(_.column.name).distinct

  /** The ordering fields by name, with their types in the schema. */
  def orderingTypes(stored: StoredRule, schema: StructType): StructType =
    StructType(stored.orderingFields.flatMap(OrderingField.find(schema, _)).map(field =>
        field.leaf.copy(name = field.name)))

  private def columnOf(table: StructType, field: String): String =
    if (table.fieldNames.contains(field)) field else OrderingField.find(table, field).fold(field)(_.column.name)

  private def refuse(config: TableConfig, schema: StructType, field: String) =
    throw MerganserException("ORDERING_FIELD_MISSING", "operation" -> "merge rows of", "table" -> config.name,
      "field" -> field,
      "columns" -> schema.fieldNames.filterNot(MetaColumns.isMeta).mkString(", "))
}
