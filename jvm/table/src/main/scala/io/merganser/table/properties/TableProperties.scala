package io.merganser.table.properties

import io.merganser.merge.MerganserException
import io.merganser.table.options.{ForeignOptions, Options, OwnProperties}
import io.merganser.table.options.Names.lower

/** What a property, a folder of `.hoodie` or an action on the timeline means for reading and writing a table. */
sealed trait Treatment

object Treatment {

  /** Read and written accordingly. */
  case object Handled extends Treatment

  /** Changes neither rows nor files. */
  case object Harmless extends Treatment

  /** Rows would be missing, duplicated or wrong. Such a table is not written either. */
  case object RefusesReading extends Treatment

  /** Rows are read correctly, but our writes would corrupt the table, here or for other engines. */
  case object RefusesWriting extends Treatment
}

/**
 * One property of `hoodie.properties`.
 *
 * @param key      its name; one that ends with a dot is a prefix
 * @param accepted values, in any case, that need no special treatment; an empty value never does
 * @param reason   why it is refused with any other value; a clause
 * @param remedy   what to do then; a sentence without its full stop
 */
final case class TableProperty(
    key: String,
    treatment: Treatment,
    accepted: Seq[String] = Nil,
    reason: String = "",
    remedy: String = TableProperties.OtherEngine
) {
  def accepts(value: String): Boolean = value.trim.isEmpty || accepted.exists(_.equalsIgnoreCase(value.trim))
}

/**
 * Every property that Apache Hudi 1.2.0 and earlier releases store in `hoodie.properties`, and its treatment here.
 *
 * A property that is neither here, nor an option of writes ([[Options]], [[ForeignOptions]]), nor the user's own
 * ([[OwnProperties]]) is unknown: the table is read, and not written unless the write allows it.
 */
object TableProperties {

  private[table] val OtherEngine = "Use the engine that created the table, or copy its rows into a new table"

  private val Newer = Seq("hoodie.deltastreamer.keygen.", "hoodie.streamer.keygen.", "hoodie.keygen.")

  private def handled(keys: String*): Seq[TableProperty]  = keys.map(TableProperty(_, Treatment.Handled)).toSeq
  private def harmless(keys: String*): Seq[TableProperty] = keys.map(TableProperty(_, Treatment.Harmless)).toSeq
  private def unreadable(key: String, accepted: String, reason: String, remedy: String = OtherEngine) =
    TableProperty(key, Treatment.RefusesReading, accepted.split('|').toSeq, reason, remedy)
  private def readOnly(key: String, accepted: String, reason: String, remedy: String = OtherEngine) =
    TableProperty(key, Treatment.RefusesWriting, accepted.split('|').toSeq, reason, remedy)

  private[table] val VirtualKeys = "hoodie.populate.meta.fields"
  private[table] val BaseFormats = Seq("hoodie.table.base.file.format", "hoodie.table.ro.file.format")
  private[table] val Bootstrap   = "hoodie.bootstrap.base.path"
  private val DroppedColumns     = "hoodie.datasource.write.drop.partition.columns"
  private[table] val Extractor   = "hoodie.table.partition_extractor_class"

  private[properties] val SlashedDates = "hoodie.datasource.write.slash.separated.date.partitioning"
  private[properties] val SlashedDays  = "SlashEncodedDayPartitionValueExtractor"

  private val OtherPaths =
    "partition paths of this form are not generated here, so a key would be stored a second time"

  val all: Seq[TableProperty] =
    // What the table is.
    handled(
      "hoodie.database.name", "hoodie.table.name", "hoodie.table.type", "hoodie.table.version",
      "hoodie.table.initial.version",
      "hoodie.table.checksum", "hoodie.table.create.schema", "hoodie.table.recordkey.fields",
      "hoodie.table.partition.fields",
      "hoodie.table.ordering.fields", "hoodie.table.precombine.field", "hoodie.table.keygenerator.type",
      "hoodie.table.keygenerator.class", "hoodie.datasource.write.hive_style_partitioning",
      "hoodie.datasource.write.partitionpath.urlencode"
    ) ++
      // What its files store.
      handled(VirtualKeys, SlashedDates, DroppedColumns) ++
      // How its rows are merged.
      handled("hoodie.record.merge.mode", "hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy",
        "hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class", "hoodie.table.partial.update.mode",
        Options.MergePropertyPrefix, Options.RuleText.key, TableConfig.RuleSince,
        TableConfig.RuleChecked) ++
      // Where its files are.
      handled("hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.archivelog.folder",
        "hoodie.table.timeline.timezone",
        "hoodie.partition.metafile.use.base.format") ++
      Seq(
        unreadable("hoodie.timeline.layout.version", "1|2", "the layout of its timeline is not known here"),
        unreadable("hoodie.table.format", "native", "its timeline is stored in another table format"),
        unreadable(BaseFormats.head, "PARQUET", "only Parquet base files are read"),
        unreadable(BaseFormats(1), "PARQUET", "only Parquet base files are read"),
        unreadable("hoodie.table.log.file.format", "HOODIE_LOG", "log files of other formats are not read"),
        unreadable("hoodie.table.rt.file.format", "HOODIE_LOG", "log files of other formats are not read"),
        unreadable("hoodie.table.multiple.base.file.formats.enable", "false",
          "rows of base files that are not Parquet would be missing"),
        unreadable(Bootstrap, "", "some of its rows are in the table from which it was bootstrapped")
      ) ++
      // These only matter to bootstrapped tables: how they find their source.
      harmless("hoodie.bootstrap.index.enable", "hoodie.bootstrap.index.class", "hoodie.bootstrap.index.type") ++
      // What its writes leave for readers of changes.
      handled("hoodie.table.cdc.enabled", "hoodie.table.cdc.supplemental.logging.mode") ++
      // Indexes in the metadata table are removed with it, see MetadataTable.
      handled("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight") ++
      harmless("hoodie.table.index.defs.path", "hoodie.table.secondary.indexes.metadata") ++
      // For catalogs, and of releases earlier than any version that is read here.
      handled(Extractor) ++ harmless("hoodie.datasource.write.partition.columns", "hoodie.table.partition.columns") ++
      // Time-based paths. The legacy prefixes count where the newer one is absent.
      Newer.flatMap(prefix =>
        handled(Seq("timestamp.type", "timestamp.scalar.time.unit", "input.dateformat",
            "input.dateformat.list.delimiter.regex",
            "input.timezone", "output.dateformat", "output.timezone", "timezone").map(name =>
            s"${prefix}timebased.$name"): _*) :+
          readOnly(s"${prefix}datetime.parser.class",
            "org.apache.hudi.keygen.parser.HoodieDateTimeParser|org.apache.hudi.keygen.parser.BaseHoodieDateTimeParser",
            "its partition paths are generated by a class that is not available here")) ++
      // What our catalogs store of a table that is in no metastore.
      harmless("merganser.catalog.columns", "merganser.catalog.property.")

  private val byName: Map[String, TableProperty] = all.map(p => p.key -> p).toMap
  private val prefixes: Seq[TableProperty]       = all.filter(_.key.endsWith("."))

  def of(key: String): Option[TableProperty] = byName.get(key).orElse(prefixes.find(p => key.startsWith(p.key)))

  /**
   * Refuses a table whose rows would be read wrong.
   *
   * @param table its path
   * @throws MerganserException BOOTSTRAP_TABLE, BASE_FORMAT_UNSUPPORTED, TABLE_FEATURE_UNREADABLE
   */
  def requireReadable(table: Any, config: TableConfig): Unit =
    for ((key, value) <- config.properties.toSeq.sorted; property <- of(key) if !property.accepts(value))
      property match {
        case TableProperty(Bootstrap, _, _, _, _) =>
          throw MerganserException("BOOTSTRAP_TABLE", "path" -> table, "source" -> value)
        case TableProperty(format, _, _, _, _) if BaseFormats.contains(format) =>
          throw MerganserException("BASE_FORMAT_UNSUPPORTED", "path" -> table, "format" -> value)
        case _ =>
          if (property.treatment == Treatment.RefusesReading)
            throw MerganserException("TABLE_FEATURE_UNREADABLE", "path" -> table, "feature" -> named(key, value),
              "reason" -> property.reason, "remedy" -> property.remedy)
      }

  /**
   * Refuses a table that a write would corrupt.
   *
   * @param unknown true where unknown properties are allowed
   * @throws MerganserException what [[requireReadable]] throws, TABLE_FEATURE_READ_ONLY, TABLE_PROPERTY_UNKNOWN
   */
  def requireWritable(table: Any, config: TableConfig, unknown: Boolean): Unit = {
    requireReadable(table, config)
    for ((key, value) <- config.properties.toSeq.sorted if value.trim.nonEmpty) {
      def refuse(reason: String, remedy: String) = throw MerganserException("TABLE_FEATURE_READ_ONLY", "path" -> table,
        "feature" -> named(key, value), "reason" -> reason, "remedy" -> remedy)
      of(key) match {
        case Some(property) if property.treatment == Treatment.RefusesWriting && !property.accepts(value) =>
          refuse(property.reason, property.remedy)
        case Some(property) if property.key == Extractor && hasOtherPaths(config, value) =>
          refuse(OtherPaths,
            s"$OtherEngine. If values of the partition column have slashes of their own, take the property out of " +
              PropertiesFile.Name)
        case Some(property) if property.key == DroppedColumns && config.dropsPartitionColumns && hasTimes(config) =>
          refuse("its partition paths contain times in another format instead of the values of the partition columns",
            OtherEngine)
        case Some(property) if property.key == VirtualKeys && !config.storesKeys && config.recordKeyFields.isEmpty =>
          refuse("its rows have neither stored keys nor key columns", OtherEngine)
        case Some(_) => ()
        case None =>
          ForeignOptions.refusedByName.get(lower(key)).filterNot(_.accepted.exists(_.equalsIgnoreCase(value.trim)))
            .foreach(option =>
              refuse("it would change rows or layout, and is not supported", OtherEngine + s" (${option.remedy})"))
          if (!unknown && !isOption(key) && !OwnProperties.isOwn(key))
            throw MerganserException("TABLE_PROPERTY_UNKNOWN",
              "path" -> table, "key" -> key, "value" -> value, "option" -> Options.AllowUnknownProperties.key)
      }
    }
  }

  /** Whether the class parses paths that no rule here generates, such as those of hours. */
  private def hasOtherPaths(config: TableConfig, extractor: String): Boolean =
    extractor.trim.split('.').last.startsWith("SlashEncoded") && !config.hasSlashedDates &&
      config.partitionSpec.exists(_.kind == PartitionKind.Simple)

  private def hasTimes(config: TableConfig): Boolean = config.partitionSpec.exists(_.kind != PartitionKind.Simple)

  private def isOption(key: String): Boolean = {
    val name = lower(key)
    Options.byName.contains(name) || ForeignOptions.isKnown(name) || ForeignOptions.isHarmless(name) ||
    ForeignOptions.isSparks(name)
  }

  private def named(key: String, value: String): String = s"its property $key is '$value'"
}
