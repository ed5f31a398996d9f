package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{IgnoredOption, OptionEntry, OptionKind, OptionScope, Options, Settings}
import io.merganser.table.properties.{PartitionKind, TableConfig}
import io.merganser.table.rule.{MergeMode, PayloadClasses, RuleDeclaration, RuleInference}
import io.merganser.table.rule.MergeMode.StrategyId

/**
 * No write overrides the table's own settings: options that repeat them are accepted, others are refused before
 * anything is written.
 */
object TableConflicts {

  /**
   * The settings that hold for an existing table: the session's table settings are defaults for new tables, and are
   * ignored where this table stores other values.
   *
   * @throws MerganserException CONFIG_CONFLICT naming the option, its value and the table's; PAYLOAD_CLASS_REFUSED
   */
  def settled(settings: Settings, table: TableConfig): Settings = {
    refusePayload(settings, table)
    val own = settings.withoutSessionSettings(
      (entry, option) => entry.scope == OptionScope.OfTable && differing(entry, option, table).isDefined,
      key => table.mergeProperties.get(key) != settings.mergeProperties.get(key),
      key => table.properties.get(key) != settings.stored.get(key).map(_.value)
    )
    refuse(own, table)
    own
  }

  /**
   * A class of Hudi's that is no merge rule is not compared with the table's: the session's would be ignored, and the
   * write would do something else than the class does, such as to upsert the rows that it deletes.
   */
  private def refusePayload(settings: Settings, table: TableConfig): Unit =
    for (option <- settings.configured(Options.PayloadClass); why <- PayloadClasses.refused(option.value))
      throw MerganserException("PAYLOAD_CLASS_REFUSED", "table" -> table.name, "key" -> option.name,
        "class" -> option.value, "reason" -> why)

  private def refuse(settings: Settings, table: TableConfig): Unit = {
    for (
      (entry, option) <- settings.of(OptionScope.OfTable).toSeq.sortBy(_._1.key) if !isWithoutEffect(entry, table);
      stored          <- differing(entry, option, table)
    )
      throw conflict(option.name, option.value, stored, table.name)
    for ((key, value) <- settings.mergeProperties; stored = table.mergeProperties.get(key) if !stored.contains(value))
      throw conflict(Options.MergePropertyPrefix + key, value, stored.getOrElse("none"), table.name)
    RuleDeclaration.requireStored(settings, table)(conflict(_, _, _, table.name))
    requireStored(settings, table.properties, table.name)
  }

  /** A table without ordering fields merges by commit time; ordering fields of a write do not change that. */
  private def isWithoutEffect(entry: OptionEntry, table: TableConfig): Boolean =
    entry == Options.OrderingFields && table.orderingFields.isEmpty

  /**
   * The options of a write to an existing table that are accepted and have no effect.
   *
   * @param settings as [[settled]] returns them
   */
  private[settings] def ignored(settings: Settings, table: TableConfig): Seq[IgnoredOption] =
    settings.ignored ++ settings.of(OptionScope.OfTable).collect {
      case (entry, option) if isWithoutEffect(entry, table) && differing(entry, option, table).isDefined =>
        IgnoredOption(option.name,
          s"table '${table.name}' has no ordering field, so the last write wins; a table created " +
            s"with ${Options.OrderingFields.key} merges by it")
    }

  /** Options that only tables store must equal what the table stores. */
  private[table] def requireStored(settings: Settings, properties: Map[String, String], table: String): Unit =
    for (
      (key, option) <- settings.stored; stored = properties.get(key)
      if option.value.nonEmpty && !stored.contains(option.value)
    )
      throw conflict(option.name, option.value, stored.getOrElse("none"), table)

  private def conflict(key: String, value: String, stored: String, table: String) =
    MerganserException("CONFIG_CONFLICT", "key" -> key, "value" -> value, "stored" -> stored,
      "by" -> s"table '$table' stores")

  /** What the table stores, if the option differs from it. */
  private[settings] def differing(
      entry: OptionEntry,
      option: Settings.Configured,
      table: TableConfig
  ): Option[String] = {
    val value                  = option.value
    def unless(stored: String) = Some(stored).filterNot(_.equalsIgnoreCase(value))
    def raw(default: Option[String]) =
      table.properties.get(entry.key).filter(_.nonEmpty).orElse(default).flatMap(unless)
    def joined(fields: Seq[String]) = if (fields.isEmpty) "none" else fields.mkString(",")
    entry match {
      case Options.TableName                                 => unless(table.name)
      case Options.Database                                  => table.database.flatMap(unless)
      case Options.TableTypeOption                           => unless(table.tableType.name)
      case Options.TableVersion                              => unless(table.version.toString)
      case Options.RecordKey                                 => unless(joined(table.recordKeyFields))
      case Options.PartitionFields                           => partitions(value, table)
      case Options.OrderingFields                            => unless(joined(table.orderingFields))
      case Options.MergeModeOption | Options.StoredMergeMode => unless(MergeMode.of(table).name)
      case Options.StrategyIdOption                          => strategy(value, table)
      case Options.RuleDefault | Options.RuleDelete | Options.RuleText | Options.RuleRetractColumn |
          Options.RuleRetractValues =>
        None // with the functions of columns
      case Options.PayloadClass                       => payload(value, table)
      case Options.PayloadOrderingField               => unless(joined(table.orderingFields))
      case Options.DeleteField | Options.DeleteMarker => deleteMarker(entry, value, table)
      case Options.NullOrderingOption                 =>
        // A write may be stricter than its table.
        if (value == "reject") None else table.properties.get(entry.key).flatMap(unless)
      case Options.KeyGeneratorType | Options.KeyGeneratorClass => generator(option, table)
      case Options.HiveStyle | Options.UrlEncode                => raw(entry.default)
      case Options.DropPartitionColumns | Options.StoredKeys    => raw(entry.default)
      case Options.SlashedDates                                 => unless(table.hasSlashedDates.toString)
      case Options.TimelineZone                                 => raw(Some("LOCAL"))
      case Options.ChangeData                                   => raw(entry.default)
      case Options.TombstonesRetained                           => raw(entry.default)
      case Options.ChangeLoggingMode => if (table.changeLogging.isEmpty) None else raw(entry.default)
      case Options.IndexTypeOption   => index(value, table)
      // Other writers do not store them: there the table's metadata decides.
      case Options.BucketEngine if storesIndex(table)         => raw(entry.default)
      case Options.BucketExpressions if storesIndex(table)    => raw(Some("none"))
      case timeBased if Options.TimeBased.contains(timeBased) => timed(timeBased, value, table)
      case _                                                  => raw(None)
    }
  }

  private def partitions(value: String, table: TableConfig): Option[String] = {
    val fields = OptionKind.NameList.split(value)
    val typed  = table.partitionSpec.map(field => s"${field.name}:${field.kind.name}")
    val plain  = table.partitionFields
    val same = fields.size == plain.size && fields.zip(plain.zip(typed)).forall { case (g, (name, full)) =>
      g.equalsIgnoreCase(name) || g.equalsIgnoreCase(full) || (full == s"$name:" && isOfKind(g, name))
    }
    if (same) None
    else Some(
      if (plain.isEmpty) "none" else table.properties.getOrElse("hoodie.table.partition.fields", plain.mkString(",")))
  }

  /** A kind that the table does not store is the write's to decide. */
  private def isOfKind(field: String, name: String): Boolean =
    Seq(PartitionKind.Simple, PartitionKind.Timestamp).exists(kind => field.equalsIgnoreCase(s"$name:${kind.name}"))

  private def strategy(value: String, table: TableConfig): Option[String] = {
    val implied = MergeMode.of(table) match {
      case MergeMode.EventTimeOrdering  => StrategyId.EventTime
      case MergeMode.CommitTimeOrdering => StrategyId.CommitTime
      case MergeMode.Custom             => StrategyId.PayloadBased
    }
    // A table whose payload class was translated was created with "the payload class decides".
    val byPayload = value.equalsIgnoreCase(StrategyId.PayloadBased) && table.legacyPayloadClass.isDefined
    Some(table.strategyId.getOrElse(implied)).filterNot(stored => byPayload || stored.equalsIgnoreCase(value))
  }

  private def payload(value: String, table: TableConfig): Option[String] =
    table.payloadClass.orElse(table.legacyPayloadClass) match {
      case Some(stored) => Some(stored).filterNot(_ == value)
      case None => if (meansTheSame(value, table)) None else Some(s"none, and merge mode ${MergeMode.of(table)}")
    }

  /** Whether the table, which stores no payload class, has the rule of this one. */
  private def meansTheSame(payload: String, table: TableConfig): Boolean = scala.util.Try {
    RuleInference.infer(table.version, None, None, Some(payload), table.orderingFields, Map.empty).properties
  }.toOption.exists { properties =>
    val would = TableConfig(properties + ("hoodie.table.version" -> table.version.toString))
    would.legacyPayloadClass.isDefined && MergeMode.of(would) == MergeMode.of(table) && would.partialUpdateMode == table
      .partialUpdateMode &&
    would.mergeProperties.forall { case (k, v) => table.mergeProperties.get(k).contains(v) }
  }

  private def deleteMarker(entry: OptionEntry, value: String, table: TableConfig): Option[String] =
    table.mergeProperties.get(entry.key) match {
      case Some(stored) => Some(stored).filterNot(_ == value)
      // Tables before version 9 cannot store it: their writers set it every time.
      case None => if (table.version < 9) None else Some("none")
    }

  private def generator(option: Settings.Configured, table: TableConfig): Option[String] = {
    val stored = KeyGenerator.stored(table)
    def same(requested: KeyGenerator) =
      requested == stored || (stored == KeyGenerator.NonPartition && requested == KeyGenerator.Simple)
    if (KeyGenerator.named(option, table.recordKeyFields).forall(same)) None else Some(stored.name)
  }

  private def index(value: String, table: TableConfig): Option[String] =
    table.properties.get(Options.IndexTypeOption.key).filter(stored => findsKeys(stored) != findsKeys(value))

  private def storesIndex(table: TableConfig): Boolean = table.properties.contains(Options.IndexTypeOption.key)

  /** Equal for indexes that find the same keys, and so may alternate. */
  private def findsKeys(index: String): String =
    if (index == "BLOOM") "SIMPLE" else if (index == "GLOBAL_BLOOM") "GLOBAL_SIMPLE" else index

  private def timed(entry: OptionEntry, value: String, table: TableConfig): Option[String] = {
    val isTimed = table.partitionSpec.exists(_.kind == PartitionKind.Timestamp)
    val stored  = entry.names.flatMap(table.properties.get).headOption.orElse(entry.default)
    // Other writers' tables may leave these settings to each write.
    val isStored = Options.TimeBased.flatMap(_.names).exists(table.properties.contains)
    if (isTimed && isStored) Some(stored.getOrElse("none")).filterNot(_ == value) else None
  }
}
