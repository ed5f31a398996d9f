package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of how a table is registered in a Hive metastore. */
private[options] trait HiveSyncOptions extends OptionDefinitions {

  val HiveSync: OptionEntry = write("hoodie.datasource.hive_sync.enable", Bool, Some("false"),
    "After the commit the table, its columns and its partitions are registered in a Hive metastore, as Hudi does it. " +
      "Without the address of a metastore the option is reported and has no effect.")
  val MetaSync: OptionEntry = write("hoodie.datasource.meta.sync.enable", Bool, Some("false"),
    "The same as `hoodie.datasource.hive_sync.enable`.")
  val HiveSyncUris: OptionEntry = write("hoodie.datasource.hive_sync.metastore.uris", AnyString, None,
    "Address of the Hive metastore, such as `thrift://host:9083`; by default `hive.metastore.uris` of Hadoop's " +
      "configuration (`spark.hadoop.hive.metastore.uris`, hive-site.xml).")
  val HiveSyncDatabase: OptionEntry = write("hoodie.datasource.hive_sync.database", AnyString, None,
    "Database of the registered table; by default the table's, else `default`.")
  val HiveSyncTable: OptionEntry = write("hoodie.datasource.hive_sync.table", AnyString, None,
    "Name of the registered table; by default the table's. A merge-on-read table is registered as this name and " +
      "`<name>_rt`, whose queries merge the logs, and `<name>_ro`, the base files alone.")
  val HiveSyncPartitionFields: OptionEntry = write("hoodie.datasource.hive_sync.partition_fields", AnyString, None,
    "Partition columns of the registered table; by default the table's.")
  val HiveSyncExtractor: OptionEntry = write("hoodie.datasource.hive_sync.partition_extractor_class", AnyString, None,
    "Hudi's class that finds the values of the partition columns in a partition's path: " +
      "`MultiPartKeysValueExtractor` (one level a column), `SinglePartPartitionValueExtractor` and " +
      "`HiveStylePartitionValueExtractor` (the whole path is one value), `SlashEncodedDayPartitionValueExtractor` " +
      "and `SlashEncodedHourPartitionValueExtractor` (levels of a time are one value), `NonPartitionedExtractor`. By " +
      "default by the number of partition columns.")
  val HiveSyncStrategy: OptionEntry = write("hoodie.datasource.hive_sync.table.strategy", oneOf("ALL", "RO", "RT"),
    Some("ALL"),
    "What a merge-on-read table is registered as: ALL three tables, or under the plain name the read-optimized (RO) " +
      "or the merged (RT) one alone.")
  val HiveSyncSkipRoSuffix: OptionEntry = write("hoodie.datasource.hive_sync.skip_ro_suffix", Bool, Some("false"),
    "The plain name of a merge-on-read table is the read-optimized table.")
  val HiveSyncPlainName: OptionEntry = write("hoodie.meta.sync.sync_snapshot_with_table_name", Bool, Some("true"),
    "A merge-on-read table is registered under the name without a suffix too; else as `<name>_ro` and `<name>_rt` " +
      "alone.")
  val HiveSyncTimestamps: OptionEntry = write("hoodie.datasource.hive_sync.support_timestamp", Bool, Some("false"),
    "Timestamps are registered as TIMESTAMP; else as BIGINT, which is what the files have.")
  val HiveSyncAsDataSource: OptionEntry = write("hoodie.datasource.hive_sync.sync_as_datasource", Bool, Some("true"),
    "The table has the properties by which Spark reads it as a data source.")
  val HiveSyncOmitMetaColumns: OptionEntry = write("hoodie.datasource.hive_sync.omit_metadata_fields", Bool,
    Some("false"), "The columns `_hoodie_…` are not registered.")
  val HiveSyncCreateDatabase: OptionEntry = write("hoodie.datasource.hive_sync.auto_create_database", Bool,
    Some("true"), "The database is created if there is none.")
  val HiveSyncIgnoreFailures: OptionEntry = write("hoodie.datasource.hive_sync.ignore_exceptions", Bool, Some("false"),
    "A failed registration is logged and reported in the result of the write, which is committed in any case; else " +
      "the write raises WRITE_COMMITTED_SYNC_FAILED.")
  val HiveSyncTableProperties: OptionEntry = write("hoodie.datasource.hive_sync.table_properties", AnyString, None,
    "Further properties of the registered table, `key=value` in lines.")
  val HiveSyncSerdeProperties: OptionEntry = write("hoodie.datasource.hive_sync.serde_properties", AnyString, None,
    "Further properties of its SerDe, `key=value` in lines.")

  val hiveSyncSwitches: Seq[OptionEntry] = Seq(HiveSync, MetaSync)

  /** All options of how a table is registered in a Hive metastore. */
  val ofHiveSync: Seq[OptionEntry] = hiveSyncSwitches ++ Seq(HiveSyncUris, HiveSyncDatabase, HiveSyncTable,
    HiveSyncPartitionFields, HiveSyncExtractor, HiveSyncStrategy, HiveSyncSkipRoSuffix, HiveSyncPlainName,
    HiveSyncTimestamps, HiveSyncAsDataSource, HiveSyncOmitMetaColumns, HiveSyncCreateDatabase, HiveSyncIgnoreFailures,
    HiveSyncTableProperties, HiveSyncSerdeProperties)
}
