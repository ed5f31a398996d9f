package io.merganser.table.rule

import io.merganser.merge.MerganserException
import io.merganser.merge.payload.Debezium
import io.merganser.table.options.Options
import io.merganser.table.rule.MergeMode.{CommitTimeOrdering, Custom, EventTimeOrdering, StrategyId}

/**
 * The merge settings that a new table stores: inferred from the options it is created with, checked for contradictions.
 *
 * @param properties     the merge settings in `hoodie.properties`, except the ordering fields
 * @param orderingFields the configured ones, or those that the payload class prescribes
 */
final case class RuleInference(properties: Map[String, String], orderingFields: Seq[String])

object RuleInference {

  private val Models         = "org.apache.hudi.common.model."
  private[table] val Default = Models + "DefaultHoodieRecordPayload"
  private val Latest         = Models + "OverwriteWithLatestAvroPayload"
  private val Event          = Models + "EventTimeAvroPayload"

  /** What version 9 stores instead of a payload class. */
  private final case class Translation(
      mode: MergeMode,
      partialUpdateMode: Option[String] = None,
      properties: Map[String, String] = Map.empty,
      orderingFields: Option[Seq[String]] = None
  )

  private def marker(field: String, value: String) =
    Map("hoodie.payload.delete.field" -> field, "hoodie.payload.delete.marker" -> value)

  private val translations: Map[String, Translation] = Map(
    Latest -> Translation(CommitTimeOrdering),
    Default -> Translation(EventTimeOrdering),
    Event -> Translation(EventTimeOrdering),
    Models + "OverwriteNonDefaultsWithLatestAvroPayload" -> Translation(CommitTimeOrdering, Some("IGNORE_DEFAULTS")),
    Models + "PartialUpdateAvroPayload" -> Translation(EventTimeOrdering, Some("IGNORE_DEFAULTS")),
    Models + "AWSDmsAvroPayload" -> Translation(CommitTimeOrdering, properties = marker("Op", "D")),
    Models + "debezium.MySqlDebeziumAvroPayload" -> Translation(
      EventTimeOrdering,
      properties = marker("_change_operation_type", "d"),
      orderingFields = Some(Seq("_event_bin_file", "_event_pos"))
    ),
    Models + "debezium.PostgresDebeziumAvroPayload" -> Translation(
      EventTimeOrdering,
      Some("FILL_UNAVAILABLE"),
      marker("_change_operation_type", "d") +
        (StoredRule.UnavailableValue -> Debezium.Unavailable),
      Some(Seq("_event_lsn"))
    )
  )

  /** Whether the payload class reads its ordering field from the legacy option `hoodie.payload.ordering.field`. */
  def readsPayloadOrderingField(payload: Option[String]): Boolean = payload.exists(p => p == Default || p == Event)

  /**
   * Infers and checks.
   *
   * @param version        6, 8 or 9
   * @param mode           configured merge mode
   * @param strategyId     configured merge strategy
   * @param payload        configured payload class
   * @param orderingFields configured ordering fields
   * @param properties     configured merge properties: delete field and marker, and those set by their stored names
   * @throws MerganserException MERGE_SETTINGS_CONFLICT, MERGE_STRATEGY_MISSING, CONFIG_CONFLICT,
   *                            DELETE_MARKER_INCOMPLETE
   */
  def infer(
      version: Int,
      mode: Option[MergeMode],
      strategyId: Option[String],
      payload: Option[String],
      orderingFields: Seq[String],
      properties: Map[String, String]
  ): RuleInference = {
    val translated = payload.flatMap(translations.get).filter(_ => version >= 9)
    val resulting  = modeOf(version, mode, strategyId, payload, orderingFields, checked = translated.isEmpty)
    translated match {
      case Some(translation) => translate(payload.get, translation, orderingFields, properties)
      case None =>
        RuleInference(identity(version, resulting, strategyId, payload) ++ prefixed(properties), orderingFields)
    }
  }

  private def modeOf(
      version: Int,
      mode: Option[MergeMode],
      strategyId: Option[String],
      payload: Option[String],
      orderingFields: Seq[String],
      checked: Boolean
  ): MergeMode = {
    val byPayload  = payload.map(modeOfPayload)
    val byStrategy = strategyId.map(modeOfStrategy)
    def conflict =
      MerganserException("MERGE_SETTINGS_CONFLICT", "mode" -> mode.fold("none")(_.name),
        "strategyId" -> strategyId.getOrElse("none"),
        "payloadClass" -> payload.getOrElse("none"))
    val implied =
      if (version < 8) byPayload.orElse(byStrategy)
      else {
        if (byPayload.isDefined && byStrategy.exists(s => s != Custom && !byPayload.contains(s))) throw conflict
        byStrategy.orElse(byPayload)
      }
    val result = implied.orElse(mode).getOrElse(if (orderingFields.nonEmpty) EventTimeOrdering else CommitTimeOrdering)
    if (checked) {
      if (mode.exists(_ != result)) throw conflict
      val named = payload.isDefined || strategyId.exists(_ != StrategyId.PayloadBased)
      if (result == Custom && !named)
        throw MerganserException("MERGE_STRATEGY_MISSING", "mode" -> result,
          "strategyId" -> strategyId.getOrElse("none"))
    }
    result
  }

  private def modeOfPayload(payload: String): MergeMode = payload match {
    case Default | Event => EventTimeOrdering
    case Latest          => CommitTimeOrdering
    case _               => Custom
  }

  private def modeOfStrategy(id: String): MergeMode = id match {
    case StrategyId.EventTime  => EventTimeOrdering
    case StrategyId.CommitTime => CommitTimeOrdering
    case _                     => Custom
  }

  /** The properties by which each table version stores the rule. */
  private def identity(
      version: Int,
      mode: MergeMode,
      strategyId: Option[String],
      payload: Option[String]
  ): Map[String, String] = {
    val id = mode match {
      case EventTimeOrdering  => StrategyId.EventTime
      case CommitTimeOrdering => StrategyId.CommitTime
      case _ => strategyId.filter(_ => version >= 8 || payload.isEmpty).getOrElse(StrategyId.PayloadBased)
    }
    val usual        = if (mode == CommitTimeOrdering) Latest else Default
    val storeMode    = Map("hoodie.record.merge.mode" -> mode.name)
    val storeId      = Map("hoodie.record.merge.strategy.id" -> id)
    val storePayload = Map("hoodie.compaction.payload.class" -> payload.getOrElse(usual))
    if (version < 8) storeId ++ storePayload
    else if (version < 9) storeMode ++ storeId ++ storePayload
    else if (mode != Custom) storeMode
    else storeMode ++ storeId ++ payload.map("hoodie.compaction.payload.class" -> _)
  }

  private def translate(
      payload: String,
      to: Translation,
      ordering: Seq[String],
      properties: Map[String, String]
  ): RuleInference = {
    for (prescribed <- to.orderingFields if ordering.nonEmpty && ordering != prescribed)
      throw MerganserException("CONFIG_CONFLICT", "key" -> Options.OrderingFields.key,
        "value" -> ordering.mkString(","),
        "stored" -> prescribed.mkString(","), "by" -> s"payload class $payload prescribes")
    for ((key, value) <- properties; prescribed <- to.properties.get(key) if prescribed != value)
      throw MerganserException("CONFIG_CONFLICT", "key" -> key, "value" -> value, "stored" -> prescribed,
        "by" -> s"payload class $payload prescribes")
    RuleInference(
      Map("hoodie.record.merge.mode" -> to.mode.name, "hoodie.table.legacy.payload.class" -> payload) ++
        to.partialUpdateMode.map("hoodie.table.partial.update.mode" -> _) ++ prefixed(properties ++ to.properties),
      to.orderingFields.getOrElse(ordering)
    )
  }

  private def prefixed(properties: Map[String, String]): Map[String, String] = {
    val field  = properties.get("hoodie.payload.delete.field")
    val marker = properties.get("hoodie.payload.delete.marker")
    if (field.isDefined != marker.isDefined)
      throw MerganserException("DELETE_MARKER_INCOMPLETE", "field" -> field.getOrElse("none"),
        "marker" -> marker.getOrElse("none"))
    properties.map { case (key, value) => s"${Options.MergePropertyPrefix}$key" -> value }
  }
}
