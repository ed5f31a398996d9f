package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionEntry, OptionScope, Options, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CheckedRule, MergeMode}

import scala.annotation.tailrec

/**
 * A setting as it holds for writes of a table.
 *
 * @param value    None if nothing sets it and it has no default, and where it has no effect
 * @param source   `table`, `option`, `session` or `default`; `inferred` where other properties of the table imply it
 * @param conflict what is configured but is refused, ignored or without effect; None if nothing is
 */
final case class EffectiveSetting(
    key: String,
    value: Option[String],
    source: String,
    scope: OptionScope,
    conflict: Option[String],
    doc: String
)

/** Every setting that holds for the writes of a table, with its source and what contradicts it. */
object EffectiveSettings {

  /** Other names of what another entry shows. */
  private val Omitted = Set(Options.StoredMergeMode, Options.PayloadOrderingField, Options.RuleDefault)

  /**
   * @param options     of a write that is considered; empty for none
   * @param sessionConf Spark's configuration
   */
  def of(table: TableConfig, options: Map[String, String], sessionConf: Map[String, String]): Seq[EffectiveSetting] = {
    val (settings, refused) = accepted(table, options, sessionConf, Nil)
    val entries             = Options.all.filterNot(e => Omitted(e) || !isOfWrites(e))
    val known               = entries.map(setting(_, table, settings))
    val (found, others)     = refused.partition(r => known.exists(_.key.equalsIgnoreCase(r.key)))
    known.map { one =>
      one.copy(conflict = one.conflict.orElse(found.find(_.key.equalsIgnoreCase(one.key)).flatMap(_.conflict)))
    } ++ ofRule(table) ++ ignored(settings, options) ++ others
  }

  /** Options that a write accepts without effect. Without their values, of which some are secrets. */
  private def ignored(settings: Settings, options: Map[String, String]) =
    settings.ignored.map { one =>
      EffectiveSetting(one.key, None, if (options.contains(one.key)) "option" else "session", OptionScope.OfWrite,
        Some(s"It has no effect: ${one.instead}."), "")
    }

  private def isOfWrites(entry: OptionEntry): Boolean =
    entry.scope == OptionScope.OfTable || entry.scope == OptionScope.OfWrite

  /** The settings without those that are refused, and these. */
  @tailrec
  private def accepted(
      table: TableConfig,
      options: Map[String, String],
      sessionConf: Map[String, String],
      refused: Seq[EffectiveSetting]
  ): (Settings, Seq[EffectiveSetting]) = {
    val parsed: Either[MerganserException, Settings] =
      try {
        WriteConfig.parse(options, sessionConf, table)
        Right(Settings.ofWrite(options, sessionConf))
      } catch { case e: MerganserException => Left(e) }
    parsed match {
      case Right(settings) => (settings, refused)
      case Left(e) =>
        val key                = e.parameters.getOrElse("key", "")
        def isIt(name: String) = name.equalsIgnoreCase(key) || name.equalsIgnoreCase(s"spark.$key")
        val source             = if (options.keys.exists(isIt)) "option" else "session"
        val value              = options.find(o => isIt(o._1)).orElse(sessionConf.find(o => isIt(o._1))).map(_._2)
        // Without a name that can be left out, the table cannot be written to at all.
        if (value.isEmpty) {
          val whole = EffectiveSetting(e.condition, None, "table", OptionScope.OfTable, Some(e.getMessage), "")
          (Settings.ofWrite(Map.empty, Map.empty), refused :+ whole)
        } else {
          val one  = Options.byName.get(key.toLowerCase(java.util.Locale.ROOT))
          val name = one.fold(key)(_.key)
          val left = EffectiveSetting(name, value, source, one.fold[OptionScope](OptionScope.OfWrite)(_.scope),
            Some(e.getMessage), one.fold("")(_.doc))
          accepted(table, options.filterNot(o => isIt(o._1)), sessionConf.filterNot(o => isIt(o._1)), refused :+ left)
        }
    }
  }

  private def setting(entry: OptionEntry, table: TableConfig, settings: Settings): EffectiveSetting = {
    val configured = settings.configured(entry)
    def source     = if (settings.isFromSession(entry)) "session" else "option"
    if (entry.scope == OptionScope.OfTable) {
      val stored = storedValue(entry, table).filter(_.nonEmpty)
      val ignored = configured.flatMap(option =>
        TableConflicts.differing(entry, option, table).map(_ =>
          s"The $source sets '${option.name}' to '${option.value}'; it belongs to the table, and is ignored."))
      val from = if (stored.isEmpty) "default" else if (isInferred(entry, table)) "inferred" else "table"
      EffectiveSetting(entry.key, stored.orElse(entry.default), from, entry.scope, ignored, entry.doc)
    } else {
      val stored = settings.explicitOrStored(entry, table.properties)
      val from   = if (configured.isDefined) source else if (stored.isDefined) "table" else "default"
      EffectiveSetting(entry.key, stored.orElse(entry.default), from, entry.scope, None, entry.doc)
    }
  }

  private def isInferred(entry: OptionEntry, table: TableConfig): Boolean =
    entry == Options.MergeModeOption && !table.properties.contains(Options.StoredMergeMode.key)

  private def storedValue(entry: OptionEntry, table: TableConfig): Option[String] = entry match {
    case Options.TableName                          => Some(table.name)
    case Options.Database                           => table.database
    case Options.TableTypeOption                    => Some(table.tableType.name)
    case Options.TableVersion                       => Some(table.version.toString)
    case Options.RecordKey                          => Some(table.recordKeyFields.mkString(","))
    case Options.PartitionFields                    => Some(table.partitionFields.mkString(","))
    case Options.OrderingFields                     => Some(table.orderingFields.mkString(","))
    case Options.MergeModeOption                    => Some(MergeMode.of(table).name)
    case Options.StrategyIdOption                   => table.strategyId
    case Options.PayloadClass                       => table.legacyPayloadClass.orElse(table.payloadClass)
    case Options.RuleText                           => table.rule.map(_.text)
    case Options.KeyGeneratorType                   => Some(table.keyGeneratorType)
    case Options.KeyGeneratorClass                  => table.keyGeneratorClass
    case Options.DeleteField | Options.DeleteMarker => table.mergeProperties.get(entry.key)
    case _                                          => entry.names.flatMap(table.properties.get).headOption
  }

  /** Properties that the table's merge rule reads by names of its own. */
  private def ofRule(table: TableConfig): Seq[EffectiveSetting] =
    table.mergeProperties.toSeq.sorted.collect {
      case (key, value) if !Set(Options.DeleteField.key, Options.DeleteMarker.key)(key) =>
        EffectiveSetting(Options.MergePropertyPrefix + key, Some(value), "table", OptionScope.OfTable, None,
          "Read by the table's merge rule.")
    } ++ table.ruleChecked.map { text =>
      val other = if (CheckedRule.of(table).isEmpty) Some("It is of another rule than the table has.") else None
      EffectiveSetting(TableConfig.RuleChecked, Some(text), "table", OptionScope.OfTable, other,
        "What the last check of the merge rule found that was stored. A refuted law is not relied on.")
    }
}
