package io.merganser.table.settings

import io.merganser.table.options.Names.lower
import io.merganser.table.options.{OptionEntry, OptionScope, Options}
import io.merganser.table.properties.{PartitionKind, TableConfig}
import io.merganser.table.rule.{MergeMode, RuleInference, StoredRule}

/** A table's stored settings, as TBLPROPERTIES of a CREATE TABLE that creates another table of the same kind. */
object ShownSettings {

  private[settings] val PartialUpdateMode = "hoodie.table.partial.update.mode"

  /** The settings that the properties of a catalog's entry lack, under any alias. */
  def beside(entry: Map[String, String], config: TableConfig): Map[String, String] = {
    val named = entry.keys.flatMap(optionOf).toSet
    of(config).filterNot { case (key, _) => entry.contains(key) || optionOf(key).exists(named) }
  }

  /** All settings, except those that CREATE TABLE would choose by itself; type and merge mode are always included. */
  def of(config: TableConfig): Map[String, String] =
    nonEmpty("primaryKey", config.recordKeyFields) ++ nonEmpty("orderingFields", config.orderingFields) ++
      Map("type" -> (if (config.isMergeOnRead) "mor" else "cow")) ++ version(config) ++ merge(config) ++ paths(
        config) ++
      index(config) ++ ofWrites(config)

  private def version(config: TableConfig) =
    if (Options.TableVersion.default.contains(config.version.toString)) Map.empty[String, String]
    else Map(Options.TableVersion.key -> config.version.toString)

  /** The payload class that a table of version 9 was created with implies all settings derived from it. */
  private def merge(config: TableConfig): Map[String, String] = {
    val usersId = config.strategyId.filterNot(MergeMode.StrategyId.known)
    // Before version 9 a table stores a payload class beside a user's strategy too.
    val isUnnamed = usersId.isDefined && config.version < 9
    val payload =
      config.legacyPayloadClass.orElse(config.payloadClass.filterNot(isUnnamed && _ == RuleInference.Default))
    val mode = payload match {
      case Some(name) =>
        Seq(Options.PayloadClass.key -> name) ++ usersId.map(Options.StrategyIdOption.key -> _)
      case None if config.rule.isDefined => config.rule.map(rule => Options.RuleText.key -> rule.text).toSeq
      case None =>
        Seq(Options.StoredMergeMode.key -> MergeMode.of(config).name) ++
          config.strategyId.filter(_ => MergeMode.of(config) == MergeMode.Custom).map(Options.StrategyIdOption.key -> _)
    }
    (mode ++ mergeProperties(config) ++ partialUpdateMode(config)).toMap
  }

  /** Those that the payload class does not imply; delete column and marker by the names of their options. */
  private def mergeProperties(config: TableConfig): Map[String, String] = {
    val implied = config.legacyPayloadClass.fold(Map.empty[String, String]) { name =>
      RuleInference.infer(config.version, None, None, Some(name), Nil, Map.empty).properties
    }
    val markers = Seq(Options.DeleteField, Options.DeleteMarker).map(_.key)
    config.mergeProperties.collect {
      case (key, value) if !implied.get(Options.MergePropertyPrefix + key).contains(value) =>
        (if (markers.contains(key)) key else Options.MergePropertyPrefix + key) -> value
    }
  }

  /** A mode without the payload class that implies it, which no new table stores: CREATE TABLE refuses it by name. */
  private def partialUpdateMode(config: TableConfig): Option[(String, String)] =
    config.partialUpdateMode.filter(_ => config.legacyPayloadClass.isEmpty).filterNot(StoredRule.WithoutEffect)
      .map(PartialUpdateMode -> _)

  private def paths(config: TableConfig): Map[String, String] = {
    val spec     = config.properties.get(Stored.Partitions).filter(_.contains(':'))
    val inferred = TableConfig(config.properties - Stored.GeneratorType - Stored.GeneratorClass).keyGeneratorType
    val isTimed  = config.partitionSpec.exists(_.kind == PartitionKind.Timestamp)
    spec.map(Options.PartitionFields.key -> _).toMap ++
      (if (config.keyGeneratorType == inferred && spec.isEmpty) Nil
       else Seq(Options.KeyGeneratorType.key -> config.keyGeneratorType)) ++
      (if (config.partitionFields.isEmpty || config.hiveStyle || config.hasSlashedDates) Nil
       else Seq(Options.HiveStyle.key -> "false")) ++
      (if (config.urlEncode) Seq(Options.UrlEncode.key -> "true") else Nil) ++
      (if (isTimed) Options.TimeBased.flatMap(e => e.names.flatMap(config.properties.get).headOption.map(e.key -> _))
       else Nil) ++
      (if (config.hasSlashedDates) Seq(Options.SlashedDates.key -> "true") else Nil) ++
      differing(config, Options.DropPartitionColumns) ++ differing(config, Options.StoredKeys) ++
      differing(config, Options.LogicalTimestamp) ++ differing(config, Options.TimelineZone) ++
      differing(config, Options.ChangeData) ++ differing(config, Options.ChangeLoggingMode) ++
      differing(config, Options.NullOrderingOption) ++ differing(config, Options.TombstonesRetained) ++
      (if (config.version < 9) differing(config, Options.ComplexKeyWithoutName) else Nil)
  }

  private def index(config: TableConfig): Map[String, String] = {
    val kind = config.properties.get(Options.IndexTypeOption.key).filterNot(Options.IndexTypeOption.default.contains)
    kind.fold(Map.empty[String, String]) { name =>
      val buckets = Seq(Options.BucketCount, Options.BucketHashFields, Options.BucketEngine, Options.BucketExpressions)
      Map(Options.IndexTypeOption.key -> name) ++
        (if (name == "BUCKET") buckets.flatMap(e => config.properties.get(e.key).map(e.key -> _)) else Nil)
    }
  }

  /** The defaults that the table stores for its writes. */
  private def ofWrites(config: TableConfig): Map[String, String] =
    config.properties.filter { case (key, _) =>
      optionOf(key).exists(e => e.scope == OptionScope.OfWrite && e.key == key)
    }

  private def differing(config: TableConfig, entry: OptionEntry): Seq[(String, String)] =
    config.properties.get(entry.key).filterNot(entry.default.contains).map(entry.key -> _).toSeq

  private def nonEmpty(key: String, fields: Seq[String]): Map[String, String] =
    if (fields.isEmpty) Map.empty else Map(key -> fields.mkString(","))

  private[settings] def optionOf(key: String): Option[OptionEntry] = Options.byName.get(lower(key))

  private object Stored {
    val Partitions     = "hoodie.table.partition.fields"
    val GeneratorType  = "hoodie.table.keygenerator.type"
    val GeneratorClass = "hoodie.table.keygenerator.class"
  }
}
