package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of how a table is registered in a Hive metastore. */
private[options] trait HiveSyncOptions extends OptionDefinitions {

  val HiveSync: OptionEntry = write("hoodie.datasource.hive_sync.enable", Bool, Some("false"),
    "After the commit the table, its columns and its partitions are registered in a Hive metastore, as Hudi does. " +
      "Without a metastore's address, the option is reported and has no effect.")
  val MetaSync: OptionEntry = write("hoodie.datasource.meta.sync.enable", Bool, Some("false"),
    "Same as `hoodie.datasource.hive_sync.enable`.")
  val HiveSyncUris: OptionEntry = write("hoodie.datasource.hive_sync.metastore.uris", AnyString, None,
    "Address of the Hive metastore, such as `thrift://host:9083`. Default: `hive.metastore.uris` in Hadoop's " +
      "configuration (`spark.hadoop.hive.metastore.uris`, hive-site.xml).")
  val HiveSyncDatabase: OptionEntry = write("hoodie.datasource.hive_sync.database", AnyString, None,
    "Database of the registered table; by default the table's, else `default`.")
  val HiveSyncTable: OptionEntry = write("hoodie.datasource.hive_sync.table", AnyString, None,
    "Name of the registered table; by default the table's. A merge-on-read table is registered under this name and " +
      "as `<name>_rt`, which merge the logs, and as `<name>_ro`, the base files alone.")
  val HiveSyncPartitionFields: OptionEntry = write("hoodie.datasource.hive_sync.partition_fields", AnyString, None,
    "Partition columns of the registered table; by default the table's.")
  val HiveSyncExtractor: OptionEntry = write("hoodie.datasource.hive_sync.partition_extractor_class", AnyString, None,
    "Hudi class that extracts the partition values from a partition's path: `MultiPartKeysValueExtractor` (one level " +
      "per column), `SinglePartPartitionValueExtractor` and `HiveStylePartitionValueExtractor` (the whole path is " +
      "one value), `SlashEncodedDayPartitionValueExtractor` and `SlashEncodedHourPartitionValueExtractor` (the " +
      "levels of a time are one value), `NonPartitionedExtractor`. Default: by the number of partition columns.")
  val HiveSyncStrategy: OptionEntry = write("hoodie.datasource.hive_sync.table.strategy", oneOf("ALL", "RO", "RT"),
    Some("ALL"),
    "How a merge-on-read table is registered: as ALL three tables, or only as the read-optimized (RO) or the merged " +
      "(RT) one, under the plain name.")
  val HiveSyncSkipRoSuffix: OptionEntry = write("hoodie.datasource.hive_sync.skip_ro_suffix", Bool, Some("false"),
    "The plain name of a merge-on-read table is the read-optimized table.")
  val HiveSyncPlainName: OptionEntry = write("hoodie.meta.sync.sync_snapshot_with_table_name", Bool, Some("true"),
    "A merge-on-read table is also registered under its plain name. `false`: only as `<name>_ro` and `<name>_rt`.")
  val HiveSyncTimestamps: OptionEntry = write("hoodie.datasource.hive_sync.support_timestamp", Bool, Some("false"),
    "Timestamps are registered as TIMESTAMP. `false`: as BIGINT, their type in the files.")
  val HiveSyncAsDataSource: OptionEntry = write("hoodie.datasource.hive_sync.sync_as_datasource", Bool, Some("true"),
    "The registered table gets the properties with which Spark reads it as a data source.")
  val HiveSyncOmitMetaColumns: OptionEntry = write("hoodie.datasource.hive_sync.omit_metadata_fields", Bool,
    Some("false"), "The columns `_hoodie_…` are not registered.")
  val HiveSyncCreateDatabase: OptionEntry = write("hoodie.datasource.hive_sync.auto_create_database", Bool,
    Some("true"), "The database is created if it does not exist.")
  val HiveSyncIgnoreFailures: OptionEntry = write("hoodie.datasource.hive_sync.ignore_exceptions", Bool, Some("false"),
    "A failed registration is logged and reported in the write's result. `false`: the write, which is committed " +
      "either way, raises WRITE_COMMITTED_SYNC_FAILED.")
  val HiveSyncTableProperties: OptionEntry = write("hoodie.datasource.hive_sync.table_properties", AnyString, None,
    "Additional properties of the registered table, one `key=value` per line.")
  val HiveSyncSerdeProperties: OptionEntry = write("hoodie.datasource.hive_sync.serde_properties", AnyString, None,
    "Additional properties of its SerDe, one `key=value` per line.")

  val hiveSyncSwitches: Seq[OptionEntry] = Seq(HiveSync, MetaSync)

  /** All options of how a table is registered in a Hive metastore. */
  val ofHiveSync: Seq[OptionEntry] = hiveSyncSwitches ++ Seq(HiveSyncUris, HiveSyncDatabase, HiveSyncTable,
    HiveSyncPartitionFields, HiveSyncExtractor, HiveSyncStrategy, HiveSyncSkipRoSuffix, HiveSyncPlainName,
    HiveSyncTimestamps, HiveSyncAsDataSource, HiveSyncOmitMetaColumns, HiveSyncCreateDatabase, HiveSyncIgnoreFailures,
    HiveSyncTableProperties, HiveSyncSerdeProperties)
}
