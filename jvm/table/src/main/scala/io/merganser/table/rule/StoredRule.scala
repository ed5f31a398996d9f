package io.merganser.table.rule

import io.merganser.merge.{MerganserException, MergerSource, MissingValues}
import io.merganser.merge.columns.{ColumnFunction, DeclaredRule}
import io.merganser.merge.payload.{ClassicPayload, Debezium, EventTime, OverwriteNonDefaults, OverwriteWithLatest}
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType

import scala.annotation.nowarn
import scala.collection.JavaConverters._

/** The merge rule that a table stores: resolved and checked on the driver, compiled where rows are merged. */
sealed trait StoredRule extends Serializable {

  /** The ordering fields that versions carry, deletes too; none where the rule compares nothing. */
  def orderingFields: Seq[String]

  /**
   * Columns the rule reads, besides the record key, the ordering fields and those that mark deletes.
   *
   * @param table the table's data columns
   */
  @nowarn("cat=unused-params")
  def columns(table: StructType): Seq[String] = Nil

  /**
   * Columns the rule reads to merge others, besides those of [[columns]].
   *
   * @param merged names of the columns to merge
   * @param table  the table's columns
   */
  @nowarn("cat=unused-params")
  def columnsFor(merged: Seq[String], table: StructType): Seq[String] = Nil

  /** True if a winner may take columns from the loser: its commit metadata columns then depend on all other columns. */
  def fillsColumns: Boolean = false

  /** True if the winner depends only on the ordering fields and on the columns that mark deletes. */
  def isDecidedByOrdering: Boolean = !fillsColumns

  /** True if a delete with an ordering value may do something else than to remove its row. */
  def decidesDeletes: Boolean = false

  /**
   * True if the rule uses columns of a delete other than its ordering value.
   *
   * @param table the table's data columns
   */
  def readsDeletes(table: StructType): Boolean = columns(table).nonEmpty

  /** True if a version that is merged twice, or that repeats values of the stored row, may change the row. */
  def addsValues: Boolean = false

  /** True if a null in a full row is a missing value, while a null that a partial row provides is a value. */
  def nullsAreMissing: Boolean = false
}

object StoredRule {

  /**
   * A merge mode: the newer version, or the one with the greater ordering value.
   *
   * @param missing which values of the winner are filled from the loser
   */
  final case class ByMode(mode: MergeMode, orderingFields: Seq[String], missing: Option[MissingValues] = None)
      extends StoredRule {
    override def fillsColumns: Boolean = missing.isDefined

    override def nullsAreMissing: Boolean = missing.contains(MissingValues.Nulls)
  }

  /**
   * A classic payload class, with its own rules.
   *
   * @param nullsAreMissing true if the table's partial update mode is IGNORE_DEFAULTS
   */
  final case class ByPayload(
      payload: ClassicPayload,
      orderingFields: Seq[String],
      override val nullsAreMissing: Boolean = false
  ) extends StoredRule {
    override def fillsColumns: Boolean = payload.fillsColumns
  }

  /**
   * A user's merger.
   *
   * @param properties             passed to it as the table's properties
   * @param isProjectionCompatible true if it names the columns it reads
   * @param isAssociative          true if it states so
   */
  final case class UserMerger(
      source: MergerSource,
      orderingFields: Seq[String],
      properties: Map[String, String],
      isProjectionCompatible: Boolean,
      isAssociative: Boolean = false
  ) extends StoredRule {

    override def isDecidedByOrdering: Boolean = false

    override def columns(table: StructType): Seq[String] =
      if (isProjectionCompatible) source.open().getMandatoryFieldsForMerging(table, properties.asJava).asScala.toSeq
      else table.fieldNames.toSeq
  }

  /**
   * A function for each column, which the table stores.
   *
   * @param fixed columns that are the winner's whatever the rule is
   */
  final case class Declared(rule: DeclaredRule, orderingFields: Seq[String], fixed: Set[String]) extends StoredRule {

    def of(column: String): ColumnFunction = if (fixed(column)) ColumnFunction.Last else rule.of(column)

    override def columns(table: StructType): Seq[String] = rule.removing.filter(table.fieldNames.contains)

    override def columnsFor(merged: Seq[String], table: StructType): Seq[String] = rule.neededFor(merged, table)

    override def decidesDeletes: Boolean = rule.decidesDeletes

    override def readsDeletes(table: StructType): Boolean = decidesDeletes

    override def fillsColumns: Boolean = true

    override def addsValues: Boolean = !rule.isIdempotent
  }

  /** For readers of base files alone: nothing is merged. */
  case object Unmerged extends StoredRule {
    override def orderingFields: Seq[String] = Nil
  }

  /**
   * To be called before a table is written or its rows are merged for a reader.
   *
   * @param mergerClasses the user's classes to choose from, in the order to try them
   * @throws MerganserException MERGE_RULE_UNAVAILABLE naming mode, payload class or strategy id; MERGER_UNAVAILABLE or
   *                            PAYLOAD_UNAVAILABLE naming the user's classes
   */
  def of(table: TableConfig, mergerClasses: Seq[String]): StoredRule =
    declared(table).orElse(builtIn(table)).orElse(byUser(table, mergerClasses)).getOrElse(throw unavailable(table))

  /** Whether a user's class merges the rows of the table, and may write any value to any column. */
  def isByUser(table: TableConfig): Boolean = declared(table).isEmpty && builtIn(table).isEmpty

  /**
   * A warning about a table that should merge by event time but lacks the ordering fields or their columns. Such tables
   * are created and written all the same, as their writers expect.
   *
   * @param isColumn whether the column of an ordering field exists
   */
  def warning(table: TableConfig, isColumn: String => Boolean = _ => true): Option[String] = {
    val payload =
      table.payloadClass.orElse(table.legacyPayloadClass).filter(PayloadClasses.named(_).contains(EventTime))
    val eventTimeSetting =
      if (MergeMode.of(table) == MergeMode.EventTimeOrdering || payload.isDefined)
        Some(payload.fold(s"merge mode ${MergeMode.EventTimeOrdering}")(c => s"payload class ${c.split('.').last}"))
      else None
    val lacking = table.orderingFields.filterNot(isColumn)
    eventTimeSetting.flatMap { setting =>
      if (table.orderingFields.isEmpty)
        Some(
          s"Table '${table.name}' has $setting and no ordering field, so the last write of a row wins, " +
            s"whatever its event time. To compare event times, create the table with ${Options.OrderingFields.key}.")
      else if (lacking.nonEmpty)
        Some(
          s"Table '${table.name}' has $setting and no column for its ordering field " +
            s"${lacking.map(f => s"'$f'").mkString(", ")}, so versions of a row are compared without it. " +
            "To compare event times, add the column.")
      else None
    }
  }

  private def byUser(table: TableConfig, classes: Seq[String]): Option[StoredRule] =
    if (MergeMode.of(table) != MergeMode.Custom) None
    else table.strategyId.filterNot(MergeMode.StrategyId.known) match {
      case Some(id) => Some(UserMergers.choose(table, id, classes))
      case None     => table.payloadClass.map(UserMergers.payload(table, _))
    }

  private def declared(table: TableConfig): Option[StoredRule] = table.rule.map { rule =>
    if (MergeMode.of(table) != MergeMode.Custom || !table.strategyId.exists(_.equalsIgnoreCase(rule.strategyId)))
      throw TableConfig.invalid(
        s"${Options.RuleText.key} has strategy id ${rule.strategyId}, and the table has merge " +
          s"mode ${MergeMode.of(table)} and strategy id ${table.strategyId.getOrElse("none")}")
    Declared(rule, table.orderingFields, table.fixedColumns)
  }

  private def builtIn(table: TableConfig): Option[StoredRule] =
    if (MergeMode.of(table) != MergeMode.Custom) byMode(table)
    else if (
      table.strategyId.forall(
        if (table.version < 8) MergeMode.StrategyId.known else _ == MergeMode.StrategyId.PayloadBased)
    )
      table.payloadClass.flatMap(PayloadClasses.named).map(byPayload(_, table))
    else None

  private def byMode(table: TableConfig): Option[StoredRule] = {
    val ordering = if (MergeMode.of(table) == MergeMode.CommitTimeOrdering) Nil else table.orderingFields
    table.partialUpdateMode.filterNot(WithoutEffect) match {
      case None =>
        Some(if (picksGreatestOfBatch(OverwriteWithLatest, table)) byPayload(OverwriteWithLatest, table)
          else ByMode(MergeMode.of(table), ordering))
      case Some("IGNORE_DEFAULTS") if picksGreatestOfBatch(OverwriteNonDefaults, table) =>
        Some(byPayload(OverwriteNonDefaults, table).copy(nullsAreMissing = true))
      case Some(name) => missing(name, table).map(found => ByMode(MergeMode.of(table), ordering, Some(found)))
    }
  }

  private def byPayload(payload: ClassicPayload, table: TableConfig) =
    ByPayload(payload, payload.orderingFields(table.orderingFields))

  /** Whether the table was created with this payload class; its rule for batches then holds in any table version. */
  private def picksGreatestOfBatch(payload: ClassicPayload, table: TableConfig): Boolean =
    MergeMode.of(table) == MergeMode.CommitTimeOrdering && table.orderingFields.nonEmpty &&
      table.legacyPayloadClass.orElse(table.payloadClass).flatMap(PayloadClasses.named).contains(payload)

  /**
   * Modes that replace no value of a full row. A column that a version does not provide keeps its value under every
   * mode, and a writer that has no column of the table writes its default, which is null.
   */
  private[table] val WithoutEffect = Set("NONE", "KEEP_VALUES", "FILL_DEFAULTS")

  private def missing(partialUpdateMode: String, table: TableConfig): Option[MissingValues] = partialUpdateMode match {
    case "IGNORE_DEFAULTS" => Some(MissingValues.Nulls)
    case "FILL_UNAVAILABLE" =>
      Some(MissingValues.Marked(table.mergeProperties.getOrElse(UnavailableValue, Debezium.Unavailable)))
    case _ => None
  }

  /** Merge property: the placeholder of a value that the source did not send. */
  private[table] val UnavailableValue = "hoodie.write.partial.update.unavailable.value"

  private def unavailable(table: TableConfig) =
    MerganserException("MERGE_RULE_UNAVAILABLE", "table" -> table.name, "mode" -> MergeMode.of(table),
      "partialUpdateMode" -> table.partialUpdateMode.getOrElse("none"),
      "payloadClass" -> table.payloadClass.orElse(table.legacyPayloadClass).getOrElse("none"),
      "strategyId" -> table.strategyId.getOrElse("none"), "option" -> Options.MergerClasses.key)
}
