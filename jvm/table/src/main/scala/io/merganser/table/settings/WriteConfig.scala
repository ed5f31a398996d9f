package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.index.BucketRule
import io.merganser.table.options._
import io.merganser.table.properties.{PartitionKind, TableConfig}
import io.merganser.table.rule.StoredRule

/** A row is a delete when this column's value, as a string, equals the marker. */
final case class DeleteMark(field: String, marker: String)

/**
 * Sizes and formats of the files that a write creates. All sizes are in bytes.
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
    recentRowsPercent: Long,
    codec: Option[String],
    recordBytesEstimate: Long,
    logFileMaxBytes: Long,
    logBlockMaxBytes: Long,
    logBlockFormat: Option[String],
    bloomEntries: Int,
    bloomFalsePositives: Double
)

/**
 * @param deletes           which deletes have an ordering value, and may lose by it
 * @param failsOnDuplicates several source rows for one key are an error; otherwise the table's rule combines them
 * @param logsPartialRows   logs contain only the columns that a statement assigns, not full rows
 */
final case class StatementConfig(deletes: StatementDeletes, failsOnDuplicates: Boolean, logsPartialRows: Boolean)

/**
 * Everything one write needs, parsed once; no later code reads options by name.
 *
 * @param combineBeforeInsert   rows with the same key within an insert or bulk_insert are merged into one
 * @param combineBeforeUpsert   rows with the same key within an upsert are merged into one
 * @param missingColumns        how columns that the written rows lack are filled
 * @param statement             settings of MERGE, UPDATE and DELETE
 * @param evolvesSchema         a frame may add columns and widen types
 * @param widensToString        a frame, or a MERGE with schema evolution, may turn a column into a string column
 * @param deleteMark            of the table, or, below version 9 where tables cannot store it, of this write
 * @param keyForm               settings of the strings of key and partition path, by name, for a table that stores none
 * @param partitionKinds        partition fields with their kinds, for a table that stores none
 * @param mergerClasses         classes of mergers to choose from
 * @param findRule              the table's merge rule
 * @param eventTimeField        column whose range is recorded in the commit's statistics
 * @param commitMetadata        extra metadata of the commit
 * @param partitionsToDelete    paths that delete_partition removes; None: those of the rows
 * @param compaction            when this write compacts the table, and what
 * @param clustering            when this write clusters the table, and how
 * @param cleaning              which old files are deleted, and whether after this write
 * @param archive               whether and how instants are archived after this write
 * @param failsOnServiceFailure an inline service that fails after the commit is an error
 * @param nonBlocking           other writers may append to the same file groups
 * @param access                how the table is locked, and what it may do to it although it is refused by default
 * @param heartbeatIntervalMs   milliseconds between heartbeats of a write that others could otherwise consider failed
 * @param heartbeatExpiryMs     milliseconds without a heartbeat after which a run of a service counts as dead
 * @param transaction           of the application that writes: one that is committed is not written again
 * @param transactionHours      hours for which the version of an application that has stopped writing is listed; 0: for
 *                              good
 * @param conflictRetries       times that a write is run again after a conflict with another one
 * @param shuffleTasks          tasks of its shuffles; None: by the frame's size
 * @param hiveSync              how the table is registered in a Hive metastore after the commit, if it is
 * @param ignored               options without effect that a job may miss
 * @param dryRun                most rows to show of a dry run; None: the write is committed
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
    keyForm: Map[String, String],
    partitionKinds: Option[String],
    mergerClasses: Seq[String],
    findRule: () => StoredRule,
    eventTimeField: Option[String],
    commitMetadata: Map[String, String],
    partitionsToDelete: Option[PartitionPaths],
    allowEmptyCommit: Boolean,
    compaction: CompactionConfig,
    clustering: ClusteringConfig,
    cleaning: CleaningConfig,
    archive: ArchiveConfig,
    failsOnServiceFailure: Boolean,
    failedWrites: FailedWrites,
    heartbeatIntervalMs: Long,
    heartbeatExpiryMs: Long,
    nonBlocking: Boolean,
    access: TableAccess,
    transaction: Option[AppTransaction],
    transactionHours: Long,
    conflictRetries: Int,
    shuffleTasks: Option[Int],
    hiveSync: Option[HiveSyncSettings],
    ignored: Seq[IgnoredOption],
    dryRun: Option[Int]
) {

  /**
   * The table's merge rule. Services that merge no rows need none, and so no class of a user's.
   *
   * @throws MerganserException MERGE_RULE_UNAVAILABLE, MERGER_UNAVAILABLE, PAYLOAD_UNAVAILABLE
   */
  lazy val rule: StoredRule = findRule()

  /** Whether a write without rows makes a commit; one of a transaction does, by which a repetition finds it. */
  def commitsEmpty: Boolean = allowEmptyCommit || transaction.isDefined

  /**
   * For services that change rows, rules or the version of a table: a dry run is one of writes, and theirs are others.
   *
   * @param what a verb with its object
   * @throws MerganserException DRY_RUN_OF_SERVICE
   */
  def requireNoDryRun(what: String, table: String): Unit =
    if (dryRun.isDefined) throw WriteConfig.dryRunOfService(what, table)

  /** Milliseconds between the heartbeats that show other writers that this one is alive; None where none are needed. */
  def heartbeatMs: Option[Long] = if (failedWrites == FailedWrites.Eager) None else Some(heartbeatIntervalMs)

  /** The table's settings, completed by this write's: those of its partition path, and its delete marker. */
  def keyed(table: TableConfig): TableConfig = {
    val marks =
      deleteMark.toSeq.flatMap(mark => Seq(Options.DeleteField -> mark.field, Options.DeleteMarker -> mark.marker))
    table.copy(properties =
      keyForm ++ marks.map { case (entry, value) =>
        s"${Options.MergePropertyPrefix}${entry.key}" -> value
      } ++ table.properties ++ partitionKinds.map(TableConfig.PartitionFields -> _))
  }
}

object WriteConfig {

  /** Whether a write requests that its table be upgraded to the newest version first. */
  def requestsUpgrade(options: Map[String, String], sessionConf: Map[String, String]): Boolean =
    Settings.ofWrite(options, sessionConf).bool(Options.AutoUpgrade)

  private def dryRunOfService(what: String, table: String): MerganserException =
    MerganserException("DRY_RUN_OF_SERVICE", "what" -> what, "table" -> table, "key" -> Options.DryRun.key)

  /**
   * See [[WriteConfig.requireNoDryRun]]; for statements that have no options of their own.
   *
   * @throws MerganserException DRY_RUN_OF_SERVICE
   */
  def requireNoDryRun(what: String, table: String, sessionConf: Map[String, String]): Unit =
    if (isDryRun(Map.empty, sessionConf)) throw dryRunOfService(what, table)

  /** Whether a write is a dry run, before its table is known. */
  def isDryRun(options: Map[String, String], sessionConf: Map[String, String]): Boolean =
    dryRun(Settings.ofWrite(options, sessionConf)).isDefined

  /** The transaction of a write, before its table is known. */
  def transaction(options: Map[String, String], sessionConf: Map[String, String]): Option[AppTransaction] =
    transaction(Settings.ofWrite(options, sessionConf))

  /** The operation of a data frame's write, before its table is known. */
  def operation(options: Map[String, String], sessionConf: Map[String, String]): WriteOperation =
    WriteOperation.of(Settings.ofWrite(options, sessionConf).required(Options.Operation))

  /** The operation that options or session name. */
  def namedOperation(options: Map[String, String], sessionConf: Map[String, String]): Option[WriteOperation] =
    Settings.ofWrite(options, sessionConf).explicit(Options.Operation).map(WriteOperation.of)

  /**
   * The options of a call that is itself an operation.
   *
   * @throws MerganserException OPTION_VALUE_INVALID; OPTION_CONFLICT where they name another operation
   */
  def ofCall(options: Map[String, String], operation: String): Map[String, String] = {
    Settings.ofWrite(options, Map.empty).configured(Options.Operation).filterNot(_.value.equalsIgnoreCase(operation))
      .foreach(other =>
        throw MerganserException("OPTION_CONFLICT", "key" -> other.name, "value" -> other.value,
          "otherKey" -> "the operation of the call", "otherValue" -> operation))
    val others = options.filterNot(option => Options.Operation.names.exists(_.equalsIgnoreCase(option._1)))
    others + (Options.Operation.key -> operation)
  }

  /** Whether options, session or table name the operation of a data frame's write. */
  def namesOperation(options: Map[String, String], sessionConf: Map[String, String], table: TableConfig): Boolean =
    Settings.ofWrite(options, sessionConf).explicitOrStored(Options.Operation, table.properties).isDefined

  /** How an INSERT matches the names of its query where they are the table's in another order. */
  def insertMatching(options: Map[String, String], sessionConf: Map[String, String], table: TableConfig): String =
    Settings.ofWrite(options, sessionConf).required(Options.SqlInsertMatching, table.properties)

  /** Whether the session requests MERGE with schema evolution where the statement does not. */
  def requestsEvolution(sessionConf: Map[String, String]): Boolean =
    Settings.ofWrite(Map.empty, sessionConf).bool(Options.SqlEvolution)

  /**
   * Parses and checks the options of one write, before anything is written.
   *
   * @param options     the write's options
   * @param sessionConf Spark's configuration; options take precedence, and both override the table's stored defaults
   * @param creating    the table was just created with this write's options: they are not compared with it again
   * @param needsRule   false for services, some of which merge no rows
   * @param makesKeys   false for services and upgrades, whose rows have their keys
   * @throws MerganserException what [[Settings.ofWrite]] and [[TableConflicts.settled]] throw, MERGE_RULE_UNAVAILABLE,
   *                            KEY_GENERATOR_UNSUPPORTED, OPTION_CONFLICT, DELETE_MARKER_INCOMPLETE,
   *                            BUCKET_HASH_FIELD_UNKNOWN, LOCK_PROVIDER_UNSUPPORTED, TRANSACTION_INCOMPLETE,
   *                            KEYS_ARE_GENERATED
   */
  def parse(
      options: Map[String, String],
      sessionConf: Map[String, String],
      table: TableConfig,
      source: WriteSource = WriteSource.DataFrameWrite,
      creating: Boolean = false,
      needsRule: Boolean = true,
      makesKeys: Boolean = true
  ): WriteConfig = {
    val configured = Settings.ofWrite(options, sessionConf)
    val settings   = if (creating) configured else TableConflicts.settled(configured, table)
    if (makesKeys) KeyGenerator.stored(table)
    val stored = table.properties
    if (KeylessTable.is(table)) KeylessTable.requireNoUse(settings, table.name)
    val operation  = operationOf(settings, table, source)
    val compaction = CompactionConfig.of(settings, stored, table.isMergeOnRead)
    val config = WriteConfig(
      operation = operation,
      combineBeforeInsert =
        settings.bool(Options.CombineBeforeInsert, stored) || settings.bool(Options.InsertDropDuplicates, stored),
      combineBeforeUpsert = settings.bool(Options.CombineBeforeUpsert, stored),
      storedKeys =
        if (KeylessTable.is(table)) StoredKeyPolicy.InsertAgain else storedKeys(settings, stored, source, operation),
      index = indexOf(settings, table),
      files = filesOf(settings, stored),
      nullOrdering = nullOrdering(settings, stored),
      missingColumns = MissingColumns.of(settings.required(Options.MissingColumnsOption, stored)),
      statement = statement(settings, stored),
      evolvesSchema = settings.required(Options.FrameEvolution, stored) != "false",
      widensToString = settings.required(Options.FrameEvolution, stored) == "toString",
      deleteMark = deleteMark(settings, table),
      keyForm = (Options.TimeBased ++ Options.KeyForms).flatMap(e => settings.explicit(e).map(e.key -> _)).toMap,
      partitionKinds = if (lacksKinds(table)) settings.explicit(Options.PartitionFields) else None,
      mergerClasses = mergerClasses(settings, stored),
      findRule = () => StoredRule.of(table, mergerClasses(settings, stored)),
      eventTimeField = settings.text(Options.EventTimeField, stored),
      commitMetadata = settings.commitMetadata,
      partitionsToDelete = partitionsToDelete(settings, operation),
      allowEmptyCommit = settings.bool(Options.AllowEmptyCommit, stored),
      compaction = compaction,
      clustering = ClusteringConfig.of(settings, stored),
      cleaning = CleaningOptions.of(settings, stored),
      archive = ArchiveOptions.of(settings, stored, compaction),
      failsOnServiceFailure = settings.bool(Options.FailOnServiceFailure, stored),
      failedWrites = failedWrites(settings, stored),
      heartbeatIntervalMs = settings.whole(Options.HeartbeatInterval, stored),
      heartbeatExpiryMs = heartbeatExpiryMs(settings, stored),
      nonBlocking = settings.required(Options.ConcurrencyMode, stored) == "NON_BLOCKING_CONCURRENCY_CONTROL",
      access = TableAccess.of(settings, stored),
      transaction = transaction(settings),
      transactionHours = settings.whole(Options.TransactionHours, stored),
      conflictRetries = settings.whole(Options.ConflictRetries, stored).toInt,
      shuffleTasks = settings.text(Options.shuffleTasksOf(operation), stored).map(_.toInt).filter(_ > 0),
      hiveSync = HiveSyncSettings.of(settings, stored, table),
      ignored = if (creating) settings.ignored else TableConflicts.ignored(settings, table),
      dryRun = dryRun(settings)
    )
    if (needsRule) { config.rule; () }
    config
  }

  private def statement(settings: Settings, stored: Map[String, String]) = StatementConfig(
    deletes = StatementDeletes.of(settings.required(Options.SqlDeletes, stored)),
    failsOnDuplicates = settings.required(Options.SqlDuplicates, stored) == "fail",
    logsPartialRows = settings.bool(Options.SqlPartialUpdates, stored)
  )

  private def nullOrdering(settings: Settings, stored: Map[String, String]): NullOrdering =
    if (settings.required(Options.NullOrderingOption, stored) == "reject") NullOrdering.Reject else NullOrdering.Lowest

  private def mergerClasses(settings: Settings, stored: Map[String, String]): Seq[String] =
    settings.text(Options.MergerClasses, stored).toSeq.flatMap(OptionKind.NameList.split)

  private def operationOf(settings: Settings, table: TableConfig, source: WriteSource): WriteOperation = {
    val stored = table.properties
    source match {
      case WriteSource.DataFrameWrite if KeylessTable.is(table) =>
        KeylessTable.operation(settings.explicitOrStored(Options.Operation, stored), isSql = false)
      case WriteSource.DataFrameWrite => WriteOperation.of(settings.required(Options.Operation, stored))
      case WriteSource.SqlChange      => WriteOperation.Upsert
      case WriteSource.SqlInsert =>
        val named =
          settings.explicit(Options.Operation).orElse(settings.explicitOrStored(Options.SqlInsertOperation, stored))
        val older =
          if (settings.bool(Options.SqlBulkInsert, stored)) Some("bulk_insert")
          else settings.text(Options.SqlInsertMode, stored).map(mode => if (mode == "upsert") "upsert" else "insert")
        val chosen = named.orElse(older).getOrElse(settings.required(Options.SqlInsertOperation))
        if (KeylessTable.is(table)) KeylessTable.operation(Some(chosen), isSql = true) else WriteOperation.of(chosen)
    }
  }

  private def lacksKinds(table: TableConfig): Boolean =
    table.keyGeneratorType == KeyGenerator.Custom.name && table.partitionSpec.exists(_.kind == PartitionKind.Unknown)

  private def partitionsToDelete(settings: Settings, operation: WriteOperation): Option[PartitionPaths] = {
    val entries = Seq(Options.PartitionPathsToDelete, Options.PartitionsToDelete)
    val named   = entries.flatMap(entry => settings.configured(entry).map(entry -> _))
    def conflict(option: Settings.Configured, otherKey: String, otherValue: Any) =
      MerganserException("OPTION_CONFLICT", "key" -> option.name, "value" -> option.value, "otherKey" -> otherKey,
        "otherValue" -> otherValue)
    named.filter(_ => operation != WriteOperation.DeletePartition).foreach { case (_, option) =>
      throw conflict(option, Options.Operation.key, operation)
    }
    val (ofSession, ofWrite) = named.partition { case (entry, _) => settings.isFromSession(entry) }
    (if (ofWrite.nonEmpty) ofWrite else ofSession) match {
      case Seq((_, one), (_, other))                    => throw conflict(one, other.name, other.value)
      case Seq((Options.PartitionPathsToDelete, names)) => Some(PartitionPaths.ofNames(names.value))
      case found                                        => found.headOption.map(o => PartitionPaths.ofList(o._2.value))
    }
  }

  private def storedKeys(
      settings: Settings,
      stored: Map[String, String],
      source: WriteSource,
      operation: WriteOperation
  ): StoredKeyPolicy = {
    val drops  = settings.bool(Options.InsertDropDuplicates, stored)
    val policy = settings.required(Options.InsertDuplicatePolicy, stored)
    val strict = source == WriteSource.SqlInsert && settings.text(Options.SqlInsertMode, stored).contains("strict")
    if (drops && policy == "fail")
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.InsertDropDuplicates.key, "value" -> "true",
        "otherKey" -> Options.InsertDuplicatePolicy.key, "otherValue" -> policy)
    // It looks up no keys, so it would store each one again.
    if (operation == WriteOperation.BulkInsert) {
      val ofSql = Seq(Options.SqlInsertOperation, Options.SqlBulkInsert)
        .filter(source == WriteSource.SqlInsert && settings.explicitOrStored(_, stored).isDefined)
      val chosen = settings.configured(Options.Operation).fold(ofSql.headOption)(_ => None).getOrElse(Options.Operation)
      def refuse(entry: OptionEntry, value: String) =
        throw MerganserException("OPTION_CONFLICT", "key" -> settings.configured(entry).fold(entry.key)(_.name),
          "value" -> value, "otherKey" -> settings.configured(chosen).fold(chosen.key)(_.name),
          "otherValue" -> settings.text(chosen, stored).getOrElse(operation))
      if (drops) refuse(Options.InsertDropDuplicates, "true")
      else if (policy != "none") refuse(Options.InsertDuplicatePolicy, policy)
      else if (strict) refuse(Options.SqlInsertMode, "strict")
    }
    if (drops || policy == "drop") StoredKeyPolicy.Drop
    else if (policy == "fail" || strict) StoredKeyPolicy.Fail
    else if (settings.bool(Options.AllowDuplicateInserts, stored)) StoredKeyPolicy.InsertAgain
    else StoredKeyPolicy.MergeInFileGroup
  }

  private def indexOf(settings: Settings, table: TableConfig): IndexType =
    settings.explicitOrStored(Options.IndexTypeOption, table.properties) match {
      case Some("BUCKET") => bucketOf(settings, table)
      case Some(name) =>
        val moves = if (name == "GLOBAL_BLOOM") Options.BloomMovesPartition else Options.SimpleMovesPartition
        IndexType.Simple(
          bloomFilters =
            name.endsWith("BLOOM") || table.properties.get(Options.IndexTypeOption.key).exists(_.endsWith("BLOOM")),
          global = if (name.startsWith("GLOBAL_")) Some(IndexType.GlobalKeys(settings.bool(moves, table.properties)))
          else None
        )
      case None => IndexType.ByFiles(bucketOf(settings, table))
    }

  private def bucketOf(settings: Settings, table: TableConfig): IndexType.Bucket = {
    val hashed = settings.text(Options.BucketHashFields, table.properties).toSeq.flatMap(OptionKind.NameList.split)
    for (field <- hashed if !table.recordKeyFields.exists(_.equalsIgnoreCase(field)))
      throw MerganserException(
        "BUCKET_HASH_FIELD_UNKNOWN",
        "table" -> table.name,
        "field" -> field,
        "keys" -> table.recordKeyFields.mkString(", ")
      )
    val count = settings.explicitOrStored(Options.BucketCount, table.properties).map(_.toInt)
    IndexType.Bucket(count, if (hashed.isEmpty) table.recordKeyFields else hashed, layoutOf(settings, table))
  }

  private def layoutOf(settings: Settings, table: TableConfig): Option[BucketLayout] = {
    val engine      = settings.explicitOrStored(Options.BucketEngine, table.properties)
    val expressions = settings.explicitOrStored(Options.BucketExpressions, table.properties)
    if (engine.contains("CONSISTENT_HASHING")) Some(BucketLayout.Rings)
    else
      expressions.map(e => BucketLayout.ByPartition(BucketRule.parse(e, Options.BucketExpressions.key)))
        .orElse(engine.map(_ => BucketLayout.Fixed))
  }

  private def filesOf(settings: Settings, stored: Map[String, String]): FileConfig = FileConfig(
    smallFileLimitBytes = settings.whole(Options.SmallFileLimit, stored),
    maxFileBytes = settings.whole(Options.MaxFileSize, stored),
    rowGroupBytes = settings.whole(Options.RowGroupSize, stored),
    pageBytes = settings.whole(Options.PageSize, stored),
    dictionary = settings.bool(Options.Dictionary, stored),
    recentRowsPercent = settings.whole(Options.RecentRows, stored),
    codec = settings.text(Options.Codec, stored),
    recordBytesEstimate = settings.whole(Options.RecordSizeEstimate, stored),
    logFileMaxBytes = settings.whole(Options.LogFileMaxSize, stored),
    logBlockMaxBytes = settings.whole(Options.LogBlockMaxSize, stored),
    logBlockFormat = settings.text(Options.LogBlockFormat, stored),
    bloomEntries = settings.whole(Options.BloomEntries, stored).toInt,
    bloomFalsePositives = settings.required(Options.BloomFalsePositives, stored).toDouble
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

  /** Never a default that the table stores: all later writes would count as repetitions. */
  private def transaction(settings: Settings): Option[AppTransaction] =
    (settings.explicit(Options.TransactionApp), settings.explicit(Options.TransactionVersion)) match {
      case (Some(app), Some(version)) if app.nonEmpty => Some(AppTransaction(app, version.toLong))
      case (None, None)                               => None
      case (app, version) =>
        throw MerganserException("TRANSACTION_INCOMPLETE", "app" -> app.getOrElse("none"),
          "version" -> version.getOrElse("none"))
    }

  /** Never a default that the table stores: no write would be committed any more. */
  private def dryRun(settings: Settings): Option[Int] =
    if (settings.explicit(Options.DryRun).exists(_.toBoolean)) Some(settings.whole(Options.DryRunRows).toInt) else None

  private def policyOfMode(settings: Settings, stored: Map[String, String]): String =
    if (settings.required(Options.ConcurrencyMode, stored) == "SINGLE_WRITER") "EAGER" else "LAZY"

  private def failedWrites(settings: Settings, stored: Map[String, String]): FailedWrites =
    if (settings.explicitOrStored(Options.FailedWrites, stored).getOrElse(policyOfMode(settings, stored)) == "EAGER")
      FailedWrites.Eager
    else FailedWrites.Lazy(heartbeatExpiryMs(settings, stored))

  private def heartbeatExpiryMs(settings: Settings, stored: Map[String, String]): Long =
    Heartbeats.expiryMs(settings.whole(Options.HeartbeatInterval, stored),
      settings.whole(Options.HeartbeatMisses, stored))
}
