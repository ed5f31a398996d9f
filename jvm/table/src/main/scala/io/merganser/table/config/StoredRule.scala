package io.merganser.table.config

import io.merganser.merge.{MerganserException, MergerSource}
import org.apache.spark.sql.types.StructType

import scala.annotation.nowarn
import scala.collection.JavaConverters._

/** The merge rule that a table stores: found and checked on the driver, compiled where rows meet. */
sealed trait StoredRule extends Serializable {

  /** The ordering fields that versions carry, deletes too; none where the rule compares nothing. */
  def orderingFields: Seq[String]

  /**
   * Columns the rule looks at, besides the record key, the ordering fields and those that mark deletes.
   *
   * @param table the table's data columns
   */
  @nowarn("cat=unused-params")
  def columns(table: StructType): Seq[String] = Nil
}

object StoredRule {

  /** A merge mode: the newer version, or the one with the greater ordering value. */
  final case class ByMode(mode: MergeMode, orderingFields: Seq[String]) extends StoredRule

  /**
   * A user's merger.
   *
   * @param properties            what it is given as the table's properties
   * @param isProjectionCompatible true if it names the columns it looks at
   */
  final case class ByMerger(
      source: MergerSource,
      orderingFields: Seq[String],
      properties: Map[String, String],
      isProjectionCompatible: Boolean
  ) extends StoredRule {

    override def columns(table: StructType): Seq[String] =
      if (isProjectionCompatible) source.open().getMandatoryFieldsForMerging(table, properties.asJava).asScala.toSeq
      else table.fieldNames.toSeq
  }

  /** For readers of base files alone: nothing meets. */
  case object Unmerged extends StoredRule {
    override def orderingFields: Seq[String] = Nil
  }

  /**
   * To be called before a table is written or its rows are merged for a reader.
   *
   * @param mergerClasses the user's classes to choose from, in the order to try them
   * @throws MerganserException MERGE_RULE_UNAVAILABLE naming mode, payload class or strategy id; MERGER_UNAVAILABLE
   */
  def of(table: TableConfig, mergerClasses: Seq[String]): StoredRule =
    if (table.mergeMode != MergeMode.Custom && table.partialUpdateMode.isEmpty)
      ByMode(table.mergeMode, if (table.mergeMode == MergeMode.CommitTimeOrdering) Nil else table.orderingFields)
    else byMerger(table, mergerClasses).getOrElse(throw unavailable(table))

  private def byMerger(table: TableConfig, classes: Seq[String]): Option[StoredRule] =
    table.strategyId.filter(id => table.mergeMode == MergeMode.Custom && id != MergeMode.StrategyId.PayloadBased)
      .map(UserMergers.choose(table, _, classes))

  private def unavailable(table: TableConfig) =
    MerganserException("MERGE_RULE_UNAVAILABLE", "table" -> table.name, "mode" -> table.mergeMode,
      "partialUpdateMode" -> table.partialUpdateMode.getOrElse("none"),
      "payloadClass" -> table.payloadClass.orElse(table.legacyPayloadClass).getOrElse("none"),
      "strategyId" -> table.strategyId.getOrElse("none"), "option" -> Options.MergerClasses.key)
}
