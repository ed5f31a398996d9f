package io.merganser.table.settings

import io.merganser.table.rule.MergeMode.StrategyId
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{MergeMode, RuleInference}
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.types.StructType

/** The properties of a table of version 6 or 8 at version 9, which stores the rule of a payload class instead. */
private[table] object UpgradedTable {
  val Version = 9

  /** Keys of earlier versions, and keys that are written again. */
  private val Replaced = Set(
    "hoodie.record.merge.mode", "hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy",
    "hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class", "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields", "hoodie.archivelog.folder", TableConfig.KeyGeneratorClass
  )

  /**
   * @param columns the table's data columns
   * @throws io.merganser.merge.MerganserException ORDERING_FIELD_MISSING if a column by which version 9 orders the
   *                                               payload class's rows is missing
   */
  def properties(table: TableConfig, columns: StructType): Map[String, String] = {
    val merge    = settings(table)
    val ordering = if (merge.orderingFields.nonEmpty) merge.orderingFields else table.orderingFields
    FrameCheck.requireColumns(columns, table.name, "upgrade", Nil, Nil, ordering)
    table.properties.filterNot { case (key, _) => Replaced(key) } ++ merge.properties ++
      (if (ordering.isEmpty) Nil else Seq("hoodie.table.ordering.fields" -> ordering.mkString(","))) ++ Map(
        "hoodie.table.version" -> Version.toString,
        "hoodie.table.initial.version" -> table.properties.getOrElse("hoodie.table.initial.version",
          table.version.toString),
        "hoodie.timeline.layout.version" -> "2",
        "hoodie.timeline.path" -> "timeline",
        "hoodie.timeline.history.path" -> "history",
        "hoodie.table.keygenerator.type" -> table.keyGeneratorType
      ) ++ table.keyGeneratorClass.filter(_ => table.keyGeneratorType == "USER_PROVIDED").map(
        TableConfig.KeyGeneratorClass -> _)
  }

  private def settings(table: TableConfig): RuleInference = {
    def infer(mode: Option[MergeMode], strategyId: Option[String], payload: Option[String]) =
      RuleInference.infer(Version, mode, strategyId, payload, Nil, table.mergeProperties)
    val merger = table.strategyId.filter(id => MergeMode.of(table) == MergeMode.Custom && id != StrategyId.PayloadBased)
    merger match {
      case Some(_)                            => infer(Some(MergeMode.of(table)), merger, None)
      case None if table.payloadClass.isEmpty => infer(Some(MergeMode.of(table)), None, None)
      case None                               => infer(None, None, table.payloadClass)
    }
  }
}
