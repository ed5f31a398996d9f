package io.merganser.table.options

import io.merganser.table.options.OptionKind._
import io.merganser.table.options.OptionScope._

/** Every option that Merganser supports. [[ForeignOptions]] lists Hudi's other options. */
object Options extends TableOptions with ServiceOptions with ClusteringOptions with StreamOptions with HiveSyncOptions {

  /** Prefix of a merge rule's settings, in a table's properties and in options that set them for one write. */
  val MergePropertyPrefix = "hoodie.record.merge.property."

  /** Prefix of the options that set how a column is merged; what follows is its name. */
  val RuleColumnPrefix = "merganser.rule.column."

  /** Prefix of the options of a group of columns; what follows is its name, and `.columns` or `.ordering`. */
  val RuleGroupPrefix = "merganser.rule.group."

  private def movesPartition(index: String) = write(
    s"hoodie.${index.toLowerCase(java.util.Locale.ROOT)}.index.update.partition.path", Bool,
    Some("true"),
    s"GLOBAL_$index: a row whose key is stored in another partition moves to the new one if it wins by the table's " +
      "rule. `false`: it stays there, and keeps its partition columns.")

  // --- of one write

  val SimpleMovesPartition: OptionEntry = movesPartition("SIMPLE")
  val BloomMovesPartition: OptionEntry  = movesPartition("BLOOM")
  val Operation: OptionEntry = write("hoodie.datasource.write.operation",
    OneOf(WriteOperation.all.map(_.name),
      notDone =
        Seq("insert_prepped", "upsert_prepped", "bulk_insert_prepped", "delete_prepped", "bootstrap", "cluster",
          "compact",
          "alter_schema")),
    Some("upsert"),
    "How a data frame's rows are written. `insert_overwrite` replaces all rows of the partitions it writes to, " +
      "`insert_overwrite_table` all rows of the table; `delete_partition` removes all rows of partitions. `delete` " +
      "and `delete_partition` need save mode append. On a table without key columns, rows without keys are inserted " +
      "by default. If set in the session, it also applies to INSERT and CREATE TABLE … AS SELECT.")
  val PartitionsToDelete: OptionEntry = write("hoodie.datasource.write.partitions.to.delete", PathList, None,
    "delete_partition: comma-separated partition paths, with `*` for any characters (`2024/*`). All other characters " +
      "are literal: blanks are part of a path, and `%2A` is a star in a value of a URL-encoded path. If unset: the " +
      "partitions of the frame's rows.")
  val PartitionPathsToDelete: OptionEntry = write("spark.merganser.write.partitionPathsToDelete", JsonStrings, None,
    "delete_partition: partition paths as a JSON array (`[\"a*b\", \"x,y\"]`), without wildcards. Use it instead of " +
      "hoodie.datasource.write.partitions.to.delete.")
  val OverwriteMode: OptionEntry = write("hoodie.datasource.overwrite.mode", oneOf("STATIC", "DYNAMIC"), None,
    "What an overwrite replaces if the statement does not say (`mode(\"overwrite\")`, `insertInto`, INSERT " +
      "OVERWRITE): the table or the partitions that PARTITION names (STATIC), or the partitions of the written rows " +
      "(DYNAMIC). Precedence: the write's option, the session's, spark.sql.sources.partitionOverwriteMode, STATIC.",
    "partitionOverwriteMode")
  val SqlInsertOperation: OptionEntry = write("hoodie.spark.sql.insert.into.operation",
    oneOf("insert", "upsert", "bulk_insert"),
    Some("insert"),
    "Operation of SQL INSERT INTO. `insert` does not merge with stored rows, so a key can be stored twice.")
  val SqlInsertMode: OptionEntry = write("hoodie.sql.insert.mode", oneOf("upsert", "strict", "non-strict"), None,
    "SQL INSERT INTO: `upsert` merges, `strict` fails if a key is already stored, `non-strict` inserts without a " +
      "check.")
  val SqlBulkInsert: OptionEntry =
    write("hoodie.sql.bulk.insert.enable", Bool, Some("false"), "SQL INSERT INTO runs as bulk_insert.")
  val CombineBeforeInsert: OptionEntry = write("hoodie.combine.before.insert", Bool, Some("false"),
    "Rows with the same key within an insert or bulk_insert are merged into one.")
  val CombineBeforeUpsert: OptionEntry = write("hoodie.combine.before.upsert", Bool, Some("true"),
    "Rows with the same key within an upsert are merged into one; `false` writes all rows of a key that is not " +
      "stored yet.")
  val InsertDropDuplicates: OptionEntry = write("hoodie.datasource.write.insert.drop.duplicates", Bool, Some("false"),
    "Insert: rows with the same key are merged into one, and rows whose key is already stored are dropped.")
  val InsertDuplicatePolicy: OptionEntry = write("hoodie.datasource.insert.dup.policy", oneOf("none", "drop", "fail"),
    Some("none"),
    "Insert, if a key is already stored: `none` stores it again, `drop` drops the row, `fail` fails before writing.")
  val AllowDuplicateInserts: OptionEntry = write("hoodie.merge.allow.duplicate.on.inserts", Bool, Some("true"),
    "`false`: an inserted row that is routed to the file group of its stored key is merged with the stored row.")
  val MissingColumnsOption: OptionEntry = write("spark.merganser.write.missingColumns",
    OneOf(Seq("added", "reject", "null", "keep"), Map("true" -> "null", "false" -> "reject")), Some("added"),
    "Columns of the table that the written rows lack. `added`: columns added after the table was created may be " +
      "missing; an upsert keeps their stored values and a new key gets null. Any other missing column is an error. " +
      "`reject` (also `false`): any missing column is an error. `null` (also `true`): null is written. `keep`: an " +
      "upsert keeps the stored row's values; a new key gets null.",
    "hoodie.write.set.null.for.missing.columns")
  val SqlDeletes: OptionEntry = write("spark.merganser.sql.deletes",
    OneOf(StatementDeletes.all.map(_.name), Map("always" -> "unconditional")), Some("source"),
    "How MERGE and DELETE order deletes. `source`: a DELETE clause of MERGE uses the source row's ordering value and " +
      "loses to a stored row with a greater one; if the source lacks an ordering field, and in DELETE, deletes apply " +
      "regardless of ordering values. `ordered`: each delete uses the source's ordering value or else the stored one " +
      "(a tie). `unconditional` (also `always`): all apply regardless of ordering values.")
  val SqlPartialUpdates: OptionEntry = write("hoodie.spark.sql.merge.into.partial.updates", Bool, Some("true"),
    "MERGE and UPDATE on merge-on-read: logs contain only the columns that the statement assigns. `false`: full " +
      "rows, with the other columns as the statement read them. Copy-on-write always writes full rows.")
  val SqlDuplicates: OptionEntry = write("spark.merganser.sql.duplicates", OneOf(Seq("combine", "fail")),
    Some("combine"),
    "What MERGE does with several source rows for one key. `combine`: the table's merge rule combines them. `fail`: " +
      "the statement fails and lists them.")
  val SqlInsertMatching: OptionEntry = write("spark.merganser.sql.insertMatching",
    OneOf(Seq("error", "position", "name")), Some("error"),
    "How INSERT and `insertInto` match columns, and fields of structs, if the query has the table's column names in " +
      "another order and the statement has neither a column list nor BY NAME. `error`: the statement fails. " +
      "`position`: by position, like Spark. `name`: by name, like Hudi. A query with any other column name is " +
      "matched by position.")
  val FrameEvolution: OptionEntry = write("spark.merganser.write.schemaEvolution",
    OneOf(Seq("true", "false", "toString")), Some("true"),
    "`true`: a write adds new columns and wider types of its frame to the table, and lists them in its result. " +
      "`toString`: a number or date column also becomes a string column if a frame, or a MERGE with schema " +
      "evolution, contains strings for it. `false`: other columns and types are an error.")
  val SqlEvolution: OptionEntry = write("spark.merganser.sql.schemaEvolution", Bool, Some("false"),
    "MERGE adds columns of its source that the table lacks, and widens types, like WITH SCHEMA EVOLUTION on Spark " +
      "versions that parse it.")
  val SchemaOnRead: OptionEntry = write("hoodie.schema.on.read.enable", Bool, Some("false"),
    "ALTER TABLE stores column versions with ids, so that columns can be renamed, dropped and retyped. Set it in the " +
      "session or as a table property. A table with column versions keeps and uses them whether or not this is set.")
  val MergerClasses: OptionEntry = write("hoodie.write.record.merge.custom.implementation.classes", NameList, None,
    "Classes of user-written mergers; the first one with the table's strategy id is used. Set it on reads too.",
    "hoodie.datasource.write.record.merger.impls")
  val EventTimeField: OptionEntry =
    write("hoodie.payload.event.time.field", AnyString, None,
      "Column whose minimum and maximum are recorded in the commit's statistics, in milliseconds since 1970: a " +
        "timestamp, a date, a number (ten digits are seconds, others milliseconds) or a string containing one of " +
        "these.")
  val CommitMetadataPrefix: OptionEntry = write("hoodie.datasource.write.commitmeta.key.prefix", AnyString, Some("_"),
    "Options whose names begin with this prefix are stored in the commit as extra metadata.")
  val AutoUpgrade: OptionEntry = write("hoodie.write.auto.upgrade", Bool, Some("false"),
    "A table of version 6 or 8 is compacted and upgraded to version 9 before a frame or an INSERT is written. " +
      "`false`: it keeps its version.")
  val DropIndexes: OptionEntry = write("spark.merganser.write.dropIndexes", Bool, Some("false"),
    "The first commit may remove the metadata table even if other engines maintain indexes in it (record-level, " +
      "secondary, expression); they rebuild what they need. `false`: the write is refused.")
  val DropMetadataTable: OptionEntry = write("spark.merganser.write.dropMetadataTable", Bool, Some("true"),
    "The first commit removes the metadata table (files, statistics, Bloom filters) that another engine maintains; " +
      "that engine rebuilds it. `false`: the write is refused.")
  val AllowUnknownProperties: OptionEntry = write("spark.merganser.write.allowUnknownProperties", Bool, Some("false"),
    "A table is written even if `hoodie.properties` or the timeline contains something unknown. `false`: the write " +
      "is refused.")
  val ComplexKeyValidation: OptionEntry = write("hoodie.write.complex.keygen.validation.enable", Bool, Some("true"),
    "An upgrade, or a write to a table that another engine has upgraded to version 9, is refused if the table has " +
      "the COMPLEX key generator, one key column and keys like `1`, which are `id:1` in version 9; so is a write " +
      "that looks up keys in a table with both forms. `false`: neither is checked, and rows may be stored twice.")
  val AllowAmbiguousKeys: OptionEntry = write("spark.merganser.write.allowAmbiguousKeys", Bool, Some("false"),
    "Rows are written even if different values yield the same record key or partition path: strings `__null__`, " +
      "`__empty__` and `,b:` (`b` is the next column) in keys of several columns, `__HIVE_DEFAULT_PARTITION__` in " +
      "paths, and `/` in paths of several strings that are not encoded. `false`: such rows are refused.")
  val AllowEmptyCommit: OptionEntry =
    write("hoodie.allow.empty.commit", Bool, Some("true"),
      "A write without rows commits too. `false`: only if it has a transaction.")

  // --- of one write: files

  val SmallFileLimit: OptionEntry = write("hoodie.parquet.small.file.limit", Integer(0), Some("104857600"),
    "Bytes; inserts first fill file groups whose base file is smaller than this. 0: every insert creates new groups.")
  val MaxFileSize: OptionEntry =
    write("hoodie.parquet.max.file.size", Integer(1), Some("125829120"), "Target size of a base file, in bytes.")
  val RowGroupSize: OptionEntry =
    write("hoodie.parquet.block.size", Integer(1), Some("125829120"), "Size of a row group of a base file, in bytes.")
  val PageSize: OptionEntry =
    write("hoodie.parquet.page.size", Integer(1), Some("1048576"), "Size of a page of a base file, in bytes.")
  val Dictionary: OptionEntry =
    write("hoodie.parquet.dictionary.enabled", Bool, Some("true"), "Base files use dictionary encoding.")
  val RecentRows: OptionEntry = write("spark.merganser.write.recentRows.percent", Integer(0), Some("5"),
    "How much of a rewritten base file (percent of its rows) may be stored again at its end: the most recently " +
      "changed rows, so that incremental queries read only those. None if the newest commit changed more. 0: never.")
  val Codec: OptionEntry = write("hoodie.parquet.compression.codec",
    oneOf("snappy", "gzip", "zstd", "lz4", "lz4_raw", "brotli", "uncompressed"), None,
    "Compression codec of base files; if unset, Spark's setting.")
  val BloomEntries: OptionEntry = write("hoodie.index.bloom.num_entries", Integer(1), Some("60000"),
    "BLOOM: keys that a base file's filter is sized for; a file with at most half as many gets a smaller filter.")
  val BloomFalsePositives: OptionEntry = write("hoodie.index.bloom.fpp", Fraction, Some("0.000000001"),
    "BLOOM: false-positive rate that the filter is sized for.")
  val RecordSizeEstimate: OptionEntry = write("hoodie.copyonwrite.record.size.estimate", Integer(1), Some("1024"),
    "Estimated size of a row in a base file, in bytes, until commits provide measured sizes.")
  val LogFileMaxSize: OptionEntry =
    write("hoodie.logfile.max.size", Integer(1), Some("1073741824"),
      "Size after which a new log file is started, in bytes.")
  val LogBlockMaxSize: OptionEntry = write("hoodie.logfile.data.block.max.size", Integer(1), Some("134217728"),
    "Target size of a log's data block, in bytes.")
  val LogBlockFormat: OptionEntry = write("hoodie.logfile.data.block.format",
    OneOf(Seq("avro", "parquet"), notDone = Seq("hfile")), None,
    "Format of a log's data blocks. If unset: Avro for few rows, Parquet (which Trino cannot read) for many.")

  // --- of one write: services and other writers

  val FailOnServiceFailure: OptionEntry = write("hoodie.fail.writes.on.inline.table.service.exception", Bool,
    Some("false"),
    "A committed write raises WRITE_COMMITTED_SERVICE_FAILED when a service after it fails. `false` (Hudi's " +
      "default is `true`): the failure is logged and reported in the write's result.")
  val ConcurrencyMode: OptionEntry = write("hoodie.write.concurrency.mode",
    oneOf("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL"),
    Some("SINGLE_WRITER"),
    "OPTIMISTIC_CONCURRENCY_CONTROL: several writers or statements may change the table concurrently; all must set " +
      "it. The later one to change a file group fails, and no write rolls back another that is still running. " +
      "NON_BLOCKING_CONCURRENCY_CONTROL: they may also append to the same file groups, by upserts of whole rows into " +
      "merge-on-read tables with fixed buckets and event-time ordering.")
  val FailedWrites: OptionEntry = write("hoodie.clean.failed.writes.policy", oneOf("EAGER", "LAZY"), None,
    "EAGER: a write first rolls back every pending write. LAZY: only those whose heartbeat has expired. Default: " +
      "LAZY for several writers (`hoodie.write.concurrency.mode`), else EAGER.",
    "hoodie.cleaner.policy.failed.writes")
  val HeartbeatInterval: OptionEntry =
    write("hoodie.client.heartbeat.interval_in_ms", Integer(1), Some("60000"),
      "Milliseconds between heartbeats of a write.")
  val HeartbeatMisses: OptionEntry = write("hoodie.client.heartbeat.tolerable.misses", Integer(0), Some("2"),
    "Heartbeats that may be missed before a write counts as dead.")
  val ConflictRetries: OptionEntry = write("hoodie.write.num.retries.on.conflict.failures", Integer(0), Some("0"),
    "How often a write is retried after losing a conflict. A write whose rows were read from the table itself is not " +
      "retried: it fails at once.")
  val TransactionApp: OptionEntry = write("spark.merganser.write.txnAppId", AnyString, None,
    "Name of the application whose writes are numbered: a write whose spark.merganser.write.txnVersion is not " +
      "greater than the last one committed for the application changes nothing, and returns the result of that " +
      "commit.",
    "txnAppId")
  val TransactionVersion: OptionEntry = write("spark.merganser.write.txnVersion", Integer(0), None,
    "Number of the write of spark.merganser.write.txnAppId; must increase with each new write.", "txnVersion")
  val TransactionHours: OptionEntry = write("spark.merganser.write.txnRetentionHours", Integer(0), Some("8760"),
    "Hours after an application's last write during which commits list its version, so that repeating that write " +
      "changes nothing; 0: forever.")
  val DryRun: OptionEntry = write("spark.merganser.write.dryRun", Bool, Some("false"),
    "The write runs without a commit: rows are prepared, merged and counted, and nothing is written. Its result " +
      "contains the counts, and some of the rows before and after.", "dryRun")
  val DryRunRows: OptionEntry = write("spark.merganser.write.dryRun.rows", Integer(0), Some("20"),
    "Maximum number of rows in the result of a dry run.", "dryRun.rows")
  val LockWait: OptionEntry = write("hoodie.write.lock.wait_time_ms", Integer(0), Some("60000"),
    "Milliseconds to wait for the table's lock at the commit.")
  val LockProvider: OptionEntry = write("hoodie.write.lock.provider", OptionKind.AnyString, None,
    "Hudi class that locks the table. `FileSystemBasedLockProvider`: a lock file shared by Hudi's and Merganser's " +
      "writers. `StorageBasedLockProvider`: another one, by conditional writes, on S3A of Hadoop 3.4.2 and later. " +
      "`InProcessLockProvider`: the table's own lock, shared by Merganser's writers in all processes. Others are " +
      "refused if several writers are configured, and have no effect for a single one.")
  val LockFolder: OptionEntry = write("hoodie.write.lock.filesystem.path", OptionKind.AnyString, None,
    "With `FileSystemBasedLockProvider`, the folder of Hudi's lock file `lock`; if unset, the table's `.hoodie`.")
  val LockExpiry: OptionEntry = write("hoodie.write.lock.filesystem.expire", Integer(0), Some("0"),
    "With `FileSystemBasedLockProvider`, minutes after which another engine's lock file counts as abandoned and is " +
      "removed; 0: never.")
  val LockValidity: OptionEntry = write("hoodie.write.lock.storage.validity.timeout.secs", Integer(10), Some("300"),
    "With `StorageBasedLockProvider`, seconds for which a lock is valid without renewal.")
  val LockRenewal: OptionEntry = write("hoodie.write.lock.storage.renew.interval.secs", Integer(1), Some("30"),
    "With `StorageBasedLockProvider`, seconds between renewals.", "hoodie.write.lock.storage.heartbeat.poll.secs")
  val ExclusiveSchemes: OptionEntry = write("hoodie.fs.atomic_creation.support", NameList, None,
    "URI schemes of other stores that create files exclusively. If several writers are configured, stores not known " +
      "to do so are refused.")

  /** All options of how a write locks its table. */
  val ofLocks: Seq[OptionEntry] =
    Seq(LockWait, LockProvider, LockFolder, LockExpiry, LockValidity, LockRenewal, ExclusiveSchemes)

  /** By operation. */
  val ShuffleTasks: Map[WriteOperation, OptionEntry] = Seq(
    WriteOperation.Upsert -> "upsert", WriteOperation.Insert -> "insert", WriteOperation.BulkInsert -> "bulkinsert",
    WriteOperation.Delete -> "delete"
  ).map { case (operation, key) =>
    operation -> write(s"hoodie.$key.shuffle.parallelism", Integer(0), None,
      s"Number of tasks of the shuffles of ${operation.name}. 0 or unset: by the frame's size.")
  }.toMap

  /** Operations that insert rows use the option of `insert`. */
  def shuffleTasksOf(operation: WriteOperation): OptionEntry =
    ShuffleTasks.getOrElse(operation, ShuffleTasks(WriteOperation.Insert))

  // --- of one read

  val QueryType: OptionEntry = read("hoodie.datasource.query.type",
    oneOf("snapshot", "read_optimized", "incremental"), Some("snapshot"),
    "`snapshot` merges logs; `read_optimized` reads only base files; `incremental` returns the rows that changed " +
      "within a time window.", "hoodie.datasource.view.type")

  val ChangesBegin: OptionEntry = read("hoodie.datasource.read.begin.instanttime", OptionKind.AnyString, None,
    "Incremental queries: start of the window: rows of commits that completed after this time. `earliest` or `000`: " +
      "from the first commit. Accepts the forms of `as.of.instant`; a commit's instant means that commit. Tables of " +
      "version 6 store no completion times, so their instants are compared.")

  val ChangesEnd: OptionEntry = read("hoodie.datasource.read.end.instanttime", OptionKind.AnyString, None,
    "Incremental queries: end of the window, inclusive: the table as of this time. Default: the newest commit.")

  val ChangesFormat: OptionEntry = read("hoodie.datasource.query.incremental.format",
    oneOf("latest_state", "cdc"), Some("latest_state"),
    "Incremental queries: `latest_state` returns each changed row once, as it was at the end of the window; `cdc` " +
      "returns what each commit changed: operation, row before and row after.")

  val ChangesSchemaOfEnd: OptionEntry = read("hoodie.datasource.read.schema.use.end.instanttime", Bool, Some("false"),
    "Incremental queries: return the columns as of the end of the window instead of the current ones. A table with " +
      "column versions (schema on read) always does.")

  val ChangeImages: OptionEntry = read("spark.merganser.read.changeImages", oneOf("json", "struct"), Some("json"),
    "Change data: `json` returns the same columns as Hudi, with images as JSON; `struct` returns images as structs " +
      "of the table's columns, and the completion time of each commit.")

  val ChangeReasons: OptionEntry = read("spark.merganser.read.changeReason", Bool, Some("false"),
    "Change data: adds the column `reason`: `won`, `tie`, `filled`, `merged` or `deleted`.")

  val AsOfInstant: OptionEntry = read("as.of.instant", OptionKind.AnyString, None,
    "Read the table as of this time, including commits at that instant: an instant (`yyyyMMddHHmmssSSS`, " +
      "`yyyyMMddHHmmss`), a date (`yyyy-MM-dd`: its start), a date with time (`yyyy-MM-dd HH:mm:ss[.SSS]`: without " +
      "milliseconds, the end of the second), all in the table's timeline zone unless they have an offset (`Z`, " +
      "`+01:00`); or 10 digits (seconds since 1970) or 13 (milliseconds). A time before the first commit, or whose " +
      "data was cleaned, is an error that names the oldest instant.")

  // --- of the application

  val AllowedClasses: OptionEntry = OptionEntry("spark.merganser.merge.allowedClasses", NameList, None,
    "Classes that may be loaded as record mergers and payload classes because a table, a write or a read names them; " +
      "`com.example.*` allows all classes below a package, an empty list none. If unset: any class on the class path.",
    OfApplication)

  val all: Seq[OptionEntry] = Seq(
    TableName, Database, TableTypeOption, TableVersion, RecordKey, PartitionFields, OrderingFields,
    MergeModeOption, StoredMergeMode, StrategyIdOption, PayloadClass, PayloadOrderingField, DeleteField, DeleteMarker,
    RuleDefault, RuleDelete, RuleRetractColumn, RuleRetractValues, RuleText, NullOrderingOption, KeyGeneratorType,
    KeyGeneratorClass, HiveStyle, UrlEncode,
    DropPartitionColumns,
    SlashedDates, StoredKeys, LogicalTimestamp,
    ComplexKeyWithoutName,
    TimelineZone, ChangeData, ChangeLoggingMode, TombstonesRetained
  ) ++ TimeBased ++ Seq(
    IndexTypeOption, BucketCount, BucketHashFields, BucketEngine, BucketExpressions, SimpleMovesPartition,
    BloomMovesPartition,
    Operation, OverwriteMode, PartitionsToDelete, PartitionPathsToDelete, SqlInsertOperation, SqlInsertMode,
    SqlBulkInsert, CombineBeforeInsert,
    CombineBeforeUpsert,
    InsertDropDuplicates,
    InsertDuplicatePolicy, AllowDuplicateInserts, MissingColumnsOption, FrameEvolution, SqlEvolution, SchemaOnRead,
    SqlDeletes,
    SqlPartialUpdates,
    SqlDuplicates,
    SqlInsertMatching,
    MergerClasses, EventTimeField, CommitMetadataPrefix,
    AutoUpgrade, DropIndexes, DropMetadataTable, AllowUnknownProperties, ComplexKeyValidation,
    AllowAmbiguousKeys, AllowEmptyCommit, SmallFileLimit, MaxFileSize,
    RowGroupSize,
    PageSize, Dictionary, RecentRows,
    Codec, BloomEntries,
    BloomFalsePositives,
    RecordSizeEstimate, LogFileMaxSize, LogBlockMaxSize, LogBlockFormat
  ) ++ ofServices ++ ofClustering ++ Seq(
    FailOnServiceFailure,
    ConcurrencyMode,
    FailedWrites,
    HeartbeatInterval, HeartbeatMisses, ConflictRetries, TransactionApp, TransactionVersion,
    TransactionHours,
    DryRun, DryRunRows
  ) ++ ofStreams ++ ofLocks ++ ofHiveSync ++ ShuffleTasks.values ++ Seq(
    QueryType, ChangesBegin, ChangesEnd, ChangesFormat, ChangesSchemaOfEnd, AsOfInstant,
    ChangeImages, ChangeReasons, AllowedClasses
  ) ++ ofStreamedReads

  private[table] val byName: Map[String, OptionEntry] =
    all.flatMap(entry => entry.names.map(_.toLowerCase(java.util.Locale.ROOT) -> entry)).toMap
}
