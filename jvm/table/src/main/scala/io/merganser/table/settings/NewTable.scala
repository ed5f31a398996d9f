package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.merge.columns.DeclaredRule
import io.merganser.table.index.BucketRule
import io.merganser.table.options.{OptionEntry, OptionScope, Options, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{MergeMode, RuleDeclaration, RuleInference}
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** Derives the properties that a new table stores from a user's options. */
object NewTable {

  /**
   * Everything that is stored in `hoodie.properties`, except the checksum.
   *
   * @param options      write options or table properties, by Hudi's, SQL's or our names
   * @param schema       the table's columns; meta columns among them are ignored
   * @param defaultName  the table's name where the options have none
   * @param partitionBy  columns of `partitionBy` or PARTITIONED BY; must agree with the options where both are set
   * @param sessionConf  Spark's configuration
   * @param bySql        CREATE TABLE: partition directories are hive style by default, and options of writes become the
   *                     table's defaults
   * @param createSchema the schema as Avro JSON without meta columns, stored until the first commit
   * @throws MerganserException what [[Settings.ofWrite]], [[RuleInference.infer]], [[KeyGenerator.of]] and
   *                            [[FrameCheck.requireColumns]] throw, DELETE_FLAG_NOT_BOOLEAN, RECORD_KEY_REQUIRED,
   *                            KEYS_ARE_GENERATED, BUCKET_HASH_FIELD_UNKNOWN, TIMESTAMP_FORMAT_MISSING
   */
  def properties(
      options: Map[String, String],
      schema: StructType,
      defaultName: String,
      partitionBy: Seq[String] = Nil,
      sessionConf: Map[String, String] = Map.empty,
      bySql: Boolean = false,
      database: Option[String] = None,
      createSchema: Option[String] = None
  ): Map[String, String] = {
    val settings   = explicitFirst(Settings.ofWrite(options, sessionConf))
    val name       = settings.explicit(Options.TableName).getOrElse(defaultName)
    val version    = settings.whole(Options.TableVersion).toInt
    val keys       = spelled(schema, settings.fields(Options.RecordKey))
    val partitions = partitionSpec(settings, partitionBy).map(spelledSpec(schema, _))
    if (keys.isEmpty) KeylessTable.requireCreatable(options, settings, name)
    val generator = KeyGenerator.of(settings, keys, partitions)
    val ordering  = spelled(schema, orderingFields(settings, version, schema))
    val columns = Map("hoodie.table.name" -> name, "hoodie.table.version" -> version.toString) ++
      nonEmpty("hoodie.table.recordkey.fields", keys) ++ nonEmpty("hoodie.table.partition.fields", partitions) ++
      nonEmpty("hoodie.table.ordering.fields", ordering) ++ markers(settings).map { case (key, value) =>
        s"${Options.MergePropertyPrefix}$key" -> value
      }
    val rule  = RuleDeclaration.ofNewTable(settings, TableConfig(columns), schema)
    val merge = mergeSettings(settings, version, ordering, bySql, rule)
    FrameCheck.requireColumns(schema, name, "create", keys, partitions.map(columnOf), merge.orderingFields)
    val unmarked = StructType(schema.filterNot(f => settings.explicit(Options.DeleteField).contains(f.name)))
    FrameCheck.requireDeleteFlag(unmarked, StructType(Nil), name, "create")
    settings.explicit(Options.EventTimeField).foreach(FrameCheck.requireEventTime(schema, name, _))
    val derived = identity(settings, name, version, database) ++
      nonEmpty("hoodie.table.recordkey.fields", keys) ++ nonEmpty("hoodie.table.partition.fields", partitions) ++
      nonEmpty("hoodie.table.ordering.fields", merge.orderingFields) ++ merge.properties ++
      paths(settings, generator, version) ++ PathSettings.of(settings, generator, partitions, bySql) ++
      timeBased(settings, name, schema, generator,
        partitions) ++
      changeData(settings) ++ index(settings, name, keys) ++ createSchema.map("hoodie.table.create.schema" -> _) ++
      (if (bySql) settings.of(OptionScope.OfWrite).map { case (entry, option) => entry.key -> option.value }
       else Nil)
    TableConflicts.requireStored(settings, derived, name)
    RetainedDeletes.require(TableConfig(derived))
    derived
  }

  /** If an option of the creation sets the merge rule, the session's defaults for other parts of it are ignored. */
  private def explicitFirst(settings: Settings): Settings = {
    def isExplicit(entry: OptionEntry) = settings.explicit(entry).isDefined && !settings.isFromSession(entry)
    val rule = Seq(Options.MergeModeOption, Options.StoredMergeMode, Options.StrategyIdOption, Options.PayloadClass)
    settings.withoutSessionSettings(
      (entry, _) =>
        (rule.contains(entry) && rule.exists(isExplicit)) ||
          (rule.contains(entry) && RuleDeclaration.isIn(settings)) ||
          (entry == Options.PayloadOrderingField && !isOrderingField(settings)),
      _ => false,
      _ => false
    )
  }

  /** Whether the legacy option for the ordering field applies to the new table. */
  private def isOrderingField(settings: Settings): Boolean =
    settings.fields(Options.OrderingFields).isEmpty && settings.whole(Options.TableVersion) < 9 &&
      RuleInference.readsPayloadOrderingField(settings.explicit(Options.PayloadClass))

  private def identity(
      settings: Settings,
      name: String,
      version: Int,
      database: Option[String]
  ): Map[String, String] = {
    val modern = version >= 8
    Map(
      "hoodie.table.name" -> name,
      "hoodie.table.type" -> settings.required(Options.TableTypeOption),
      "hoodie.table.version" -> version.toString,
      "hoodie.timeline.layout.version" -> (if (modern) "2" else "1"),
      "hoodie.table.base.file.format" -> "PARQUET",
      "hoodie.table.timeline.timezone" -> settings.required(Options.TimelineZone)
    ) ++ settings.explicit(Options.Database).orElse(database).map("hoodie.database.name" -> _) ++
      (if (modern) Map("hoodie.table.initial.version" -> version.toString, "hoodie.timeline.path" -> "timeline",
         "hoodie.timeline.history.path" -> "history")
       else Map("hoodie.archivelog.folder" -> "archived"))
  }

  private def markers(settings: Settings): Map[String, String] =
    Seq(Options.DeleteField, Options.DeleteMarker).flatMap(e => settings.explicit(e).map(e.key -> _)).toMap

  /** @param rule how each column is merged, if that is declared: then nothing else is */
  private def mergeSettings(
      settings: Settings,
      version: Int,
      ordering: Seq[String],
      bySql: Boolean,
      rule: Option[DeclaredRule]
  ): RuleInference = {
    val mode       = settings.configured(Options.MergeModeOption)
    val storedMode = settings.configured(Options.StoredMergeMode)
    for (a <- mode; b <- storedMode if a.value != b.value)
      throw MerganserException("OPTION_CONFLICT", "key" -> a.name, "value" -> a.value, "otherKey" -> b.name,
        "otherValue" -> b.value)
    val payload = settings.explicit(Options.PayloadClass)
    if (bySql && mode.isEmpty && storedMode.isEmpty && payload.isEmpty) requireStrategyFits(settings, ordering)
    val configured = mode.orElse(storedMode).flatMap(option => MergeMode.parse(option.value))
    val properties = settings.mergeProperties ++ markers(settings)
    rule match {
      case Some(declared) =>
        val inferred =
          RuleInference.infer(version, Some(MergeMode.Custom), Some(declared.strategyId), None, ordering, properties)
        inferred.copy(properties = inferred.properties + (Options.RuleText.key -> declared.text))
      case None =>
        RuleInference.infer(version, configured, settings.explicit(Options.StrategyIdOption), payload, ordering,
          properties)
    }
  }

  /** Hudi creates such a table, but no write to it succeeds: version 9 stores no id that the writes could match. */
  private def requireStrategyFits(settings: Settings, ordering: Seq[String]): Unit =
    for (
      id <- settings.configured(Options.StrategyIdOption)
      if id.value == MergeMode.StrategyId.CommitTime && ordering.nonEmpty
    )
      throw MerganserException("OPTION_CONFLICT", "key" -> id.name, "value" -> id.value,
        "otherKey" -> Options.OrderingFields.key,
        "otherValue" -> ordering.mkString(","))

  /** The ordering fields, or those of the legacy option where it applies. */
  private def orderingFields(
      settings: Settings,
      version: Int,
      schema: StructType
  ): Seq[String] = {
    val payload = settings.explicit(Options.PayloadClass)
    val fields  = settings.fields(Options.OrderingFields)
    val counts  = fields.isEmpty && version < 9 && RuleInference.readsPayloadOrderingField(payload)
    settings.explicit(Options.PayloadOrderingField) match {
      case Some(legacy) if counts => Seq(legacy)
      case Some(legacy) if fields.mkString(",") != legacy =>
        throw MerganserException("CONFIG_CONFLICT", "key" -> Options.PayloadOrderingField.key, "value" -> legacy,
          "stored" -> (if (fields.isEmpty) "none" else fields.mkString(",")),
          "by" -> s"${Options.OrderingFields.key} is")
      case None if counts && FrameCheck.find(schema, "ts").isDefined => Seq("ts")
      case _                                                         => fields
    }
  }

  private def paths(settings: Settings, generator: KeyGenerator, version: Int): Map[String, String] = {
    val (kind, className) = KeyGenerator.named(generator, settings)
    Map("hoodie.table.keygenerator.type" -> kind) ++
      (if (version < 8) Map("hoodie.table.keygenerator.class" -> className) else Nil) ++
      (if (version < 9) Map(Options.ComplexKeyWithoutName.key -> settings.required(Options.ComplexKeyWithoutName))
       else Nil) ++
      Map(Options.LogicalTimestamp.key -> settings.required(Options.LogicalTimestamp)) ++
      explicitSettings(settings, Options.NullOrderingOption) ++
      explicitSettings(settings, Options.TombstonesRetained).filterNot(_._2 == "0")
  }

  private def changeData(settings: Settings): Map[String, String] =
    if (!settings.required(Options.ChangeData).toBoolean) Map.empty
    else
      Seq(Options.ChangeData, Options.ChangeLoggingMode).map(entry => entry.key -> settings.required(entry)).toMap

  private def timeBased(
      settings: Settings,
      table: String,
      schema: StructType,
      generator: KeyGenerator,
      partitions: Seq[String]
  ): Map[String, String] = {
    val timed =
      partitions.filter(p =>
        generator == KeyGenerator.Timestamp || p.toUpperCase(java.util.Locale.ROOT).endsWith(":TIMESTAMP"))
    val found = explicitSettings(settings, Options.TimeBased: _*).toMap
    for (partition <- timed) {
      val needed = Seq(Options.TimestampType, Options.OutputDateFormat) ++
        (if (FrameCheck.find(schema, columnOf(partition)).exists(_.dataType == StringType)) Seq(Options.InputDateFormat)
         else Nil)
      for (entry <- needed if !found.contains(entry.key))
        throw MerganserException("TIMESTAMP_FORMAT_MISSING", "table" -> table, "field" -> columnOf(partition),
          "key" -> entry.key)
    }
    if (timed.isEmpty) Map.empty else found
  }

  private def index(settings: Settings, table: String, keys: Seq[String]): Map[String, String] = {
    val kind   = settings.required(Options.IndexTypeOption)
    val hashed = settings.fields(Options.BucketHashFields)
    requireBuckets(settings)
    for (field <- hashed if !keys.exists(_.equalsIgnoreCase(field)))
      throw MerganserException("BUCKET_HASH_FIELD_UNKNOWN", "table" -> table, "field" -> field,
        "keys" -> keys.mkString(", "))
    Map(Options.IndexTypeOption.key -> kind) ++ (
      if (kind != "BUCKET") Nil
      else
        Map(
          Options.BucketCount.key -> settings.required(Options.BucketCount),
          Options.BucketHashFields.key -> (if (hashed.isEmpty) keys else hashed).mkString(","),
          // Hudi's procedures compare the hash fields with it, and fail where a table has only one of them.
          Options.RecordKey.key -> keys.mkString(",")
        ) ++ explicitSettings(settings, Options.BucketEngine, Options.BucketExpressions)
    )
  }

  /** Ranges of hashes are for logs, as other engines have it, and are the same in all partitions at first. */
  private def requireBuckets(settings: Settings): Unit = {
    def conflict(entry: OptionEntry, value: String, other: OptionEntry, otherValue: String) =
      throw MerganserException("OPTION_CONFLICT", "key" -> entry.key, "value" -> value, "otherKey" -> other.key,
        "otherValue" -> otherValue)
    settings.explicit(Options.BucketExpressions).foreach(BucketRule.parse(_, Options.BucketExpressions.key))
    settings.explicit(Options.BucketEngine).filter(_ == "CONSISTENT_HASHING").foreach { engine =>
      val table = settings.required(Options.TableTypeOption)
      if (table != "MERGE_ON_READ") conflict(Options.BucketEngine, engine, Options.TableTypeOption, table)
      settings.explicit(Options.BucketExpressions).foreach(conflict(Options.BucketEngine, engine,
          Options.BucketExpressions, _))
    }
  }

  private def partitionSpec(settings: Settings, partitionBy: Seq[String]): Seq[String] = {
    val named = settings.fields(Options.PartitionFields)
    if (
      named.nonEmpty && partitionBy.nonEmpty && named.map(columnOf).map(_.toLowerCase) != partitionBy.map(_.toLowerCase)
    )
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.PartitionFields.key, "value" -> named.mkString(","),
        "otherKey" -> "the partitioning of the statement", "otherValue" -> partitionBy.mkString(","))
    if (named.nonEmpty) named else partitionBy
  }

  /** The column of `column:TYPE`. */
  private[table] def columnOf(partition: String): String = partition.lastIndexOf(':') match {
    case -1 => partition
    case at => partition.take(at).trim
  }

  private def explicitSettings(settings: Settings, entries: OptionEntry*): Seq[(String, String)] =
    entries.flatMap(entry => settings.explicit(entry).map(entry.key -> _)).toSeq

  private def nonEmpty(key: String, fields: Seq[String]): Seq[(String, String)] =
    if (fields.isEmpty) Nil else Seq(key -> fields.mkString(","))

  /** Names as the schema spells them; the name of no column is returned unchanged, for the error message. */
  private def spelled(schema: StructType, fields: Seq[String]): Seq[String] =
    fields.map(field =>
      if (field.contains('.')) spelledPath(schema, field) else FrameCheck.find(schema, field).fold(field)(_.name))

  private def spelledPath(schema: StructType, path: String): String =
    if (schema.fieldNames.contains(path)) path
    else {
      val (first, rest) = path.span(_ != '.')
      FrameCheck.find(schema, first) match {
        case Some(StructField(name, inner: StructType, _, _)) if rest.nonEmpty =>
          s"$name.${spelledPath(inner, rest.drop(1))}"
        case Some(field) if rest.isEmpty => field.name
        case _                           => path
      }
    }

  private def spelledSpec(schema: StructType, partition: String): String = {
    val column = columnOf(partition)
    spelled(schema, Seq(column)).head + partition.drop(column.length).trim
  }
}
