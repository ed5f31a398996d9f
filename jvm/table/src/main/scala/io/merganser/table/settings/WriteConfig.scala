package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options._
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.storage.TableLock

/** A row is a delete when this column's text equals the marker. */
final case class DeleteMark(field: String, marker: String)

/**
 * Sizes and formats of the files that a write makes. All sizes are in bytes.
 *
 * @param codec           of base files; None: Spark's own setting
 * @param logBlockFormat  avro or parquet; None: by the number of rows
 * @param bloomEntries    keys that a bloom filter is sized for
 */
final case class FileConfig(
    smallFileLimitBytes: Long,
    maxFileBytes: Long,
    rowGroupBytes: Long,
    pageBytes: Long,
    dictionary: Boolean,
    codec: Option[String],
    recordBytesEstimate: Long,
    logFileMaxBytes: Long,
    logBlockMaxBytes: Long,
    logBlockFormat: Option[String],
    bloomEntries: Int,
    bloomFalsePositives: Double
)

/**
 * @param orderedDeletes    deletes carry an ordering value, by which they may lose
 * @param failsOnDuplicates several source rows for one key are an error; otherwise the table's rule makes one row of them
 * @param logsPartialRows   logs take the columns that a statement assigns, and not whole rows
 */
final case class StatementConfig(orderedDeletes: Boolean, failsOnDuplicates: Boolean, logsPartialRows: Boolean)

/**
 * Everything one write needs, parsed once; below it no option has a name.
 *
 * @param combineBeforeInsert   rows of one key within an insert or bulk_insert become one
 * @param combineBeforeUpsert   rows of one key within an upsert become one
 * @param missingColumns        what becomes of columns that the written rows lack
 * @param statement             what only MERGE, UPDATE and DELETE ask about
 * @param evolvesSchema         a frame may add columns and widen types
 * @param widensToString        a frame, or a MERGE with schema evolution, may make a string of a column that is none
 * @param deleteMark            of the table, or, below version 9 where tables cannot keep it, of this write
 * @param partitionTime         time-based settings of the partition path, by name, for a table that keeps none
 * @param rule                  the table's merge rule
 * @param eventTimeField        column whose range goes to the commit's statistics
 * @param commitMetadata        what the user wants in the commit
 * @param permits               what it may do to the table that it would refuse otherwise
 * @param partitionsToDelete    paths that delete_partition removes, `*` for any text; empty: those of the rows
 * @param inlineCompaction      compact after this write, when `compactionDeltaCommits` have gathered
 * @param failsOnServiceFailure an inline service that fails after the commit is an error
 * @param lock                  how the table is locked
 * @param heartbeatIntervalMs   milliseconds between heartbeats of a write that others may take for failed
 * @param shuffleTasks          tasks of its shuffles; None: by the frame's size
 * @param ignored               options without effect that a job may miss
 */
final case class WriteConfig(
    operation: WriteOperation,
    combineBeforeInsert: Boolean,
    combineBeforeUpsert: Boolean,
    storedKeys: StoredKeyPolicy,
    index: IndexType,
    files: FileConfig,
    nullOrdering: NullOrdering,
    missingColumns: MissingColumns,
    statement: StatementConfig,
    evolvesSchema: Boolean,
    widensToString: Boolean,
    deleteMark: Option[DeleteMark],
    partitionTime: Map[String, String],
    rule: StoredRule,
    eventTimeField: Option[String],
    commitMetadata: Map[String, String],
    permits: Permits,
    partitionsToDelete: Seq[String],
    allowEmptyCommit: Boolean,
    inlineCompaction: Boolean,
    compactionDeltaCommits: Int,
    failsOnServiceFailure: Boolean,
    failedWrites: FailedWrites,
    heartbeatIntervalMs: Long,
    lock: TableLock.Settings,
    shuffleTasks: Option[Int],
    ignored: Seq[IgnoredOption]
) {

  /** Milliseconds between the heartbeats by which other writers see that this one lives; None where nobody looks for them. */
  def heartbeatMs: Option[Long] = if (failedWrites == FailedWrites.Eager) None else Some(heartbeatIntervalMs)

  /** The table's settings, completed by this write's: those of its partition path, and what marks a delete. */
  def keyed(table: TableConfig): TableConfig = {
    val marks =
      deleteMark.toSeq.flatMap(mark => Seq(Options.DeleteField -> mark.field, Options.DeleteMarker -> mark.marker))
    table.copy(properties =
      partitionTime ++ marks.map { case (entry, text) =>
        s"${Options.MergePropertyPrefix}${entry.key}" -> text
      } ++ table.properties)
  }
}

object WriteConfig {

  /** Whether a write asks for its table to be brought to the newest version first. */
  def asksForUpgrade(options: Map[String, String], sessionConf: Map[String, String]): Boolean =
    Settings.ofWrite(options, sessionConf).bool(Options.AutoUpgrade)

  /** The operation of a data frame's write, before its table is known. */
  def operation(options: Map[String, String], sessionConf: Map[String, String]): WriteOperation =
    WriteOperation.of(Settings.ofWrite(options, sessionConf).required(Options.Operation))

  /** Whether the session asks for MERGE with schema evolution where the statement does not say it. */
  def asksForEvolution(sessionConf: Map[String, String]): Boolean =
    Settings.ofWrite(Map.empty, sessionConf).bool(Options.SqlEvolution)

  /**
   * Parses and checks the options of one write, before anything is written.
   *
   * @param options     the write's options
   * @param sessionConf Spark's configuration; options win over it, and both over what the table keeps for its writes
   * @param creating    this very write's options have just made the table: they are not compared with it again
   * @throws MerganserException what [[Settings.ofWrite]] and [[TableConflicts.settled]] throw, MERGE_RULE_UNAVAILABLE,
   *                            KEY_GENERATOR_UNSUPPORTED, OPTION_CONFLICT, DELETE_MARKER_INCOMPLETE, BUCKET_HASH_FIELD_UNKNOWN,
   *                            LOCK_PROVIDER_UNSUPPORTED
   */
  def parse(
      options: Map[String, String],
      sessionConf: Map[String, String],
      table: TableConfig,
      source: WriteSource = WriteSource.DataFrameWrite,
      creating: Boolean = false
  ): WriteConfig = {
    val given    = Settings.ofWrite(options, sessionConf)
    val settings = if (creating) given else TableConflicts.settled(given, table)
    KeyGenerator.stored(table)
    val kept      = table.properties
    val operation = operationOf(settings, kept, source)
    WriteConfig(
      operation = operation,
      combineBeforeInsert =
        settings.bool(Options.CombineBeforeInsert, kept) || settings.bool(Options.InsertDropDuplicates, kept),
      combineBeforeUpsert = settings.bool(Options.CombineBeforeUpsert, kept),
      storedKeys = storedKeys(settings, kept, source),
      index = indexOf(settings, table),
      files = filesOf(settings, kept),
      nullOrdering = if (settings.required(Options.NullOrderingOption, kept) == "reject") NullOrdering.Reject
      else NullOrdering.Lowest,
      missingColumns = MissingColumns.of(settings.required(Options.MissingColumnsOption, kept)),
      statement = StatementConfig(
        orderedDeletes = settings.required(Options.SqlDeletes, kept) == "ordered",
        failsOnDuplicates = settings.required(Options.SqlDuplicates, kept) == "fail",
        logsPartialRows = settings.bool(Options.SqlPartialUpdates, kept)
      ),
      evolvesSchema = settings.required(Options.FrameEvolution, kept) != "false",
      widensToString = settings.required(Options.FrameEvolution, kept) == "toString",
      deleteMark = deleteMark(settings, table),
      partitionTime = Options.TimeBased.flatMap(entry => settings.explicit(entry).map(entry.key -> _)).toMap,
      rule = StoredRule.of(table, settings.text(Options.MergerClasses, kept).toSeq.flatMap(OptionKind.Fields.split)),
      eventTimeField = settings.text(Options.EventTimeField, kept),
      commitMetadata = settings.commitMetadata,
      permits = TableAccess.permits(settings, kept),
      partitionsToDelete = partitionsToDelete(settings, operation),
      allowEmptyCommit = settings.bool(Options.AllowEmptyCommit, kept),
      inlineCompaction = inlineCompaction(settings, kept) && table.isMergeOnRead,
      compactionDeltaCommits = settings.whole(Options.CompactionDeltaCommits, kept).toInt,
      failsOnServiceFailure = settings.bool(Options.FailOnServiceFailure, kept),
      failedWrites = failedWrites(settings, kept),
      heartbeatIntervalMs = settings.whole(Options.HeartbeatInterval, kept),
      lock = LockOptions.of(settings, kept),
      shuffleTasks = settings.text(Options.shuffleTasksOf(operation), kept).map(_.toInt).filter(_ > 0),
      ignored = settings.ignored
    )
  }

  private def operationOf(settings: Settings, kept: Map[String, String], source: WriteSource): WriteOperation =
    source match {
      case WriteSource.DataFrameWrite => WriteOperation.of(settings.required(Options.Operation, kept))
      case WriteSource.SqlChange      => WriteOperation.Upsert
      case WriteSource.SqlInsert =>
        val named = settings.said(Options.SqlInsertOperation, kept)
        val older =
          if (settings.bool(Options.SqlBulkInsert, kept)) Some("bulk_insert")
          else settings.text(Options.SqlInsertMode, kept).map(mode => if (mode == "upsert") "upsert" else "insert")
        WriteOperation.of(named.orElse(older).getOrElse(settings.required(Options.SqlInsertOperation)))
    }

  private def partitionsToDelete(settings: Settings, operation: WriteOperation): Seq[String] = {
    val named = settings.given(Options.PartitionsToDelete)
    named.filter(_ => operation != WriteOperation.DeletePartition).foreach(given =>
      throw MerganserException("OPTION_CONFLICT", "key" -> given.name, "value" -> given.value,
        "otherKey" -> Options.Operation.key,
        "otherValue" -> operation))
    named.toSeq.flatMap(given => OptionKind.Fields.split(given.value))
  }

  private def storedKeys(settings: Settings, kept: Map[String, String], source: WriteSource): StoredKeyPolicy = {
    val drops  = settings.bool(Options.InsertDropDuplicates, kept)
    val policy = settings.required(Options.InsertDuplicatePolicy, kept)
    val strict = source == WriteSource.SqlInsert && settings.text(Options.SqlInsertMode, kept).contains("strict")
    if (drops && policy == "fail")
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.InsertDropDuplicates.key, "value" -> "true",
        "otherKey" -> Options.InsertDuplicatePolicy.key, "otherValue" -> policy)
    if (drops || policy == "drop") StoredKeyPolicy.Drop
    else if (policy == "fail" || strict) StoredKeyPolicy.Fail
    else if (settings.bool(Options.AllowDuplicateInserts, kept)) StoredKeyPolicy.InsertAgain
    else StoredKeyPolicy.MergeWhenMet
  }

  private def indexOf(settings: Settings, table: TableConfig): IndexType =
    settings.said(Options.IndexTypeOption, table.properties) match {
      case Some("BUCKET") => bucketOf(settings, table)
      case Some(asked) =>
        val moves = if (asked == "GLOBAL_BLOOM") Options.BloomMovesPartition else Options.SimpleMovesPartition
        IndexType.Simple(
          bloomFilters =
            asked.endsWith("BLOOM") || table.properties.get(Options.IndexTypeOption.key).exists(_.endsWith("BLOOM")),
          global = if (asked.startsWith("GLOBAL_")) Some(IndexType.GlobalKeys(settings.bool(moves, table.properties)))
          else None
        )
      case None => IndexType.ByFiles(bucketOf(settings, table))
    }

  private def bucketOf(settings: Settings, table: TableConfig): IndexType.Bucket = {
    val hashed = settings.text(Options.BucketHashFields, table.properties).toSeq.flatMap(OptionKind.Fields.split)
    for (field <- hashed if !table.recordKeyFields.exists(_.equalsIgnoreCase(field)))
      throw MerganserException(
        "BUCKET_HASH_FIELD_UNKNOWN",
        "table" -> table.name,
        "field" -> field,
        "keys" -> table.recordKeyFields.mkString(", ")
      )
    val count = settings.said(Options.BucketCount, table.properties).map(_.toInt)
    IndexType.Bucket(count, if (hashed.isEmpty) table.recordKeyFields else hashed)
  }

  private def filesOf(settings: Settings, kept: Map[String, String]): FileConfig = FileConfig(
    smallFileLimitBytes = settings.whole(Options.SmallFileLimit, kept),
    maxFileBytes = settings.whole(Options.MaxFileSize, kept),
    rowGroupBytes = settings.whole(Options.RowGroupSize, kept),
    pageBytes = settings.whole(Options.PageSize, kept),
    dictionary = settings.bool(Options.Dictionary, kept),
    codec = settings.text(Options.Codec, kept),
    recordBytesEstimate = settings.whole(Options.RecordSizeEstimate, kept),
    logFileMaxBytes = settings.whole(Options.LogFileMaxSize, kept),
    logBlockMaxBytes = settings.whole(Options.LogBlockMaxSize, kept),
    logBlockFormat = settings.text(Options.LogBlockFormat, kept),
    bloomEntries = settings.whole(Options.BloomEntries, kept).toInt,
    bloomFalsePositives = settings.required(Options.BloomFalsePositives, kept).toDouble
  )

  private def deleteMark(settings: Settings, table: TableConfig): Option[DeleteMark] = {
    def one(entry: OptionEntry) = table.mergeProperties.get(entry.key).orElse(settings.explicit(entry))
    (one(Options.DeleteField), one(Options.DeleteMarker)) match {
      case (Some(field), Some(marker)) => Some(DeleteMark(field, marker))
      case (None, None)                => None
      case (field, marker) =>
        throw MerganserException("DELETE_MARKER_INCOMPLETE", "field" -> field.getOrElse("none"),
          "marker" -> marker.getOrElse("none"))
    }
  }

  /** As Hudi's batch writes have it: unless it is given, inline compaction is on where asynchronous compaction is turned off. */
  private def inlineCompaction(settings: Settings, kept: Map[String, String]): Boolean =
    settings.said(Options.InlineCompaction, kept).map(_ == "true")
      .getOrElse(!settings.bool(Options.AsyncCompaction, kept))

  private def policyOfMode(settings: Settings, kept: Map[String, String]): String =
    if (settings.required(Options.ConcurrencyMode, kept) == "SINGLE_WRITER") "EAGER" else "LAZY"

  private def failedWrites(settings: Settings, kept: Map[String, String]): FailedWrites =
    if (settings.said(Options.FailedWrites, kept).getOrElse(policyOfMode(settings, kept)) == "EAGER") FailedWrites.Eager
    else FailedWrites.Lazy(settings.whole(Options.HeartbeatInterval, kept) * (settings.whole(Options.HeartbeatMisses,
      kept) + 1))
}
