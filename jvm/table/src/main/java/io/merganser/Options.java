package io.merganser;

/**
 * The names of options, for jobs in Java and Scala, and the values of those that have a list of values.
 * The page docs/config.md describes them. Generated from the options; a test compares.
 */
public final class Options {
  // --- of the table

  public static final String TABLE_NAME = "hoodie.table.name";
  public static final String DATABASE = "hoodie.database.name";
  public static final String TABLE_TYPE = "hoodie.datasource.write.table.type";
  public static final String TABLE_VERSION = "hoodie.write.table.version";
  public static final String RECORD_KEY = "hoodie.datasource.write.recordkey.field";
  public static final String PARTITION_FIELDS = "hoodie.datasource.write.partitionpath.field";
  public static final String ORDERING_FIELDS = "hoodie.table.ordering.fields";
  public static final String MERGE_MODE = "hoodie.write.record.merge.mode";
  public static final String STORED_MERGE_MODE = "hoodie.record.merge.mode";
  public static final String STRATEGY_ID = "hoodie.write.record.merge.strategy.id";
  public static final String PAYLOAD_CLASS = "hoodie.datasource.write.payload.class";
  public static final String PAYLOAD_ORDERING_FIELD = "hoodie.payload.ordering.field";
  public static final String DELETE_FIELD = "hoodie.payload.delete.field";
  public static final String DELETE_MARKER = "hoodie.payload.delete.marker";
  public static final String RULE_DEFAULT = "merganser.rule.default";
  public static final String RULE_DELETE = "merganser.rule.delete";
  public static final String RULE_RETRACT_COLUMN = "merganser.rule.retract.column";
  public static final String RULE_RETRACT_VALUES = "merganser.rule.retract.values";
  public static final String RULE_TEXT = "merganser.rule";
  public static final String NULL_ORDERING = "spark.merganser.write.nullOrdering";
  public static final String KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type";
  public static final String KEY_GENERATOR_CLASS = "hoodie.datasource.write.keygenerator.class";
  public static final String HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning";
  public static final String URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode";
  public static final String DROP_PARTITION_COLUMNS = "hoodie.datasource.write.drop.partition.columns";
  public static final String SLASHED_DATES = "hoodie.datasource.write.slash.separated.date.partitioning";
  public static final String STORED_KEYS = "hoodie.populate.meta.fields";
  public static final String LOGICAL_TIMESTAMP =
      "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled";
  public static final String COMPLEX_KEY_WITHOUT_NAME = "hoodie.write.complex.keygen.new.encoding";
  public static final String TIMELINE_ZONE = "hoodie.table.timeline.timezone";
  public static final String CHANGE_DATA = "hoodie.table.cdc.enabled";
  public static final String CHANGE_LOGGING_MODE = "hoodie.table.cdc.supplemental.logging.mode";
  public static final String TOMBSTONES_RETAINED = "merganser.tombstones.retained.hours";
  public static final String TIMESTAMP_TYPE = "hoodie.keygen.timebased.timestamp.type";
  public static final String TIMESTAMP_UNIT = "hoodie.keygen.timebased.timestamp.scalar.time.unit";
  public static final String INPUT_DATE_FORMAT = "hoodie.keygen.timebased.input.dateformat";
  public static final String INPUT_DATE_FORMAT_DELIMITER =
      "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex";
  public static final String INPUT_ZONE = "hoodie.keygen.timebased.input.timezone";
  public static final String OUTPUT_DATE_FORMAT = "hoodie.keygen.timebased.output.dateformat";
  public static final String OUTPUT_ZONE = "hoodie.keygen.timebased.output.timezone";
  public static final String GENERAL_ZONE = "hoodie.keygen.timebased.timezone";
  public static final String INDEX_TYPE = "hoodie.index.type";
  public static final String BUCKET_COUNT = "hoodie.bucket.index.num.buckets";
  public static final String BUCKET_HASH_FIELDS = "hoodie.bucket.index.hash.field";
  public static final String BUCKET_ENGINE = "hoodie.index.bucket.engine";
  public static final String BUCKET_EXPRESSIONS = "hoodie.bucket.index.partition.expressions";

  // --- of one write

  public static final String SIMPLE_MOVES_PARTITION = "hoodie.simple.index.update.partition.path";
  public static final String BLOOM_MOVES_PARTITION = "hoodie.bloom.index.update.partition.path";
  public static final String OPERATION = "hoodie.datasource.write.operation";
  public static final String OVERWRITE_MODE = "hoodie.datasource.overwrite.mode";
  public static final String PARTITIONS_TO_DELETE = "hoodie.datasource.write.partitions.to.delete";
  public static final String PARTITION_PATHS_TO_DELETE = "spark.merganser.write.partitionPathsToDelete";
  public static final String SQL_INSERT_OPERATION = "hoodie.spark.sql.insert.into.operation";
  public static final String SQL_INSERT_MODE = "hoodie.sql.insert.mode";
  public static final String SQL_BULK_INSERT = "hoodie.sql.bulk.insert.enable";
  public static final String COMBINE_BEFORE_INSERT = "hoodie.combine.before.insert";
  public static final String COMBINE_BEFORE_UPSERT = "hoodie.combine.before.upsert";
  public static final String INSERT_DROP_DUPLICATES = "hoodie.datasource.write.insert.drop.duplicates";
  public static final String INSERT_DUPLICATE_POLICY = "hoodie.datasource.insert.dup.policy";
  public static final String ALLOW_DUPLICATE_INSERTS = "hoodie.merge.allow.duplicate.on.inserts";
  public static final String MISSING_COLUMNS = "spark.merganser.write.missingColumns";
  public static final String FRAME_EVOLUTION = "spark.merganser.write.schemaEvolution";
  public static final String SQL_EVOLUTION = "spark.merganser.sql.schemaEvolution";
  public static final String SCHEMA_ON_READ = "hoodie.schema.on.read.enable";
  public static final String SQL_DELETES = "spark.merganser.sql.deletes";
  public static final String SQL_PARTIAL_UPDATES = "hoodie.spark.sql.merge.into.partial.updates";
  public static final String SQL_DUPLICATES = "spark.merganser.sql.duplicates";
  public static final String SQL_INSERT_MATCHING = "spark.merganser.sql.insertMatching";
  public static final String MERGER_CLASSES = "hoodie.write.record.merge.custom.implementation.classes";
  public static final String EVENT_TIME_FIELD = "hoodie.payload.event.time.field";
  public static final String COMMIT_METADATA_PREFIX = "hoodie.datasource.write.commitmeta.key.prefix";
  public static final String AUTO_UPGRADE = "hoodie.write.auto.upgrade";
  public static final String DROP_INDEXES = "spark.merganser.write.dropIndexes";
  public static final String DROP_METADATA_TABLE = "spark.merganser.write.dropMetadataTable";
  public static final String ALLOW_UNKNOWN_PROPERTIES = "spark.merganser.write.allowUnknownProperties";
  public static final String COMPLEX_KEY_VALIDATION = "hoodie.write.complex.keygen.validation.enable";
  public static final String ALLOW_AMBIGUOUS_KEYS = "spark.merganser.write.allowAmbiguousKeys";
  public static final String ALLOW_EMPTY_COMMIT = "hoodie.allow.empty.commit";
  public static final String SMALL_FILE_LIMIT = "hoodie.parquet.small.file.limit";
  public static final String MAX_FILE_SIZE = "hoodie.parquet.max.file.size";
  public static final String ROW_GROUP_SIZE = "hoodie.parquet.block.size";
  public static final String PAGE_SIZE = "hoodie.parquet.page.size";
  public static final String DICTIONARY = "hoodie.parquet.dictionary.enabled";
  public static final String RECENT_ROWS = "spark.merganser.write.recentRows.percent";
  public static final String CODEC = "hoodie.parquet.compression.codec";
  public static final String BLOOM_ENTRIES = "hoodie.index.bloom.num_entries";
  public static final String BLOOM_FALSE_POSITIVES = "hoodie.index.bloom.fpp";
  public static final String RECORD_SIZE_ESTIMATE = "hoodie.copyonwrite.record.size.estimate";
  public static final String LOG_FILE_MAX_SIZE = "hoodie.logfile.max.size";
  public static final String LOG_BLOCK_MAX_SIZE = "hoodie.logfile.data.block.max.size";
  public static final String LOG_BLOCK_FORMAT = "hoodie.logfile.data.block.format";
  public static final String INLINE_COMPACTION = "hoodie.compact.inline";
  public static final String ASYNC_COMPACTION = "hoodie.datasource.compaction.async.enable";
  public static final String SCHEDULE_INLINE = "hoodie.compact.schedule.inline";
  public static final String COMPACTION_TRIGGER = "hoodie.compact.inline.trigger.strategy";
  public static final String COMPACTION_DELTA_COMMITS = "hoodie.compact.inline.max.delta.commits";
  public static final String COMPACTION_DELTA_SECONDS = "hoodie.compact.inline.max.delta.seconds";
  public static final String COMPACTION_STRATEGIES = "hoodie.compaction.strategy";
  public static final String COMPACTION_TARGET_IO = "hoodie.compaction.target.io";
  public static final String COMPACTION_LOG_BYTES = "hoodie.compaction.logfile.size.threshold";
  public static final String COMPACTION_LOG_FILES = "hoodie.compaction.logfile.num.threshold";
  public static final String COMPACTION_PARTITIONS = "hoodie.compaction.daybased.target.partitions";
  public static final String COMPACTION_PARTITION_REGEX = "hoodie.compaction.partition.path.regex";
  public static final String LOG_COMPACTION_INLINE = "hoodie.log.compaction.inline";
  public static final String LOG_COMPACTION_BLOCKS = "hoodie.log.compaction.blocks.threshold";
  public static final String CLEAN_AUTOMATIC = "hoodie.clean.automatic";
  public static final String CLEAN_ASYNC = "hoodie.clean.async.enabled";
  public static final String CLEAN_POLICY = "hoodie.clean.policy";
  public static final String CLEAN_COMMITS = "hoodie.clean.commits.retained";
  public static final String CLEAN_HOURS = "hoodie.clean.hours.retained";
  public static final String CLEAN_VERSIONS = "hoodie.clean.fileversions.retained";
  public static final String CLEAN_TRIGGER = "hoodie.clean.trigger.strategy";
  public static final String CLEAN_TRIGGER_COMMITS = "hoodie.clean.trigger.max.commits";
  public static final String CLEAN_INCREMENTAL = "hoodie.clean.incremental.enabled";
  public static final String ARCHIVE = "hoodie.archive.automatic";
  public static final String ARCHIVE_ASYNC = "hoodie.archive.async";
  public static final String KEEP_MIN_COMMITS = "hoodie.keep.min.commits";
  public static final String KEEP_MAX_COMMITS = "hoodie.keep.max.commits";
  public static final String ARCHIVE_BATCH = "hoodie.commits.archival.batch";
  public static final String ARCHIVE_BEYOND_SAVEPOINT = "hoodie.archive.beyond.savepoint";
  public static final String HISTORY_MERGE_BATCH = "hoodie.timeline.compaction.batch.size";
  public static final String HISTORY_FILE_MAX_SIZE = "hoodie.timeline.compaction.target.file.max.bytes";
  public static final String HISTORY_VERSIONS = "hoodie.timeline.manifest.retained.versions";
  public static final String INLINE_CLUSTERING = "hoodie.clustering.inline";
  public static final String SCHEDULE_INLINE_CLUSTERING = "hoodie.clustering.schedule.inline";
  public static final String ASYNC_CLUSTERING = "hoodie.clustering.async.enabled";
  public static final String ASYNC_CLUSTERING_MAX_COMMITS = "hoodie.clustering.async.max.commits";
  public static final String CLUSTERING_MAX_COMMITS = "hoodie.clustering.inline.max.commits";
  public static final String CLUSTERING_SMALL_FILE_LIMIT = "hoodie.clustering.plan.strategy.small.file.limit";
  public static final String CLUSTERING_TARGET_FILE_BYTES = "hoodie.clustering.plan.strategy.target.file.max.bytes";
  public static final String CLUSTERING_GROUP_BYTES = "hoodie.clustering.plan.strategy.max.bytes.per.group";
  public static final String CLUSTERING_GROUPS = "hoodie.clustering.plan.strategy.max.num.groups";
  public static final String CLUSTERING_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns";
  public static final String CLUSTERING_SINGLE_GROUP =
      "hoodie.clustering.plan.strategy.single.group.clustering.enabled";
  public static final String CLUSTERING_FILTER_MODE = "hoodie.clustering.plan.partition.filter.mode";
  public static final String CLUSTERING_LOOKBACK = "hoodie.clustering.plan.strategy.daybased.lookback.partitions";
  public static final String CLUSTERING_SKIP_LATEST =
      "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions";
  public static final String CLUSTERING_BEGIN_PARTITION = "hoodie.clustering.plan.strategy.cluster.begin.partition";
  public static final String CLUSTERING_END_PARTITION = "hoodie.clustering.plan.strategy.cluster.end.partition";
  public static final String CLUSTERING_PARTITIONS = "hoodie.clustering.plan.strategy.partition.selected";
  public static final String CLUSTERING_PARTITION_REGEX = "hoodie.clustering.plan.strategy.partition.regex.pattern";
  public static final String CLUSTERING_PLAN_STRATEGY = "hoodie.clustering.plan.strategy.class";
  public static final String CLUSTERING_EXECUTION = "hoodie.clustering.execution.strategy.class";
  public static final String CLUSTERING_UPDATES_STRATEGY = "hoodie.clustering.updates.strategy";
  public static final String CLUSTERING_EXPIRATIONS = "hoodie.clustering.enable.expirations";
  public static final String CLUSTERING_EXPIRATION_MINUTES = "hoodie.clustering.expiration.threshold.mins";
  public static final String CLUSTERING_PRESERVES = "hoodie.clustering.preserve.commit.metadata";
  public static final String LAYOUT_STRATEGY = "hoodie.layout.optimize.strategy";
  public static final String CURVE_METHOD = "hoodie.layout.optimize.curve.build.method";
  public static final String CURVE_SAMPLE = "hoodie.layout.optimize.build.curve.sample.size";
  public static final String FAIL_ON_SERVICE_FAILURE = "hoodie.fail.writes.on.inline.table.service.exception";
  public static final String CONCURRENCY_MODE = "hoodie.write.concurrency.mode";
  public static final String FAILED_WRITES = "hoodie.clean.failed.writes.policy";
  public static final String HEARTBEAT_INTERVAL = "hoodie.client.heartbeat.interval_in_ms";
  public static final String HEARTBEAT_MISSES = "hoodie.client.heartbeat.tolerable.misses";
  public static final String CONFLICT_RETRIES = "hoodie.write.num.retries.on.conflict.failures";
  public static final String TRANSACTION_APP = "spark.merganser.write.txnAppId";
  public static final String TRANSACTION_VERSION = "spark.merganser.write.txnVersion";
  public static final String TRANSACTION_HOURS = "spark.merganser.write.txnRetentionHours";
  public static final String DRY_RUN = "spark.merganser.write.dryRun";
  public static final String DRY_RUN_ROWS = "spark.merganser.write.dryRun.rows";
  public static final String STREAM_ATTEMPTS = "hoodie.datasource.write.streaming.retry.count";
  public static final String STREAM_PAUSE = "hoodie.datasource.write.streaming.retry.interval.ms";
  public static final String STREAM_IDENTIFIER = "hoodie.datasource.write.streaming.checkpoint.identifier";
  public static final String STREAM_WITHOUT_COMPACTION = "hoodie.datasource.write.streaming.disable.compaction";
  public static final String LOCK_WAIT = "hoodie.write.lock.wait_time_ms";
  public static final String LOCK_PROVIDER = "hoodie.write.lock.provider";
  public static final String LOCK_FOLDER = "hoodie.write.lock.filesystem.path";
  public static final String LOCK_EXPIRY = "hoodie.write.lock.filesystem.expire";
  public static final String LOCK_VALIDITY = "hoodie.write.lock.storage.validity.timeout.secs";
  public static final String LOCK_RENEWAL = "hoodie.write.lock.storage.renew.interval.secs";
  public static final String EXCLUSIVE_SCHEMES = "hoodie.fs.atomic_creation.support";
  public static final String HIVE_SYNC = "hoodie.datasource.hive_sync.enable";
  public static final String META_SYNC = "hoodie.datasource.meta.sync.enable";
  public static final String HIVE_SYNC_URIS = "hoodie.datasource.hive_sync.metastore.uris";
  public static final String HIVE_SYNC_DATABASE = "hoodie.datasource.hive_sync.database";
  public static final String HIVE_SYNC_TABLE = "hoodie.datasource.hive_sync.table";
  public static final String HIVE_SYNC_PARTITION_FIELDS = "hoodie.datasource.hive_sync.partition_fields";
  public static final String HIVE_SYNC_EXTRACTOR = "hoodie.datasource.hive_sync.partition_extractor_class";
  public static final String HIVE_SYNC_STRATEGY = "hoodie.datasource.hive_sync.table.strategy";
  public static final String HIVE_SYNC_SKIP_RO_SUFFIX = "hoodie.datasource.hive_sync.skip_ro_suffix";
  public static final String HIVE_SYNC_PLAIN_NAME = "hoodie.meta.sync.sync_snapshot_with_table_name";
  public static final String HIVE_SYNC_TIMESTAMPS = "hoodie.datasource.hive_sync.support_timestamp";
  public static final String HIVE_SYNC_AS_DATA_SOURCE = "hoodie.datasource.hive_sync.sync_as_datasource";
  public static final String HIVE_SYNC_OMIT_META_COLUMNS = "hoodie.datasource.hive_sync.omit_metadata_fields";
  public static final String HIVE_SYNC_CREATE_DATABASE = "hoodie.datasource.hive_sync.auto_create_database";
  public static final String HIVE_SYNC_IGNORE_FAILURES = "hoodie.datasource.hive_sync.ignore_exceptions";
  public static final String HIVE_SYNC_TABLE_PROPERTIES = "hoodie.datasource.hive_sync.table_properties";
  public static final String HIVE_SYNC_SERDE_PROPERTIES = "hoodie.datasource.hive_sync.serde_properties";
  public static final String UPSERT_SHUFFLE_PARALLELISM = "hoodie.upsert.shuffle.parallelism";
  public static final String INSERT_SHUFFLE_PARALLELISM = "hoodie.insert.shuffle.parallelism";
  public static final String BULKINSERT_SHUFFLE_PARALLELISM = "hoodie.bulkinsert.shuffle.parallelism";
  public static final String DELETE_SHUFFLE_PARALLELISM = "hoodie.delete.shuffle.parallelism";

  // --- of one read

  public static final String QUERY_TYPE = "hoodie.datasource.query.type";
  public static final String CHANGES_BEGIN = "hoodie.datasource.read.begin.instanttime";
  public static final String CHANGES_END = "hoodie.datasource.read.end.instanttime";
  public static final String CHANGES_FORMAT = "hoodie.datasource.query.incremental.format";
  public static final String CHANGES_SCHEMA_OF_END = "hoodie.datasource.read.schema.use.end.instanttime";
  public static final String AS_OF_INSTANT = "as.of.instant";
  public static final String CHANGE_IMAGES = "spark.merganser.read.changeImages";
  public static final String CHANGE_REASONS = "spark.merganser.read.changeReason";
  public static final String STREAM_START = "hoodie.datasource.streaming.startOffset";
  public static final String STREAM_MAX_FILES = "maxFilesPerTrigger";
  public static final String STREAM_MAX_BYTES = "maxBytesPerTrigger";

  // --- of the spark application

  public static final String ALLOWED_CLASSES = "spark.merganser.merge.allowedClasses";

  /** Values of {@link #TABLE_TYPE}. */
  public static final class TableType {
    public static final String COPY_ON_WRITE = "COPY_ON_WRITE";
    public static final String MERGE_ON_READ = "MERGE_ON_READ";

    private TableType() {}
  }

  /** Values of {@link #TABLE_VERSION}. */
  public static final class TableVersion {
    public static final String V6 = "6";
    public static final String V8 = "8";
    public static final String V9 = "9";

    private TableVersion() {}
  }

  /** Values of {@link #MERGE_MODE}. */
  public static final class MergeMode {
    public static final String EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING";
    public static final String COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING";
    public static final String CUSTOM = "CUSTOM";

    private MergeMode() {}
  }

  /** Values of {@link #RULE_DEFAULT}. */
  public static final class RuleDefault {
    public static final String LAST = "last";
    public static final String LAST_NON_NULL = "last_non_null";
    public static final String FIRST = "first";
    public static final String FIRST_NON_NULL = "first_non_null";

    private RuleDefault() {}
  }

  /** Values of {@link #RULE_DELETE}. */
  public static final class RuleDelete {
    public static final String REMOVE_ROW = "remove_row";
    public static final String RESET_GROUP = "reset_group";
    public static final String IGNORE = "ignore";

    private RuleDelete() {}
  }

  /** Values of {@link #NULL_ORDERING}. */
  public static final class NullOrdering {
    public static final String LOWEST = "lowest";
    public static final String REJECT = "reject";

    private NullOrdering() {}
  }

  /** Values of {@link #TIMELINE_ZONE}. */
  public static final class TimelineZone {
    public static final String UTC = "UTC";
    public static final String LOCAL = "LOCAL";

    private TimelineZone() {}
  }

  /** Values of {@link #CHANGE_LOGGING_MODE}. */
  public static final class ChangeLoggingMode {
    public static final String OP_KEY_ONLY = "OP_KEY_ONLY";
    public static final String DATA_BEFORE = "DATA_BEFORE";
    public static final String DATA_BEFORE_AFTER = "DATA_BEFORE_AFTER";

    private ChangeLoggingMode() {}
  }

  /** Values of {@link #TIMESTAMP_TYPE}. */
  public static final class TimestampType {
    public static final String UNIX_TIMESTAMP = "UNIX_TIMESTAMP";
    public static final String DATE_STRING = "DATE_STRING";
    public static final String MIXED = "MIXED";
    public static final String EPOCHMILLISECONDS = "EPOCHMILLISECONDS";
    public static final String EPOCHMICROSECONDS = "EPOCHMICROSECONDS";
    public static final String SCALAR = "SCALAR";

    private TimestampType() {}
  }

  /** Values of {@link #TIMESTAMP_UNIT}. */
  public static final class TimestampUnit {
    public static final String NANOSECONDS = "NANOSECONDS";
    public static final String MICROSECONDS = "MICROSECONDS";
    public static final String MILLISECONDS = "MILLISECONDS";
    public static final String SECONDS = "SECONDS";
    public static final String MINUTES = "MINUTES";
    public static final String HOURS = "HOURS";
    public static final String DAYS = "DAYS";

    private TimestampUnit() {}
  }

  /** Values of {@link #INDEX_TYPE}. */
  public static final class IndexType {
    public static final String SIMPLE = "SIMPLE";
    public static final String BUCKET = "BUCKET";
    public static final String BLOOM = "BLOOM";
    public static final String GLOBAL_SIMPLE = "GLOBAL_SIMPLE";
    public static final String GLOBAL_BLOOM = "GLOBAL_BLOOM";

    private IndexType() {}
  }

  /** Values of {@link #BUCKET_ENGINE}. */
  public static final class BucketEngine {
    public static final String SIMPLE = "SIMPLE";
    public static final String CONSISTENT_HASHING = "CONSISTENT_HASHING";

    private BucketEngine() {}
  }

  /** Values of {@link #OPERATION}. */
  public static final class Operation {
    public static final String UPSERT = "upsert";
    public static final String INSERT = "insert";
    public static final String BULK_INSERT = "bulk_insert";
    public static final String DELETE = "delete";
    public static final String INSERT_OVERWRITE = "insert_overwrite";
    public static final String INSERT_OVERWRITE_TABLE = "insert_overwrite_table";
    public static final String DELETE_PARTITION = "delete_partition";

    private Operation() {}
  }

  /** Values of {@link #OVERWRITE_MODE}. */
  public static final class OverwriteMode {
    public static final String STATIC = "STATIC";
    public static final String DYNAMIC = "DYNAMIC";

    private OverwriteMode() {}
  }

  /** Values of {@link #SQL_INSERT_OPERATION}. */
  public static final class SqlInsertOperation {
    public static final String INSERT = "insert";
    public static final String UPSERT = "upsert";
    public static final String BULK_INSERT = "bulk_insert";

    private SqlInsertOperation() {}
  }

  /** Values of {@link #SQL_INSERT_MODE}. */
  public static final class SqlInsertMode {
    public static final String UPSERT = "upsert";
    public static final String STRICT = "strict";
    public static final String NON_STRICT = "non-strict";

    private SqlInsertMode() {}
  }

  /** Values of {@link #INSERT_DUPLICATE_POLICY}. */
  public static final class InsertDuplicatePolicy {
    public static final String NONE = "none";
    public static final String DROP = "drop";
    public static final String FAIL = "fail";

    private InsertDuplicatePolicy() {}
  }

  /** Values of {@link #MISSING_COLUMNS}. */
  public static final class MissingColumns {
    public static final String ADDED = "added";
    public static final String REJECT = "reject";
    public static final String NULL = "null";
    public static final String KEEP = "keep";

    private MissingColumns() {}
  }

  /** Values of {@link #FRAME_EVOLUTION}. */
  public static final class FrameEvolution {
    public static final String TRUE = "true";
    public static final String FALSE = "false";
    public static final String TO_STRING = "toString";

    private FrameEvolution() {}
  }

  /** Values of {@link #SQL_DELETES}. */
  public static final class SqlDeletes {
    public static final String SOURCE = "source";
    public static final String ORDERED = "ordered";
    public static final String UNCONDITIONAL = "unconditional";

    private SqlDeletes() {}
  }

  /** Values of {@link #SQL_DUPLICATES}. */
  public static final class SqlDuplicates {
    public static final String COMBINE = "combine";
    public static final String FAIL = "fail";

    private SqlDuplicates() {}
  }

  /** Values of {@link #SQL_INSERT_MATCHING}. */
  public static final class SqlInsertMatching {
    public static final String ERROR = "error";
    public static final String POSITION = "position";
    public static final String NAME = "name";

    private SqlInsertMatching() {}
  }

  /** Values of {@link #CODEC}. */
  public static final class Codec {
    public static final String SNAPPY = "snappy";
    public static final String GZIP = "gzip";
    public static final String ZSTD = "zstd";
    public static final String LZ4 = "lz4";
    public static final String LZ4_RAW = "lz4_raw";
    public static final String BROTLI = "brotli";
    public static final String UNCOMPRESSED = "uncompressed";

    private Codec() {}
  }

  /** Values of {@link #LOG_BLOCK_FORMAT}. */
  public static final class LogBlockFormat {
    public static final String AVRO = "avro";
    public static final String PARQUET = "parquet";

    private LogBlockFormat() {}
  }

  /** Values of {@link #COMPACTION_TRIGGER}. */
  public static final class CompactionTrigger {
    public static final String NUM_COMMITS = "NUM_COMMITS";
    public static final String NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST";
    public static final String TIME_ELAPSED = "TIME_ELAPSED";
    public static final String NUM_AND_TIME = "NUM_AND_TIME";
    public static final String NUM_OR_TIME = "NUM_OR_TIME";

    private CompactionTrigger() {}
  }

  /** Values of {@link #CLEAN_POLICY}. */
  public static final class CleanPolicy {
    public static final String KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS";
    public static final String KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS";
    public static final String KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS";

    private CleanPolicy() {}
  }

  /** Values of {@link #CLEAN_TRIGGER}. */
  public static final class CleanTrigger {
    public static final String NUM_COMMITS = "NUM_COMMITS";

    private CleanTrigger() {}
  }

  /** Values of {@link #CLUSTERING_FILTER_MODE}. */
  public static final class ClusteringFilterMode {
    public static final String NONE = "NONE";
    public static final String RECENT_DAYS = "RECENT_DAYS";
    public static final String SELECTED_PARTITIONS = "SELECTED_PARTITIONS";
    public static final String DAY_ROLLING = "DAY_ROLLING";

    private ClusteringFilterMode() {}
  }

  /** Values of {@link #CLUSTERING_UPDATES_STRATEGY}. */
  public static final class ClusteringUpdatesStrategy {
    public static final String SPARK_REJECT_UPDATE_STRATEGY = "SparkRejectUpdateStrategy";
    public static final String SPARK_ALLOW_UPDATE_STRATEGY = "SparkAllowUpdateStrategy";

    private ClusteringUpdatesStrategy() {}
  }

  /** Values of {@link #LAYOUT_STRATEGY}. */
  public static final class LayoutStrategy {
    public static final String LINEAR = "LINEAR";
    public static final String ZORDER = "ZORDER";
    public static final String HILBERT = "HILBERT";

    private LayoutStrategy() {}
  }

  /** Values of {@link #CURVE_METHOD}. */
  public static final class CurveMethod {
    public static final String DIRECT = "DIRECT";
    public static final String SAMPLE = "SAMPLE";

    private CurveMethod() {}
  }

  /** Values of {@link #CONCURRENCY_MODE}. */
  public static final class ConcurrencyMode {
    public static final String SINGLE_WRITER = "SINGLE_WRITER";
    public static final String OPTIMISTIC_CONCURRENCY_CONTROL = "OPTIMISTIC_CONCURRENCY_CONTROL";
    public static final String NON_BLOCKING_CONCURRENCY_CONTROL = "NON_BLOCKING_CONCURRENCY_CONTROL";

    private ConcurrencyMode() {}
  }

  /** Values of {@link #FAILED_WRITES}. */
  public static final class FailedWrites {
    public static final String EAGER = "EAGER";
    public static final String LAZY = "LAZY";

    private FailedWrites() {}
  }

  /** Values of {@link #HIVE_SYNC_STRATEGY}. */
  public static final class HiveSyncStrategy {
    public static final String ALL = "ALL";
    public static final String RO = "RO";
    public static final String RT = "RT";

    private HiveSyncStrategy() {}
  }

  /** Values of {@link #QUERY_TYPE}. */
  public static final class QueryType {
    public static final String SNAPSHOT = "snapshot";
    public static final String READ_OPTIMIZED = "read_optimized";
    public static final String INCREMENTAL = "incremental";

    private QueryType() {}
  }

  /** Values of {@link #CHANGES_FORMAT}. */
  public static final class ChangesFormat {
    public static final String LATEST_STATE = "latest_state";
    public static final String CDC = "cdc";

    private ChangesFormat() {}
  }

  /** Values of {@link #CHANGE_IMAGES}. */
  public static final class ChangeImages {
    public static final String JSON = "json";
    public static final String STRUCT = "struct";

    private ChangeImages() {}
  }

  private Options() {}
}
