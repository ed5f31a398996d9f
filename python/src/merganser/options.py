"""The names of options, and the values of those that have a list of values.

``docs/config.md`` describes them. Generated from the options; a test compares.
"""

from __future__ import annotations

# --- of the table

TABLE_NAME = "hoodie.table.name"
DATABASE = "hoodie.database.name"
TABLE_TYPE = "hoodie.datasource.write.table.type"
TABLE_VERSION = "hoodie.write.table.version"
RECORD_KEY = "hoodie.datasource.write.recordkey.field"
PARTITION_FIELDS = "hoodie.datasource.write.partitionpath.field"
ORDERING_FIELDS = "hoodie.table.ordering.fields"
MERGE_MODE = "hoodie.write.record.merge.mode"
STORED_MERGE_MODE = "hoodie.record.merge.mode"
STRATEGY_ID = "hoodie.write.record.merge.strategy.id"
PAYLOAD_CLASS = "hoodie.datasource.write.payload.class"
PAYLOAD_ORDERING_FIELD = "hoodie.payload.ordering.field"
DELETE_FIELD = "hoodie.payload.delete.field"
DELETE_MARKER = "hoodie.payload.delete.marker"
RULE_DEFAULT = "merganser.rule.default"
RULE_DELETE = "merganser.rule.delete"
RULE_RETRACT_COLUMN = "merganser.rule.retract.column"
RULE_RETRACT_VALUES = "merganser.rule.retract.values"
RULE_TEXT = "merganser.rule"
NULL_ORDERING = "spark.merganser.write.nullOrdering"
KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type"
KEY_GENERATOR_CLASS = "hoodie.datasource.write.keygenerator.class"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
DROP_PARTITION_COLUMNS = "hoodie.datasource.write.drop.partition.columns"
SLASHED_DATES = "hoodie.datasource.write.slash.separated.date.partitioning"
STORED_KEYS = "hoodie.populate.meta.fields"
LOGICAL_TIMESTAMP = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
COMPLEX_KEY_WITHOUT_NAME = "hoodie.write.complex.keygen.new.encoding"
TIMELINE_ZONE = "hoodie.table.timeline.timezone"
CHANGE_DATA = "hoodie.table.cdc.enabled"
CHANGE_LOGGING_MODE = "hoodie.table.cdc.supplemental.logging.mode"
TOMBSTONES_RETAINED = "merganser.tombstones.retained.hours"
TIMESTAMP_TYPE = "hoodie.keygen.timebased.timestamp.type"
TIMESTAMP_UNIT = "hoodie.keygen.timebased.timestamp.scalar.time.unit"
INPUT_DATE_FORMAT = "hoodie.keygen.timebased.input.dateformat"
INPUT_DATE_FORMAT_DELIMITER = "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex"
INPUT_ZONE = "hoodie.keygen.timebased.input.timezone"
OUTPUT_DATE_FORMAT = "hoodie.keygen.timebased.output.dateformat"
OUTPUT_ZONE = "hoodie.keygen.timebased.output.timezone"
GENERAL_ZONE = "hoodie.keygen.timebased.timezone"
INDEX_TYPE = "hoodie.index.type"
BUCKET_COUNT = "hoodie.bucket.index.num.buckets"
BUCKET_HASH_FIELDS = "hoodie.bucket.index.hash.field"
BUCKET_ENGINE = "hoodie.index.bucket.engine"
BUCKET_EXPRESSIONS = "hoodie.bucket.index.partition.expressions"

# --- of one write

SIMPLE_MOVES_PARTITION = "hoodie.simple.index.update.partition.path"
BLOOM_MOVES_PARTITION = "hoodie.bloom.index.update.partition.path"
OPERATION = "hoodie.datasource.write.operation"
OVERWRITE_MODE = "hoodie.datasource.overwrite.mode"
PARTITIONS_TO_DELETE = "hoodie.datasource.write.partitions.to.delete"
PARTITION_PATHS_TO_DELETE = "spark.merganser.write.partitionPathsToDelete"
SQL_INSERT_OPERATION = "hoodie.spark.sql.insert.into.operation"
SQL_INSERT_MODE = "hoodie.sql.insert.mode"
SQL_BULK_INSERT = "hoodie.sql.bulk.insert.enable"
COMBINE_BEFORE_INSERT = "hoodie.combine.before.insert"
COMBINE_BEFORE_UPSERT = "hoodie.combine.before.upsert"
INSERT_DROP_DUPLICATES = "hoodie.datasource.write.insert.drop.duplicates"
INSERT_DUPLICATE_POLICY = "hoodie.datasource.insert.dup.policy"
ALLOW_DUPLICATE_INSERTS = "hoodie.merge.allow.duplicate.on.inserts"
MISSING_COLUMNS = "spark.merganser.write.missingColumns"
FRAME_EVOLUTION = "spark.merganser.write.schemaEvolution"
SQL_EVOLUTION = "spark.merganser.sql.schemaEvolution"
SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
SQL_DELETES = "spark.merganser.sql.deletes"
SQL_PARTIAL_UPDATES = "hoodie.spark.sql.merge.into.partial.updates"
SQL_DUPLICATES = "spark.merganser.sql.duplicates"
SQL_INSERT_MATCHING = "spark.merganser.sql.insertMatching"
MERGER_CLASSES = "hoodie.write.record.merge.custom.implementation.classes"
EVENT_TIME_FIELD = "hoodie.payload.event.time.field"
COMMIT_METADATA_PREFIX = "hoodie.datasource.write.commitmeta.key.prefix"
AUTO_UPGRADE = "hoodie.write.auto.upgrade"
DROP_INDEXES = "spark.merganser.write.dropIndexes"
DROP_METADATA_TABLE = "spark.merganser.write.dropMetadataTable"
ALLOW_UNKNOWN_PROPERTIES = "spark.merganser.write.allowUnknownProperties"
COMPLEX_KEY_VALIDATION = "hoodie.write.complex.keygen.validation.enable"
ALLOW_AMBIGUOUS_KEYS = "spark.merganser.write.allowAmbiguousKeys"
ALLOW_EMPTY_COMMIT = "hoodie.allow.empty.commit"
SMALL_FILE_LIMIT = "hoodie.parquet.small.file.limit"
MAX_FILE_SIZE = "hoodie.parquet.max.file.size"
ROW_GROUP_SIZE = "hoodie.parquet.block.size"
PAGE_SIZE = "hoodie.parquet.page.size"
DICTIONARY = "hoodie.parquet.dictionary.enabled"
RECENT_ROWS = "spark.merganser.write.recentRows.percent"
CODEC = "hoodie.parquet.compression.codec"
BLOOM_ENTRIES = "hoodie.index.bloom.num_entries"
BLOOM_FALSE_POSITIVES = "hoodie.index.bloom.fpp"
RECORD_SIZE_ESTIMATE = "hoodie.copyonwrite.record.size.estimate"
LOG_FILE_MAX_SIZE = "hoodie.logfile.max.size"
LOG_BLOCK_MAX_SIZE = "hoodie.logfile.data.block.max.size"
LOG_BLOCK_FORMAT = "hoodie.logfile.data.block.format"
INLINE_COMPACTION = "hoodie.compact.inline"
ASYNC_COMPACTION = "hoodie.datasource.compaction.async.enable"
SCHEDULE_INLINE = "hoodie.compact.schedule.inline"
COMPACTION_TRIGGER = "hoodie.compact.inline.trigger.strategy"
COMPACTION_DELTA_COMMITS = "hoodie.compact.inline.max.delta.commits"
COMPACTION_DELTA_SECONDS = "hoodie.compact.inline.max.delta.seconds"
COMPACTION_STRATEGIES = "hoodie.compaction.strategy"
COMPACTION_TARGET_IO = "hoodie.compaction.target.io"
COMPACTION_LOG_BYTES = "hoodie.compaction.logfile.size.threshold"
COMPACTION_LOG_FILES = "hoodie.compaction.logfile.num.threshold"
COMPACTION_PARTITIONS = "hoodie.compaction.daybased.target.partitions"
COMPACTION_PARTITION_REGEX = "hoodie.compaction.partition.path.regex"
LOG_COMPACTION_INLINE = "hoodie.log.compaction.inline"
LOG_COMPACTION_BLOCKS = "hoodie.log.compaction.blocks.threshold"
CLEAN_AUTOMATIC = "hoodie.clean.automatic"
CLEAN_ASYNC = "hoodie.clean.async.enabled"
CLEAN_POLICY = "hoodie.clean.policy"
CLEAN_COMMITS = "hoodie.clean.commits.retained"
CLEAN_HOURS = "hoodie.clean.hours.retained"
CLEAN_VERSIONS = "hoodie.clean.fileversions.retained"
CLEAN_TRIGGER = "hoodie.clean.trigger.strategy"
CLEAN_TRIGGER_COMMITS = "hoodie.clean.trigger.max.commits"
CLEAN_INCREMENTAL = "hoodie.clean.incremental.enabled"
ARCHIVE = "hoodie.archive.automatic"
ARCHIVE_ASYNC = "hoodie.archive.async"
KEEP_MIN_COMMITS = "hoodie.keep.min.commits"
KEEP_MAX_COMMITS = "hoodie.keep.max.commits"
ARCHIVE_BATCH = "hoodie.commits.archival.batch"
ARCHIVE_BEYOND_SAVEPOINT = "hoodie.archive.beyond.savepoint"
HISTORY_MERGE_BATCH = "hoodie.timeline.compaction.batch.size"
HISTORY_FILE_MAX_SIZE = "hoodie.timeline.compaction.target.file.max.bytes"
HISTORY_VERSIONS = "hoodie.timeline.manifest.retained.versions"
INLINE_CLUSTERING = "hoodie.clustering.inline"
SCHEDULE_INLINE_CLUSTERING = "hoodie.clustering.schedule.inline"
ASYNC_CLUSTERING = "hoodie.clustering.async.enabled"
ASYNC_CLUSTERING_MAX_COMMITS = "hoodie.clustering.async.max.commits"
CLUSTERING_MAX_COMMITS = "hoodie.clustering.inline.max.commits"
CLUSTERING_SMALL_FILE_LIMIT = "hoodie.clustering.plan.strategy.small.file.limit"
CLUSTERING_TARGET_FILE_BYTES = "hoodie.clustering.plan.strategy.target.file.max.bytes"
CLUSTERING_GROUP_BYTES = "hoodie.clustering.plan.strategy.max.bytes.per.group"
CLUSTERING_GROUPS = "hoodie.clustering.plan.strategy.max.num.groups"
CLUSTERING_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
CLUSTERING_SINGLE_GROUP = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"
CLUSTERING_FILTER_MODE = "hoodie.clustering.plan.partition.filter.mode"
CLUSTERING_LOOKBACK = "hoodie.clustering.plan.strategy.daybased.lookback.partitions"
CLUSTERING_SKIP_LATEST = "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions"
CLUSTERING_BEGIN_PARTITION = "hoodie.clustering.plan.strategy.cluster.begin.partition"
CLUSTERING_END_PARTITION = "hoodie.clustering.plan.strategy.cluster.end.partition"
CLUSTERING_PARTITIONS = "hoodie.clustering.plan.strategy.partition.selected"
CLUSTERING_PARTITION_REGEX = "hoodie.clustering.plan.strategy.partition.regex.pattern"
CLUSTERING_PLAN_STRATEGY = "hoodie.clustering.plan.strategy.class"
CLUSTERING_EXECUTION = "hoodie.clustering.execution.strategy.class"
CLUSTERING_UPDATES_STRATEGY = "hoodie.clustering.updates.strategy"
CLUSTERING_EXPIRATIONS = "hoodie.clustering.enable.expirations"
CLUSTERING_EXPIRATION_MINUTES = "hoodie.clustering.expiration.threshold.mins"
CLUSTERING_PRESERVES = "hoodie.clustering.preserve.commit.metadata"
LAYOUT_STRATEGY = "hoodie.layout.optimize.strategy"
CURVE_METHOD = "hoodie.layout.optimize.curve.build.method"
CURVE_SAMPLE = "hoodie.layout.optimize.build.curve.sample.size"
FAIL_ON_SERVICE_FAILURE = "hoodie.fail.writes.on.inline.table.service.exception"
CONCURRENCY_MODE = "hoodie.write.concurrency.mode"
FAILED_WRITES = "hoodie.clean.failed.writes.policy"
HEARTBEAT_INTERVAL = "hoodie.client.heartbeat.interval_in_ms"
HEARTBEAT_MISSES = "hoodie.client.heartbeat.tolerable.misses"
CONFLICT_RETRIES = "hoodie.write.num.retries.on.conflict.failures"
TRANSACTION_APP = "spark.merganser.write.txnAppId"
TRANSACTION_VERSION = "spark.merganser.write.txnVersion"
TRANSACTION_HOURS = "spark.merganser.write.txnRetentionHours"
DRY_RUN = "spark.merganser.write.dryRun"
DRY_RUN_ROWS = "spark.merganser.write.dryRun.rows"
STREAM_ATTEMPTS = "hoodie.datasource.write.streaming.retry.count"
STREAM_PAUSE = "hoodie.datasource.write.streaming.retry.interval.ms"
STREAM_IDENTIFIER = "hoodie.datasource.write.streaming.checkpoint.identifier"
STREAM_WITHOUT_COMPACTION = "hoodie.datasource.write.streaming.disable.compaction"
LOCK_WAIT = "hoodie.write.lock.wait_time_ms"
LOCK_PROVIDER = "hoodie.write.lock.provider"
LOCK_FOLDER = "hoodie.write.lock.filesystem.path"
LOCK_EXPIRY = "hoodie.write.lock.filesystem.expire"
LOCK_VALIDITY = "hoodie.write.lock.storage.validity.timeout.secs"
LOCK_RENEWAL = "hoodie.write.lock.storage.renew.interval.secs"
EXCLUSIVE_SCHEMES = "hoodie.fs.atomic_creation.support"
HIVE_SYNC = "hoodie.datasource.hive_sync.enable"
META_SYNC = "hoodie.datasource.meta.sync.enable"
HIVE_SYNC_URIS = "hoodie.datasource.hive_sync.metastore.uris"
HIVE_SYNC_DATABASE = "hoodie.datasource.hive_sync.database"
HIVE_SYNC_TABLE = "hoodie.datasource.hive_sync.table"
HIVE_SYNC_PARTITION_FIELDS = "hoodie.datasource.hive_sync.partition_fields"
HIVE_SYNC_EXTRACTOR = "hoodie.datasource.hive_sync.partition_extractor_class"
HIVE_SYNC_STRATEGY = "hoodie.datasource.hive_sync.table.strategy"
HIVE_SYNC_SKIP_RO_SUFFIX = "hoodie.datasource.hive_sync.skip_ro_suffix"
HIVE_SYNC_PLAIN_NAME = "hoodie.meta.sync.sync_snapshot_with_table_name"
HIVE_SYNC_TIMESTAMPS = "hoodie.datasource.hive_sync.support_timestamp"
HIVE_SYNC_AS_DATA_SOURCE = "hoodie.datasource.hive_sync.sync_as_datasource"
HIVE_SYNC_OMIT_META_COLUMNS = "hoodie.datasource.hive_sync.omit_metadata_fields"
HIVE_SYNC_CREATE_DATABASE = "hoodie.datasource.hive_sync.auto_create_database"
HIVE_SYNC_IGNORE_FAILURES = "hoodie.datasource.hive_sync.ignore_exceptions"
HIVE_SYNC_TABLE_PROPERTIES = "hoodie.datasource.hive_sync.table_properties"
HIVE_SYNC_SERDE_PROPERTIES = "hoodie.datasource.hive_sync.serde_properties"
UPSERT_SHUFFLE_PARALLELISM = "hoodie.upsert.shuffle.parallelism"
INSERT_SHUFFLE_PARALLELISM = "hoodie.insert.shuffle.parallelism"
BULKINSERT_SHUFFLE_PARALLELISM = "hoodie.bulkinsert.shuffle.parallelism"
DELETE_SHUFFLE_PARALLELISM = "hoodie.delete.shuffle.parallelism"

# --- of one read

QUERY_TYPE = "hoodie.datasource.query.type"
CHANGES_BEGIN = "hoodie.datasource.read.begin.instanttime"
CHANGES_END = "hoodie.datasource.read.end.instanttime"
CHANGES_FORMAT = "hoodie.datasource.query.incremental.format"
CHANGES_SCHEMA_OF_END = "hoodie.datasource.read.schema.use.end.instanttime"
AS_OF_INSTANT = "as.of.instant"
CHANGE_IMAGES = "spark.merganser.read.changeImages"
CHANGE_REASONS = "spark.merganser.read.changeReason"
STREAM_START = "hoodie.datasource.streaming.startOffset"
STREAM_MAX_FILES = "maxFilesPerTrigger"
STREAM_MAX_BYTES = "maxBytesPerTrigger"

# --- of the spark application

ALLOWED_CLASSES = "spark.merganser.merge.allowedClasses"


class TableType:
    """Values of ``TABLE_TYPE``."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class TableVersion:
    """Values of ``TABLE_VERSION``."""

    V6 = "6"
    V8 = "8"
    V9 = "9"


class MergeMode:
    """Values of ``MERGE_MODE``."""

    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


class RuleDefault:
    """Values of ``RULE_DEFAULT``."""

    LAST = "last"
    LAST_NON_NULL = "last_non_null"
    FIRST = "first"
    FIRST_NON_NULL = "first_non_null"


class RuleDelete:
    """Values of ``RULE_DELETE``."""

    REMOVE_ROW = "remove_row"
    RESET_GROUP = "reset_group"
    IGNORE = "ignore"


class NullOrdering:
    """Values of ``NULL_ORDERING``."""

    LOWEST = "lowest"
    REJECT = "reject"


class TimelineZone:
    """Values of ``TIMELINE_ZONE``."""

    UTC = "UTC"
    LOCAL = "LOCAL"


class ChangeLoggingMode:
    """Values of ``CHANGE_LOGGING_MODE``."""

    OP_KEY_ONLY = "OP_KEY_ONLY"
    DATA_BEFORE = "DATA_BEFORE"
    DATA_BEFORE_AFTER = "DATA_BEFORE_AFTER"


class TimestampType:
    """Values of ``TIMESTAMP_TYPE``."""

    UNIX_TIMESTAMP = "UNIX_TIMESTAMP"
    DATE_STRING = "DATE_STRING"
    MIXED = "MIXED"
    EPOCHMILLISECONDS = "EPOCHMILLISECONDS"
    EPOCHMICROSECONDS = "EPOCHMICROSECONDS"
    SCALAR = "SCALAR"


class TimestampUnit:
    """Values of ``TIMESTAMP_UNIT``."""

    NANOSECONDS = "NANOSECONDS"
    MICROSECONDS = "MICROSECONDS"
    MILLISECONDS = "MILLISECONDS"
    SECONDS = "SECONDS"
    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"


class IndexType:
    """Values of ``INDEX_TYPE``."""

    SIMPLE = "SIMPLE"
    BUCKET = "BUCKET"
    BLOOM = "BLOOM"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"


class BucketEngine:
    """Values of ``BUCKET_ENGINE``."""

    SIMPLE = "SIMPLE"
    CONSISTENT_HASHING = "CONSISTENT_HASHING"


class Operation:
    """Values of ``OPERATION``."""

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"


class OverwriteMode:
    """Values of ``OVERWRITE_MODE``."""

    STATIC = "STATIC"
    DYNAMIC = "DYNAMIC"


class SqlInsertOperation:
    """Values of ``SQL_INSERT_OPERATION``."""

    INSERT = "insert"
    UPSERT = "upsert"
    BULK_INSERT = "bulk_insert"


class SqlInsertMode:
    """Values of ``SQL_INSERT_MODE``."""

    UPSERT = "upsert"
    STRICT = "strict"
    NON_STRICT = "non-strict"


class InsertDuplicatePolicy:
    """Values of ``INSERT_DUPLICATE_POLICY``."""

    NONE = "none"
    DROP = "drop"
    FAIL = "fail"


class MissingColumns:
    """Values of ``MISSING_COLUMNS``."""

    ADDED = "added"
    REJECT = "reject"
    NULL = "null"
    KEEP = "keep"


class FrameEvolution:
    """Values of ``FRAME_EVOLUTION``."""

    TRUE = "true"
    FALSE = "false"
    TO_STRING = "toString"


class SqlDeletes:
    """Values of ``SQL_DELETES``."""

    SOURCE = "source"
    ORDERED = "ordered"
    UNCONDITIONAL = "unconditional"


class SqlDuplicates:
    """Values of ``SQL_DUPLICATES``."""

    COMBINE = "combine"
    FAIL = "fail"


class SqlInsertMatching:
    """Values of ``SQL_INSERT_MATCHING``."""

    ERROR = "error"
    POSITION = "position"
    NAME = "name"


class Codec:
    """Values of ``CODEC``."""

    SNAPPY = "snappy"
    GZIP = "gzip"
    ZSTD = "zstd"
    LZ4 = "lz4"
    LZ4_RAW = "lz4_raw"
    BROTLI = "brotli"
    UNCOMPRESSED = "uncompressed"


class LogBlockFormat:
    """Values of ``LOG_BLOCK_FORMAT``."""

    AVRO = "avro"
    PARQUET = "parquet"


class CompactionTrigger:
    """Values of ``COMPACTION_TRIGGER``."""

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_AND_TIME = "NUM_AND_TIME"
    NUM_OR_TIME = "NUM_OR_TIME"


class CleanPolicy:
    """Values of ``CLEAN_POLICY``."""

    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"


class CleanTrigger:
    """Values of ``CLEAN_TRIGGER``."""

    NUM_COMMITS = "NUM_COMMITS"


class ClusteringFilterMode:
    """Values of ``CLUSTERING_FILTER_MODE``."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class ClusteringUpdatesStrategy:
    """Values of ``CLUSTERING_UPDATES_STRATEGY``."""

    SPARK_REJECT_UPDATE_STRATEGY = "SparkRejectUpdateStrategy"
    SPARK_ALLOW_UPDATE_STRATEGY = "SparkAllowUpdateStrategy"


class LayoutStrategy:
    """Values of ``LAYOUT_STRATEGY``."""

    LINEAR = "LINEAR"
    ZORDER = "ZORDER"
    HILBERT = "HILBERT"


class CurveMethod:
    """Values of ``CURVE_METHOD``."""

    DIRECT = "DIRECT"
    SAMPLE = "SAMPLE"


class ConcurrencyMode:
    """Values of ``CONCURRENCY_MODE``."""

    SINGLE_WRITER = "SINGLE_WRITER"
    OPTIMISTIC_CONCURRENCY_CONTROL = "OPTIMISTIC_CONCURRENCY_CONTROL"
    NON_BLOCKING_CONCURRENCY_CONTROL = "NON_BLOCKING_CONCURRENCY_CONTROL"


class FailedWrites:
    """Values of ``FAILED_WRITES``."""

    EAGER = "EAGER"
    LAZY = "LAZY"


class HiveSyncStrategy:
    """Values of ``HIVE_SYNC_STRATEGY``."""

    ALL = "ALL"
    RO = "RO"
    RT = "RT"


class QueryType:
    """Values of ``QUERY_TYPE``."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"


class ChangesFormat:
    """Values of ``CHANGES_FORMAT``."""

    LATEST_STATE = "latest_state"
    CDC = "cdc"


class ChangeImages:
    """Values of ``CHANGE_IMAGES``."""

    JSON = "json"
    STRUCT = "struct"
