package io.merganser.spark.sql

import io.merganser.merge.{DeleteCheck, OrderingField}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.read.{ScanCounts, SnapshotPinning}
import io.merganser.spark.source.MerganserTable
import io.merganser.table.options.{Names, WriteSource}
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.{MetaColumns, SchemaEvolution}
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.StructType

/**
 * The table that a statement changes, as the statement sees it from beginning to end.
 *
 * @param given       the relation that the statement names
 * @param statement   MERGE, UPDATE or DELETE
 * @param incoming    columns that the statement may add to the table, or widen
 */
private[sql] final case class CommandTarget(
    session: SparkSession,
    given: DataSourceV2Relation,
    statement: String,
    incoming: Option[StructType] = None
) {
  private val named  = given.table.asInstanceOf[MerganserTable]
  private val opened = named.opened

  val settings: WriteConfig =
    WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), opened.config, WriteSource.SqlChange)

  val orderedDeletes: Boolean = settings.statement.orderedDeletes

  /** Data columns as the table stores them after the statement. */
  val schema: StructType = incoming.fold(opened.schema) { columns =>
    SchemaEvolution.ofWrite(opened.config, opened.schema, columns, settings.widensToString)
  }

  /** The table, with its meta columns; its scans count the file groups they read. */
  val relation: DataSourceV2Relation = {
    val whole = given.withMetadataColumns()
    whole.copy(table = named.watchedBy(new ScanCounts))
  }

  def rows: LogicalPlan = relation

  /** Attributes of the data columns. */
  val data: Seq[AttributeReference] = relation.output.filterNot(a => MetaColumns.isMeta(a.name))

  val key: Attribute  = meta(MetaColumns.RecordKey)
  val path: Attribute = meta(MetaColumns.PartitionPath)

  val keyColumns: Seq[String]       = opened.config.recordKeyFields
  val partitionColumns: Seq[String] = opened.config.partitionFields

  val rule: StoredRule = settings.rule

  /** Columns whose values say which version is the newer one, or structs that hold such a field. */
  val ordering: Seq[String] = CompiledRule.orderingColumns(rule, schema)

  /** The ordering fields over those columns' values. */
  def orderingOf(values: Map[String, Expression]): Seq[Expression] =
    CompiledRule.orderingFields(rule, schema).flatMap(OrderingField.find(schema, _)).map(field =>
      field.within(values(field.column.name)))

  /** Columns of the rows that the statement makes. */
  def changed(marksDeletes: Boolean, isTagged: Boolean): CommandColumns =
    CommandColumns(schema, marksDeletes, Some((rule, opened.config)).filter(_ => isLogged && rule.isDecidedByOrdering),
      isTagged)

  /** Deletes say in a column that they are ones: they carry an ordering value, and no column of the table's says it. */
  val marksDeletes: Boolean = orderedDeletes && ordering.nonEmpty && !schema.fieldNames.contains(DeleteCheck.FlagColumn)

  val isLogged: Boolean = opened.config.isMergeOnRead

  /** The data columns as they are after the statement: some may be wider then, and some new. */
  val after: Seq[AttributeReference] =
    if (incoming.isEmpty) data
    else schema.map { field =>
      column(field.name) match {
        case Some(known) if opened.schema(field.name).dataType == field.dataType => known
        case Some(known) =>
          AttributeReference(known.name, field.dataType, known.nullable)(known.exprId, known.qualifier)
        case None => AttributeReference(field.name, field.dataType)()
      }
    }

  def columnAfter(name: String): Option[AttributeReference] =
    after.find(a => session.sessionState.conf.resolver(a.name, name))

  /** Logs of older tables hold whole rows only, and those of others where the user wants it. */
  val takesPartialRows: Boolean = !isLogged || (opened.config.version >= 8 && settings.statement.logsPartialRows)

  def column(name: String): Option[AttributeReference] =
    data.find(a => session.sessionState.conf.resolver(a.name, name))

  /** Whatever the statement reads of this table, it reads as of the statement's beginning. */
  def pinned(plan: LogicalPlan): LogicalPlan = SnapshotPinning.pinnedTo(opened, plan)

  /** @param assigns what each clause assigns, by its text */
  def describe(columns: CommandColumns, isRead: Boolean, assigns: Seq[(String, Set[String])] = Nil): CommandContext =
    CommandContext(relation.table.asInstanceOf[MerganserTable], statement, isRead, columns, settings,
      CatalogName.of(given),
      assigns.collect { case (clause, names) if names.exists(isIdentity) => clause })

  /** Whether key or partition come from the column, or from a field inside it. */
  def isIdentity(column: String): Boolean =
    (keyColumns ++ partitionColumns).exists(c => c == column || c.startsWith(s"$column."))

  /** Does a plan read the table that is changed? */
  def isReadBy(plan: LogicalPlan): Boolean = SnapshotPinning.isRead(opened, plan)

  private def meta(name: String): Attribute =
    relation.output.find(_.name == name).getOrElse(throw new IllegalStateException(s"no column $name in ${given.name}"))
}

/** The name by which a catalog knows a relation, as SQL text; what is cached under it is read anew after a write. */
private[sql] object CatalogName {
  def of(relation: DataSourceV2Relation): Option[String] = relation.identifier.map { name =>
    (relation.catalog.map(_.name).toSeq ++ name.namespace :+ name.name).map(Names.quoted).mkString(".")
  }
}
