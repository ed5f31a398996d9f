package io.merganser.spark.sql

import io.merganser.merge.{DeleteCheck, MerganserException, OrderingField}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.read.{ScanCounts, SnapshotPinning}
import io.merganser.spark.source.MerganserTable
import io.merganser.spark.write.StatementSession
import io.merganser.spark.write.place.StoredKeyForm
import io.merganser.table.options.{Names, WriteOperation, WriteSource}
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.{MetaColumns, SchemaEvolution}
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{BooleanType, StructType}

/**
 * The target table of a statement, as of the statement's start.
 *
 * @param resolved    the relation that the statement names
 * @param statement   MERGE, UPDATE or DELETE
 * @param incoming    source columns that the statement may add to the table or widen
 */
private[sql] final case class CommandTarget(
    session: SparkSession,
    resolved: DataSourceV2Relation,
    statement: String,
    incoming: Option[StructType] = None
) {
  private val table  = resolved.table.asInstanceOf[MerganserTable]
  private val opened = table.opened

  val settings: WriteConfig = {
    val options   = StatementSession.options(session)
    val operation = if (statement == "DELETE") WriteOperation.Delete else WriteOperation.Upsert
    WriteConfig.ofCall(options, operation.name)
    StoredKeyForm.settled(WriteConfig.parse(options, FrameWrite.sessionConf(session), opened.config,
        WriteSource.SqlChange), opened)
  }

  /** Data columns as the table stores them after the statement. */
  val schema: StructType = incoming.fold(opened.schema) { columns =>
    SchemaEvolution.ofWrite(opened.config, opened.schema, columns, settings.widensToString)
  }

  /** The table, with its meta columns; its scans count the file groups they read. */
  val relation: DataSourceV2Relation = {
    val whole = resolved.withMetadataColumns()
    whole.copy(table = table.withScanCounts(new ScanCounts))
  }

  def rows: LogicalPlan = relation

  /** Attributes of the data columns. */
  val data: Seq[AttributeReference] = relation.output.filterNot(a => MetaColumns.isMeta(a.name))

  val key: Attribute  = meta(MetaColumns.RecordKey)
  val path: Attribute = meta(MetaColumns.PartitionPath)

  val keyColumns: Seq[String]       = opened.config.recordKeyFields
  val partitionColumns: Seq[String] = opened.config.partitionFields

  val rule: StoredRule = settings.rule

  /** The ordering fields that rows have after the statement. */
  val orderingFields: Seq[OrderingField] =
    CompiledRule.orderingFields(rule, schema).flatMap(OrderingField.find(schema, _))

  /** Columns of the clauses' output rows. */
  def changed(ordersDeletes: Boolean, isTagged: Boolean): CommandColumns =
    CommandColumns(schema, ordersDeletes, Some((rule, opened.config)).filter(_ => isLogged && rule.isDecidedByOrdering),
      isTagged)

  /** Whether deletes can have an ordering value: their rows are marked by a flag, which a column may not stand for. */
  val ordersDeletes: Boolean =
    orderingFields.nonEmpty && schema.forall(f => f.name != DeleteCheck.FlagColumn || f.dataType == BooleanType)

  val isLogged: Boolean = opened.config.isMergeOnRead

  /** The data columns after the statement: some may be widened, and some new. */
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

  /** Logs hold full rows only before table version 8, and later where the user disabled partial rows. */
  val takesPartialRows: Boolean =
    !isLogged || (opened.logsPartialRows && (settings.statement.logsPartialRows || rule.addsValues))

  /**
   * Refuses assignments whose result would not be what the statement says, since the table's rule merges the assigned
   * value with the stored one.
   *
   * @param values assigned values by column
   * @throws MerganserException RULE_ASSIGNMENT_UNSUPPORTED
   */
  def requireAssignable(values: Map[String, Expression]): Unit = rule match {
    case declared: StoredRule.Declared =>
      val own = AttributeSet(data)
      def refuse(column: String, reason: String, remedy: String) =
        throw MerganserException("RULE_ASSIGNMENT_UNSUPPORTED", "statement" -> statement, "column" -> column,
          "table" -> opened.config.name, "function" -> declared.of(column), "reason" -> reason, "remedy" -> remedy)
      for ((column, value) <- values.toSeq.sortBy(_._1); function = declared.of(column)) {
        if (statement == "UPDATE" && !function.replaces)
          refuse(column, "the assigned value would be merged with the stored one, not replace it",
            "Write the value to merge, with MERGE INTO or an upsert; to replace the row, delete it and insert it again")
        if (!function.isIdempotent && value.references.exists(own.contains))
          refuse(column, "the assigned value is computed from stored values, which would count twice",
            "Assign only the value to merge with the stored one")
        val lacks = declared.rule.reads(column, schema).toSeq.flatMap(_.newer).filterNot(read =>
          values.contains(read) || isIdentity(read))
        if (lacks.nonEmpty)
          refuse(column, s"it reads ${lacks.mkString(", ")} of the newer version, which the clause does not assign",
            s"Assign ${lacks.mkString(", ")} too")
      }
      if (!takesPartialRows && rule.addsValues)
        values.keys.toSeq.sorted.headOption.foreach(refuse(_,
            "the table has column versions, so its logs contain whole rows, including stored values",
            "Upsert the rows with all columns"))
    case _ =>
  }

  def column(name: String): Option[AttributeReference] =
    data.find(a => session.sessionState.conf.resolver(a.name, name))

  /** The plan, with all its reads of this table as of the statement's start. */
  def pinned(plan: LogicalPlan): LogicalPlan = SnapshotPinning.pinnedTo(opened, plan)

  /** @param assigns assigned columns of each clause, by its text */
  def describe(columns: CommandColumns, isRead: Boolean, assigns: Seq[(String, Set[String])] = Nil): CommandContext =
    CommandContext(relation.table.asInstanceOf[MerganserTable], statement, isRead, columns, settings,
      CatalogName.of(resolved),
      assigns.collect { case (clause, names) if names.exists(isIdentity) => clause })

  /** Whether key or partition path are computed from the column, or from a field inside it. */
  def isIdentity(column: String): Boolean =
    (keyColumns ++ partitionColumns).exists(c => c == column || c.startsWith(s"$column."))

  /** Whether a plan reads the target table. */
  def isReadBy(plan: LogicalPlan): Boolean = SnapshotPinning.isRead(opened, plan)

  private def meta(name: String): Attribute =
    relation.output.find(_.name == name).getOrElse(
      throw new IllegalStateException(s"no column $name in ${resolved.name}"))
}

/** The catalog name of a relation, as SQL text; what is cached under it is refreshed after a write. */
private[sql] object CatalogName {
  def of(relation: DataSourceV2Relation): Option[String] = relation.identifier.map { name =>
    (relation.catalog.map(_.name).toSeq ++ name.namespace :+ name.name).map(Names.quoted).mkString(".")
  }
}
