package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options that a table stores when it is created. */
private[options] trait TableOptions extends OptionDefinitions {

  // --- names and shape

  val TableName: OptionEntry = table("hoodie.table.name", AnyString, None,
    "Name of the table. If unset: its name in the catalog, or the last part of the path.",
    "hoodie.datasource.write.table.name")
  val Database: OptionEntry = table("hoodie.database.name", AnyString, None, "Database of the table.")
  val TableTypeOption: OptionEntry = table("hoodie.datasource.write.table.type",
    OneOf(Seq("COPY_ON_WRITE", "MERGE_ON_READ"), Map("cow" -> "COPY_ON_WRITE", "mor" -> "MERGE_ON_READ")),
    Some("COPY_ON_WRITE"),
    "Copy-on-write rewrites base files; merge-on-read appends to log files and merges when read. `cow` and `mor` are " +
      "accepted too.",
    "hoodie.table.type", "type", "hoodie.datasource.write.storage.type")
  val TableVersion: OptionEntry = table("hoodie.write.table.version", oneOf("6", "8", "9"), Some("9"),
    "Version of the table's layout. A table keeps the version it was created with.", "hoodie.table.version")
  val RecordKey: OptionEntry = table("hoodie.datasource.write.recordkey.field", NameList, None,
    "Columns that form the record key; a field inside a struct is written `meta.id`. If unset, each row inserted " +
      "into a new table gets a generated key.",
    "hoodie.table.recordkey.fields", "primaryKey")
  val PartitionFields: OptionEntry = table("hoodie.datasource.write.partitionpath.field", NameList, None,
    "Columns that form the partition path; none for a table without partitions. With the CUSTOM key generator each " +
      "is `column:SIMPLE` or `column:TIMESTAMP`.",
    "hoodie.table.partition.fields")
  val OrderingFields: OptionEntry = table("hoodie.table.ordering.fields", NameList, None,
    "Columns whose values decide which version of a row is the later event, compared in this order. A field inside a " +
      "struct is written `meta.ts`.",
    "orderingFields", "preCombineField", "hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field")

  // --- merging

  private val modes = oneOf("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING", "CUSTOM")
  val MergeModeOption: OptionEntry = table("hoodie.write.record.merge.mode", modes, None,
    "How versions of a row merge. Default: EVENT_TIME_ORDERING if the table has ordering fields, else " +
      "COMMIT_TIME_ORDERING.",
    "recordMergeMode")
  val StoredMergeMode: OptionEntry = table("hoodie.record.merge.mode", modes, None,
    "The merge mode as tables store it; when a table is created, same as hoodie.write.record.merge.mode.")
  val StrategyIdOption: OptionEntry = table("hoodie.write.record.merge.strategy.id", AnyString, None,
    "Id of the merge strategy (a UUID) of a table with merge mode CUSTOM.",
    "recordMergeStrategyId", "hoodie.record.merge.strategy.id", "hoodie.datasource.write.record.merger.strategy",
    "hoodie.compaction.record.merger.strategy")
  val PayloadClass: OptionEntry = table("hoodie.datasource.write.payload.class", AnyString, None,
    "Legacy class that merges rows, from before merge modes. Version 9 stores the known ones as a merge mode and its " +
      "properties.",
    "payloadClass", "hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class")
  val PayloadOrderingField: OptionEntry = table("hoodie.payload.ordering.field", AnyString, None,
    "Legacy name for the ordering field of DefaultHoodieRecordPayload; must equal the table's ordering field if it " +
      "has one.")
  val DeleteField: OptionEntry = table("hoodie.payload.delete.field", AnyString, None,
    "Column that marks deletes: a row is a delete if its value, as a string, equals hoodie.payload.delete.marker.")
  val DeleteMarker: OptionEntry =
    table("hoodie.payload.delete.marker", AnyString, None,
      "Value of the delete column, as a string, that marks a delete; compared exactly.")
  val RuleDefault: OptionEntry = table("merganser.rule.default",
    oneOf("last", "last_non_null", "first", "first_non_null"), None,
    "How versions of a row merge, column by column: the function of all columns without one of their own. Default: " +
      "`last`. `merganser.rule.column.<name>` sets the function of a column, `merganser.rule.group.<name>.columns` " +
      "and `….ordering` the columns of a group and its ordering fields, `….delete` what a delete does to it; see " +
      "docs/merge-rules.md.")
  val RuleDelete: OptionEntry = table("merganser.rule.delete", oneOf("remove_row", "reset_group", "ignore"), None,
    "Effect of a delete with an ordering value, unless late-arriving: `remove_row` (default), `reset_group` (columns " +
      "that belong to no group become null) or `ignore`. SQL DELETE always removes the row.")
  val RuleRetractColumn: OptionEntry = table("merganser.rule.retract.column", AnyString, None,
    "String column that marks rows to be subtracted from sum columns, such as the row before an update.")
  val RuleRetractValues: OptionEntry = table("merganser.rule.retract.values", NameList, None,
    "Values of that column that mark such rows, comma separated. Default: `-U,update_before`.")
  val RuleText: OptionEntry = table("merganser.rule", AnyString, None,
    "The functions of all columns as JSON, as tables store them: `{\"version\":1,\"default\":\"last\"," +
      "\"columns\":{\"qty\":\"sum\"}}`.")
  val TombstonesRetained: OptionEntry = table("merganser.tombstones.retained.hours", Integer(0), Some("0"),
    "Hours for which a delete with an ordering value is retained after a write or compaction removed its row from a " +
      "base file, so that a row that arrives later with a smaller ordering value stays deleted. `0`: not retained. " +
      "docs/merge-semantics.md describes the cost. `ALTER TABLE ... SET TBLPROPERTIES` changes it.")
  val NullOrderingOption: OptionEntry = table("spark.merganser.write.nullOrdering", oneOf("lowest", "reject"),
    Some("lowest"),
    "`lowest`: a null ordering value is lower than any other. `reject`: a row with one is rejected before anything " +
      "is written.")

  // --- keys and paths

  val KeyGeneratorType: OptionEntry = table("hoodie.datasource.write.keygenerator.type", AnyString, None,
    "SIMPLE, COMPLEX, NON_PARTITION, TIMESTAMP, CUSTOM or GLOBAL_DELETE. Default: by the number of key and partition " +
      "columns.",
    "hoodie.table.keygenerator.type")
  val KeyGeneratorClass: OptionEntry = table("hoodie.datasource.write.keygenerator.class", AnyString, None,
    "The key generator by Hudi's class name.", "hoodie.table.keygenerator.class")
  val HiveStyle: OptionEntry = table("hoodie.datasource.write.hive_style_partitioning", Bool, Some("false"),
    "Partition directories are named `column=value`. CREATE TABLE sets it to true by default.")
  val UrlEncode: OptionEntry = table("hoodie.datasource.write.partitionpath.urlencode", Bool, Some("false"),
    "Characters that paths cannot contain are written as %XX in partition paths.")
  val DropPartitionColumns: OptionEntry = table("hoodie.datasource.write.drop.partition.columns", Bool, Some("false"),
    "Base files do not store the partition columns: they are read from partition paths, as strings, and come last.")
  val SlashedDates: OptionEntry = table("hoodie.datasource.write.slash.separated.date.partitioning", Bool,
    Some("false"),
    "The path of a single partition column has slashes instead of the value's dashes: `2024/01/02`.")
  val StoredKeys: OptionEntry = table("hoodie.populate.meta.fields", Bool, Some("true"),
    "`false`: the meta columns are null in all files, and record keys are computed from the key columns of the rows.")
  val LogicalTimestamp: OptionEntry = table("hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    Bool,
    Some("false"),
    "Timestamps in keys and paths are `2024-01-02 03:04:05.678` instead of microseconds since 1970. A table made by " +
      "Hudi, which does not store it, keeps the form of its keys.")
  val ComplexKeyWithoutName: OptionEntry = table("hoodie.write.complex.keygen.new.encoding", Bool, Some("false"),
    "Tables of version 6 and 8 with the COMPLEX key generator and one key column: the key is `1` instead of `id:1`. " +
      "A table made by Hudi, which does not store it, keeps the form of its keys until a write replaces all rows.")

  /** How keys are formatted as strings; Hudi's tables do not store it. */
  private[table] val KeyForms: Seq[OptionEntry] = Seq(LogicalTimestamp, ComplexKeyWithoutName)
  val TimelineZone: OptionEntry = table("hoodie.table.timeline.timezone", oneOf("UTC", "LOCAL"), Some("UTC"),
    "Time zone in which instants are formatted; LOCAL is the JVM's.")
  private def timeBased(name: String, kind: OptionKind, default: Option[String], doc: String) =
    table(s"hoodie.keygen.timebased.$name", kind, default, doc, s"hoodie.deltastreamer.keygen.timebased.$name",
      s"hoodie.streamer.keygen.timebased.$name")
  val TimestampType: OptionEntry = timeBased("timestamp.type",
    oneOf("UNIX_TIMESTAMP", "DATE_STRING", "MIXED", "EPOCHMILLISECONDS", "EPOCHMICROSECONDS", "SCALAR"), None,
    "Type of the values of a time-based partition column.")
  val TimestampUnit: OptionEntry = timeBased("timestamp.scalar.time.unit",
    oneOf("NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"), Some("SECONDS"),
    "Unit of a SCALAR column.")
  val InputDateFormat: OptionEntry =
    timeBased("input.dateformat", AnyString, None, "Formats of a DATE_STRING column; the first that matches is used.")
  val InputDateFormatDelimiter: OptionEntry =
    timeBased("input.dateformat.list.delimiter.regex", AnyString, Some(","),
      "Regular expression that separates the input formats.")
  val InputZone: OptionEntry =
    timeBased("input.timezone", AnyString, None,
      "Time zone of strings without one. Default: `hoodie.keygen.timebased.timezone`.")
  val OutputDateFormat: OptionEntry =
    timeBased("output.dateformat", AnyString, None, "Format of the partition path, such as `yyyy/MM/dd`.")
  val OutputZone: OptionEntry =
    timeBased("output.timezone", AnyString, None,
      "Time zone of the partition path. Default: `hoodie.keygen.timebased.timezone`.")
  val GeneralZone: OptionEntry =
    timeBased("timezone", AnyString, Some("UTC"), "Time zone of input and output if theirs is unset.")
  val TimeBased: Seq[OptionEntry] =
    Seq(TimestampType, TimestampUnit, InputDateFormat, InputDateFormatDelimiter, InputZone,
      OutputDateFormat, OutputZone, GeneralZone)

  val ChangeData: OptionEntry = table("hoodie.table.cdc.enabled", Bool, Some("false"),
    "Writes that replace a base file also write a change file, with operation and images of each changed row. Change " +
      "data can be read from any table; Hudi's readers need it stored, and storing it saves comparing versions.")
  val ChangeLoggingMode: OptionEntry = table("hoodie.table.cdc.supplemental.logging.mode",
    oneOf(ChangeLogging.all.map(_.name): _*), Some(ChangeLogging.BeforeAfter.name),
    "Contents of change files: DATA_BEFORE_AFTER, both images; DATA_BEFORE, the row before; OP_KEY_ONLY, neither. " +
      "The rest is read from the slices before and after the write.")

  // --- index

  val IndexTypeOption: OptionEntry = table("hoodie.index.type",
    OneOf(Seq("SIMPLE", "BUCKET", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"),
      notDone = Seq("RECORD_INDEX", "RECORD_LEVEL_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "INMEMORY", "HBASE",
        "FLINK_STATE"),
      instead = Seq("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "INMEMORY", "HBASE", "FLINK_STATE").map(
        _ -> ("Set it to GLOBAL_SIMPLE or GLOBAL_BLOOM, which also find a key in all partitions (with SIMPLE, BLOOM " +
          "and BUCKET, a row that changes its partition is stored twice)")).toMap +
        ("RECORD_LEVEL_INDEX" -> ("Set it to SIMPLE or BLOOM, which also find a key in its partition, or to BUCKET"))),
    Some("SIMPLE"),
    "How stored rows are found: by key and partition path, or (GLOBAL_…) by key alone, in all partitions. BLOOM " +
      "finds the same rows as SIMPLE; its Bloom filters let writes with few keys read fewer files.")
  val BucketCount: OptionEntry = table("hoodie.bucket.index.num.buckets", Integer(1), Some("256"),
    "BUCKET: number of file groups per partition.")
  val BucketHashFields: OptionEntry = table("hoodie.bucket.index.hash.field", NameList, None,
    "BUCKET: key columns that determine the bucket. Default: all key columns.")
  val BucketEngine: OptionEntry = table("hoodie.index.bucket.engine", oneOf("SIMPLE", "CONSISTENT_HASHING"),
    Some("SIMPLE"),
    "BUCKET: how keys are assigned to buckets: by the remainder of their hash, or by hash ranges stored with the " +
      "table, which other engines can split and merge (only in MERGE_ON_READ tables). Existing tables: as their " +
      "metadata says.")
  val BucketExpressions: OptionEntry = table("hoodie.bucket.index.partition.expressions", AnyString, None,
    "BUCKET: number of buckets per partition, as `pattern,count;pattern,count`: the first regular expression that " +
      "matches the whole partition path applies, otherwise `hoodie.bucket.index.num.buckets`.")
}
