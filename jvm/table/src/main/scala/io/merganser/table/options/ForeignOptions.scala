package io.merganser.table.options

import io.merganser.table.options.Names.lower

/**
 * Options that have no effect here. Those that would change rows or layout are refused, unless their value requests
 * what is done anyway; so are those of other formats. Hudi's other options are accepted, so that existing jobs run
 * unchanged; [[IgnoredOptions]] reports those whose effect a job may miss.
 */
object ForeignOptions {

  /**
   * An option whose effect is not supported.
   *
   * @param accepted values (in any case) that request what is done anyway; an empty value is always accepted
   * @param remedy   what to do instead, a sentence without its full stop
   */
  final case class Refused(key: String, accepted: Seq[String], remedy: String)

  private val leave                                                    = "Remove the option"
  private def off(key: String, remedy: String = leave)                 = Refused(key, Seq("false"), remedy)
  private def on(key: String, remedy: String)                          = Refused(key, Seq("true"), remedy)
  private def only(key: String, value: String, remedy: String = leave) = Refused(key, value.split('|').toSeq, remedy)
  private def never(key: String, remedy: String = leave)               = Refused(key, Nil, remedy)

  /** Options of writes that would change rows or layout. */
  val refused: Seq[Refused] = Seq(
    off("hoodie.allow.operation.metadata.field"),
    off("hoodie.partition.metafile.use.base.format"),
    off("hoodie.table.multiple.base.file.formats.enable"),
    off("hoodie.datasource.write.reconcile.schema",
      "Set hoodie.write.set.null.for.missing.columns=true, which fills missing columns with null"),
    off("hoodie.datasource.write.schema.allow.auto.evolution.column.drop"),
    off("hoodie.datasource.write.streaming.ignore.failed.batch",
      "A micro-batch that fails stops its query, and is written when the query is started again; remove the option"),
    off("hoodie.partition.ttl.inline", "Remove old partitions with ALTER TABLE … DROP PARTITION; remove the option"),
    off("hoodie.errortable.enable", "Filter the rows before the write; remove the option"),
    off("hoodie.metaserver.enabled", "Tables are stored in their folders only; remove the option"),
    off("hoodie.parquet.writelegacyformat.enabled"),
    on("hoodie.payload.update.on.same.ordering.field",
      "On equal ordering values the newer row always wins; remove the option"),
    only("hoodie.table.base.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.table.ro.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.base.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.table.log.file.format", "HOODIE_LOG", "Log files are Hudi's own; remove the option"),
    only("hoodie.table.rt.file.format", "HOODIE_LOG", "Log files are Hudi's own; remove the option"),
    only("hoodie.table.format", "native"),
    only("hoodie.timeline.path", "timeline"),
    only("hoodie.timeline.history.path", "history"),
    only("hoodie.archivelog.folder", "archived|history"),
    only("hoodie.storage.layout.type", "DEFAULT|BUCKET"),
    only("hoodie.parquet.outputtimestamptype", "TIMESTAMP_MICROS",
      "Timestamps are stored in microseconds; remove the option"),
    only("hoodie.keygen.datetime.parser.class",
      "org.apache.hudi.keygen.parser.HoodieDateTimeParser|org.apache.hudi.keygen.parser.BaseHoodieDateTimeParser"),
    never("hoodie.static.overwrite.partition.paths"),
    never("hoodie.bulkinsert.user.defined.partitioner.class",
      "Remove the option; bulk_insert sorts by partition and key"),
    only("hoodie.bucket.index.partition.rule.type", "regex"),
    never("hoodie.index.class", "Use hoodie.index.type"),
    never("hoodie.datasource.write.payload.type", "Use hoodie.datasource.write.payload.class, or a merge mode"),
    never("hoodie.bootstrap.base.path"),
    never("hoodie.precommit.validators", "Validate the rows before the write"),
    never("hoodie.prewrite.validators", "Validate the rows before the write"),
    never("hoodie.write.schema", "Cast the rows before the write"),
    never("hoodie.avro.schema", "Cast the rows before the write"),
    never("hoodie.internal.schema"),
    never("hoodie.bulkinsert.schema.ddl"),
    never("hoodie.write.partial.update.schema"),
    never("hoodie.parquet.write.config.injector.class"),
    never("hoodie.datasource.write.secondarykey.column")
  )

  /** Options of reads that would change the returned rows. */
  val refusedReading: Seq[Refused] = Seq(
    only("hoodie.datasource.merge.type", "payload_combine",
      "Use hoodie.datasource.query.type=read_optimized to read without merging"),
    never("hoodie.datasource.read.incr.path.glob",
      "Filter the rows by partition columns: partitions that cannot contain such rows are not read"),
    never("hoodie.datasource.read.paths", "Read the table by its path"),
    off("hoodie.datasource.read.extract.partition.values.from.path",
      "Partition columns are read from the files; remove the option"),
    off("hoodie.datasource.read.table.valued.function.timeline.relation"),
    off("hoodie.datasource.read.table.valued.function.timeline.relation.archived"),
    off("hoodie.datasource.read.create.filesystem.relation")
  )

  /** Prefixes of options that tune how Hudi works, not what it writes; they cover only the names in [[HudiOptions]]. */
  val harmlessPrefixes: Seq[String] = Seq(
    "hoodie.bloom.index.", "hoodie.bootstrap.", "hoodie.client.", "hoodie.clustering.", "hoodie.common.",
    "hoodie.compaction.", "hoodie.consistency.check.", "hoodie.datasource.read.", "hoodie.datasource.write.streaming.",
    "hoodie.embed.timeline.", "hoodie.errortable.", "hoodie.file.index.", "hoodie.filesystem.", "hoodie.hfile.",
    "hoodie.lance.", "hoodie.layout.optimize.", "hoodie.log.compaction.", "hoodie.markers.", "hoodie.memory.",
    "hoodie.metaserver.", "hoodie.optimistic.consistency.guard.", "hoodie.orc.", "hoodie.partition.ttl.",
    "hoodie.precommit.validators.", "hoodie.record.size.", "hoodie.rollback.", "hoodie.simple.index.",
    "hoodie.spark.polaris.", "hoodie.table.services.", "hoodie.time.generator.", "hoodie.write.buffer.",
    "hoodie.write.concurrency.", "hoodie.write.executor.", "hoodie.write.lock.", "hoodie.write.rolling.metadata."
  )

  /**
   * Prefixes under which any name is accepted: of Hudi's tools and cloud integrations outside its engine, and of users'
   * own reporters.
   */
  val openPrefixes: Seq[String] = Seq(
    "hoodie.aws.", "hoodie.bigquery.sync.", "hoodie.datahub.", "hoodie.datasource.meta.sync.glue.",
    "hoodie.deltastreamer.", "hoodie.gcp.", "hoodie.glue.", "hoodie.hbase.", "hoodie.index.hbase.",
    "hoodie.meta.sync.datahub.", "hoodie.meta.sync.glue.", "hoodie.metrics.", "hoodie.schema.registry.",
    "hoodie.streamer.", "hoodie.write.lock.dynamodb."
  )

  /** Options of Hudi that cannot change rows or layout, and whose effect no job needs. */
  val harmless: Seq[String] = Seq(
    "hoodie.auto.adjust.lock.configs", "hoodie.avro.schema.external.transformation",
    "hoodie.avro.schema.externalTransformation", "hoodie.avro.schema.validate", "hoodie.base.path",
    "hoodie.block.writes.on.speculative.execution", "hoodie.bucket.index.max.num.buckets",
    "hoodie.bucket.index.merge.threshold", "hoodie.bucket.index.min.num.buckets",
    "hoodie.bucket.index.query.pruning",
    "hoodie.bucket.index.remote.partitioner.enable", "hoodie.bucket.index.split.threshold",
    "hoodie.bulkinsert.overwrite.operation.type", "hoodie.bulkinsert.sort.suffix.record_key",
    "hoodie.cdc.file.group.iterator.memory.spill.bytes", "hoodie.clean.allow.multiple",
    "hoodie.clean.delete.bootstrap.base.file", "hoodie.clean.multiple.enabled",
    "hoodie.clean.optimize.using.local.engine.context", "hoodie.clean.parallelism",
    "hoodie.cleaner.delete.bootstrap.base.file", "hoodie.cleaner.parallelism", "hoodie.combine.before.delete",
    "hoodie.copyonwrite.insert.auto.split",
    "hoodie.copyonwrite.insert.split.size", "hoodie.datasource.partition_extractor_class",
    "hoodie.datasource.write.row.writer.enable",
    "hoodie.enable.data.skipping", "hoodie.fail.job.on.duplicate.data.file.detection",
    "hoodie.fail.on.timeline.archiving",
    "hoodie.file.group.reader.enabled", "hoodie.file.listing.parallelism", "hoodie.finalize.write.parallelism",
    "hoodie.global.index.reconcile.parallelism",
    "hoodie.global.simple.index.parallelism", "hoodie.index.name", "hoodie.internal.sql.merge.into.writes",
    "hoodie.internal.write.schema.canonicalize", "hoodie.logfile.to.parquet.compression.ratio",
    "hoodie.merge.small.file.group.candidates.limit", "hoodie.merge.use.record.positions",
    "hoodie.parquet.bloom.filter.enabled", "hoodie.parquet.compression.ratio",
    "hoodie.parquet.flink.rowdata.write.support.class", "hoodie.parquet.write.utc-timezone.enabled",
    "hoodie.post.commit.failures.ignored", "hoodie.read.blob.inline.mode",
    "hoodie.read.timeline.holes.resolution.policy", "hoodie.release.resource.on.completion.enable",
    "hoodie.sensitive.config.keys", "hoodie.skip.default.partition.validation",
    "hoodie.spark.sql.optimized.writes.enable",
    "hoodie.table.partition_extractor_class", "hoodie.write.application.id",
    "hoodie.write.can.ignore.post.commit.failures",
    "hoodie.write.empty.clean.interval.hours",
    "hoodie.write.ignore.failed", "hoodie.write.markers.type", "hoodie.write.merge.handle.fallback",
    "hoodie.write.record.positions", "hoodie.write.status.storage.level", "hoodie.write.tagged.record.storage.level",
    "hoodie.write.track.event.time.watermark"
  )

  /** The same, of other releases than [[HudiOptions.release]], or read by that one without being declared there. */
  val ofOtherReleases: Seq[String] =
    Seq("hoodie.auto.commit", "hoodie.index.bloom.filter.type", "hoodie.payload.combined.schema.validate")

  /** Stored in tables at their creation; an option of this name must equal the table's value. */
  val storedOnly: Seq[String] = Seq(
    "hoodie.table.checksum", "hoodie.table.create.schema", "hoodie.table.index.defs.path",
    "hoodie.table.initial.version",
    "hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight", "hoodie.table.partial.update.mode",
    "hoodie.table.secondary.indexes.metadata", "hoodie.timeline.layout.version"
  )

  /** Prefixes of the names that Spark, its catalogs and AWS Glue's connectors add to the options. */
  val sparkPrefixes: Seq[String] =
    Seq("spark.sql.", "option.", "numfiles", "totalsize", "transient_lastddltime", "serialization.")

  val sparkNames: Seq[String] = Seq("path", "paths", "__partition_columns", "provider", "location", "owner", "comment",
    "external",
    "is_managed_location", "collation", "bucketing_version", "numrows", "rawdatasize", "column_stats_accurate",
    "created_by", "table_type", "classname", "connectionname")

  private[table] val refusedByName: Map[String, Refused]        = refused.map(r => lower(r.key) -> r).toMap
  private[table] val refusedReadingByName: Map[String, Refused] = refusedReading.map(r => lower(r.key) -> r).toMap
  private[table] val storedNames: Set[String]                   = storedOnly.map(lower).toSet

  private val harmlessNames: Set[String] = harmless.map(lower).toSet
  private val otherNames: Set[String]    = ofOtherReleases.map(lower).toSet

  /** Accepted without a report. */
  private[table] def isHarmless(lowerKey: String): Boolean =
    harmlessNames(lowerKey) || otherNames(lowerKey) || (HudiOptions.has(lowerKey) && harmlessPrefixes.exists(p =>
      lowerKey.startsWith(p))) ||
      isOpen(lowerKey)

  /** Whether an open prefix covers the name, and it is not a misspelling of a known name with that prefix. */
  private def isOpen(lowerKey: String): Boolean = openPrefixes.exists { prefix =>
    lowerKey.startsWith(prefix) && (HudiOptions.has(lowerKey) ||
      NearestName.of(lowerKey, allNames.filter(_.startsWith(prefix)), 2).forall(_ == lowerKey))
  }

  /** Known, though perhaps irrelevant to the current operation. */
  private[table] def isKnown(lowerKey: String): Boolean =
    isRefusable(lowerKey) || storedNames(lowerKey) || (HudiOptions.has(lowerKey) && IgnoredOptions.has(lowerKey))

  /** Refused on a read or a write, unless its value requests what is done anyway. */
  private[table] def isRefusable(lowerKey: String): Boolean =
    refusedByName.contains(lowerKey) || refusedReadingByName.contains(lowerKey)

  private[table] def isSparks(lowerKey: String): Boolean =
    sparkNames.contains(lowerKey) || sparkPrefixes.exists(p => lowerKey.startsWith(p))

  /** All names to suggest for a mistyped one. */
  private[table] lazy val allNames: Seq[String] =
    Options.all.flatMap(_.names) ++ refused.map(_.key) ++ refusedReading.map(_.key) ++ HudiOptions.names ++
      ofOtherReleases ++ storedOnly :+ "path"
}
