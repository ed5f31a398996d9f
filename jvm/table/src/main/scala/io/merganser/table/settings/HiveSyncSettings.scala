package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Names, OptionEntry, OptionKind, Options, Settings}
import io.merganser.table.properties.TableConfig

/**
 * How a write registers its table in a Hive metastore.
 *
 * @param metastoreUris    None: those of Hadoop's configuration
 * @param table            name without the suffixes of a merge-on-read table
 * @param extractor        the values of the partition columns in a partition's path
 * @param strategy         which tables a merge-on-read table is registered as: ALL, RO or RT
 * @param skipsRoSuffix    the read-optimized table has the name without a suffix
 * @param plainName        a merge-on-read table is registered without a suffix too, unless `skipsRoSuffix`
 * @param timestamps       timestamps are TIMESTAMP in Hive, not BIGINT
 * @param asDataSource     Spark reads the table as a data source
 * @param metaColumns      Hudi's columns are columns of the table
 * @param ignoresFailures  a failure is reported in the result of the write
 */
final case class HiveSyncSettings(
    metastoreUris: Option[String],
    database: String,
    table: String,
    partitionFields: Seq[String],
    extractor: PartitionExtractor,
    strategy: String,
    skipsRoSuffix: Boolean,
    plainName: Boolean,
    timestamps: Boolean,
    asDataSource: Boolean,
    metaColumns: Boolean,
    createsDatabase: Boolean,
    ignoresFailures: Boolean,
    tableProperties: Map[String, String],
    serdeProperties: Map[String, String]
)

private[table] object HiveSyncSettings {

  /**
   * @return None unless the write registers its table
   * @throws MerganserException OPTION_VALUE_INVALID, UNSUPPORTED_OPTION
   */
  def of(settings: Settings, stored: Map[String, String], table: TableConfig): Option[HiveSyncSettings] =
    if (!Options.hiveSyncSwitches.exists(settings.bool(_, stored))) None
    else {
      val fields = settings.text(Options.HiveSyncPartitionFields, stored)
        .fold(table.partitionFields)(OptionKind.NameList.split).map(Names.lower)
      Some(HiveSyncSettings(
          metastoreUris = settings.text(Options.HiveSyncUris, stored).filter(_.nonEmpty),
          database = Names.lower(settings.text(Options.HiveSyncDatabase, stored).filter(_.nonEmpty)
              .orElse(table.database).getOrElse("default")),
          table = Names.lower(settings.text(Options.HiveSyncTable, stored).filter(_.nonEmpty).getOrElse(table.name)),
          partitionFields = fields,
          extractor = extractor(settings, stored, table, fields),
          strategy = settings.required(Options.HiveSyncStrategy, stored),
          skipsRoSuffix = settings.bool(Options.HiveSyncSkipRoSuffix, stored),
          plainName = settings.bool(Options.HiveSyncPlainName, stored),
          timestamps = settings.bool(Options.HiveSyncTimestamps, stored),
          asDataSource = settings.bool(Options.HiveSyncAsDataSource, stored),
          metaColumns = !settings.bool(Options.HiveSyncOmitMetaColumns, stored),
          createsDatabase = settings.bool(Options.HiveSyncCreateDatabase, stored),
          ignoresFailures = settings.bool(Options.HiveSyncIgnoreFailures, stored),
          tableProperties = properties(settings, stored, Options.HiveSyncTableProperties),
          serdeProperties = properties(settings, stored, Options.HiveSyncSerdeProperties)
        ))
    }

  private def extractor(
      settings: Settings,
      stored: Map[String, String],
      table: TableConfig,
      fields: Seq[String]
  ): PartitionExtractor =
    settings.text(Options.HiveSyncExtractor, stored).filter(_.nonEmpty) match {
      case Some(name) => PartitionExtractor.byClass.getOrElse(
          name.drop(name.lastIndexOf('.') + 1),
          throw MerganserException("UNSUPPORTED_OPTION", "key" -> Options.HiveSyncExtractor.key, "value" -> name,
            "remedy" -> s"Give one of ${PartitionExtractor.byClass.keys.toSeq.sorted.mkString(", ")}"))
      case None if fields.isEmpty                            => PartitionExtractor.None
      case None if fields.size == 1 && table.hasSlashedDates => PartitionExtractor.Day
      case None if fields.size == 1                          => PartitionExtractor.Single
      case None                                              => PartitionExtractor.Each
    }

  /** Hudi's form: one `key=value` a line. */
  private def properties(
      settings: Settings,
      stored: Map[String, String],
      entry: OptionEntry
  ): Map[String, String] =
    settings.text(entry, stored).toSeq.flatMap(_.split('\n')).map(_.trim).filter(_.nonEmpty).map { line =>
      val at = line.indexOf('=')
      if (at <= 0) throw MerganserException("OPTION_VALUE_INVALID", "key" -> entry.key, "value" -> line,
        "expected" -> "lines of the form key=value")
      line.take(at).trim -> line.drop(at + 1).trim
    }.toMap
}
