package io.merganser.table.config

/**
 * Hudi's options that we do not act on: those that cannot change rows or layout are accepted, so that existing jobs run
 * unchanged; the others are refused unless they ask for what we do anyway.
 */
object ForeignOptions {

  /**
   * An option whose effect we do not have.
   *
   * @param accepted values (in any case) that ask for what we do anyway; an empty value always does
   * @param remedy   what to do instead, a sentence without its full stop
   */
  final case class Refused(key: String, accepted: Seq[String], remedy: String)

  private val leave                                                    = "Remove the option"
  private def off(key: String, remedy: String = leave)                 = Refused(key, Seq("false"), remedy)
  private def on(key: String, remedy: String)                          = Refused(key, Seq("true"), remedy)
  private def only(key: String, value: String, remedy: String = leave) = Refused(key, value.split('|').toSeq, remedy)
  private def never(key: String, remedy: String = leave)               = Refused(key, Nil, remedy)

  /** Would change rows or layout. */
  val refused: Seq[Refused] = Seq(
    on("hoodie.populate.meta.fields", "The five meta columns are always written; remove the option"),
    off("hoodie.allow.operation.metadata.field"),
    off("hoodie.datasource.write.drop.partition.columns", "Partition columns are always stored in the files; remove the option"),
    off("hoodie.datasource.write.slash.separated.date.partitioning", "Use the TIMESTAMP key generator with output format yyyy/MM/dd"),
    off("hoodie.table.cdc.enabled"),
    off("hoodie.partition.metafile.use.base.format"),
    off("hoodie.table.multiple.base.file.formats.enable"),
    off("hoodie.schema.on.read.enable"),
    off("hoodie.datasource.write.reconcile.schema", "Give hoodie.write.set.null.for.missing.columns=true, which fills what rows lack"),
    off("hoodie.datasource.write.schema.allow.auto.evolution.column.drop"),
    off("hoodie.datasource.write.streaming.ignore.failed.batch"),
    off("hoodie.clustering.inline"),
    off("hoodie.clustering.async.enabled"),
    off("hoodie.clustering.schedule.inline"),
    off("hoodie.datasource.clustering.inline.enable"),
    off("hoodie.datasource.clustering.async.enable"),
    off("hoodie.log.compaction.inline"),
    off("hoodie.log.compaction.enable"),
    off("hoodie.compact.schedule.inline", "Schedule it with CALL run_compaction(op => 'schedule', …)"),
    off("hoodie.partition.ttl.inline"),
    off("hoodie.errortable.enable"),
    off("hoodie.parquet.writelegacyformat.enabled"),
    on("hoodie.payload.update.on.same.ordering.field", "Of equal ordering values the newer row always wins; remove the option"),
    only("hoodie.table.base.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.table.ro.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.base.file.format", "PARQUET", "Base files are Parquet; remove the option"),
    only("hoodie.table.log.file.format", "HOODIE_LOG", "Log files are Hudi's own; remove the option"),
    only("hoodie.table.rt.file.format", "HOODIE_LOG", "Log files are Hudi's own; remove the option"),
    only("hoodie.table.format", "native"),
    only("hoodie.timeline.path", "timeline"),
    only("hoodie.timeline.history.path", "history"),
    only("hoodie.archivelog.folder", "archived|history"),
    only("hoodie.index.bucket.engine", "SIMPLE", "Only the SIMPLE bucket engine is written; give a fixed number of buckets"),
    only("hoodie.storage.layout.type", "DEFAULT|BUCKET"),
    only("hoodie.parquet.outputtimestamptype", "TIMESTAMP_MICROS", "Timestamps are stored in microseconds; remove the option"),
    only("hoodie.compact.inline.trigger.strategy", "NUM_COMMITS",
      "Compaction becomes due by the number of delta commits alone; use hoodie.compact.inline.max.delta.commits"),
    only("hoodie.keygen.datetime.parser.class",
      "org.apache.hudi.keygen.parser.HoodieDateTimeParser|org.apache.hudi.keygen.parser.BaseHoodieDateTimeParser"),
    never("hoodie.static.overwrite.partition.paths"),
    never("hoodie.bulkinsert.user.defined.partitioner.class", "Remove the option; bulk_insert sorts by partition and key"),
    never("hoodie.bucket.index.partition.expressions"),
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

  /** Would change the rows of a read. */
  val refusedReading: Seq[Refused] = Seq(
    only("hoodie.datasource.merge.type", "payload_combine", "Use hoodie.datasource.query.type=read_optimized to read without merging"),
    only("hoodie.datasource.query.incremental.format", "latest_state"),
    never("hoodie.datasource.read.begin.instanttime"),
    never("hoodie.datasource.read.end.instanttime"),
    never("hoodie.datasource.read.incr.path.glob"),
    never("hoodie.datasource.read.paths", "Read the table by its path"),
    off("hoodie.datasource.read.extract.partition.values.from.path", "Partition columns are read from the files; remove the option"),
    off("hoodie.datasource.read.table.valued.function.timeline.relation"),
    off("hoodie.datasource.read.table.valued.function.timeline.relation.archived"),
    off("hoodie.datasource.read.create.filesystem.relation")
  )

  /** Beginnings of options that tune how Hudi works, not what it writes. */
  val harmlessPrefixes: Seq[String] = Seq(
    "hoodie.archive.", "hoodie.aws.", "hoodie.bigquery.sync.", "hoodie.bloom.index.", "hoodie.bootstrap.", "hoodie.clean.",
    "hoodie.cleaner.", "hoodie.client.", "hoodie.clustering.", "hoodie.common.", "hoodie.compaction.", "hoodie.consistency.check.",
    "hoodie.datahub.", "hoodie.datasource.hive_sync.", "hoodie.datasource.meta.sync.", "hoodie.datasource.meta_sync.",
    "hoodie.datasource.read.", "hoodie.datasource.write.streaming.", "hoodie.deltastreamer.", "hoodie.embed.timeline.",
    "hoodie.errortable.", "hoodie.expression.index.", "hoodie.file.index.", "hoodie.filesystem.", "hoodie.gcp.", "hoodie.glue.",
    "hoodie.hbase.", "hoodie.hfile.", "hoodie.index.hbase.", "hoodie.lance.", "hoodie.layout.optimize.", "hoodie.log.compaction.",
    "hoodie.markers.", "hoodie.memory.", "hoodie.meta.sync.", "hoodie.meta_sync.", "hoodie.metadata.", "hoodie.metaserver.",
    "hoodie.metrics.", "hoodie.metricscompaction.", "hoodie.optimistic.consistency.guard.", "hoodie.orc.", "hoodie.partition.ttl.",
    "hoodie.precommit.validators.",
    "hoodie.record.index.", "hoodie.record.size.", "hoodie.rollback.", "hoodie.schema.registry.", "hoodie.simple.index.",
    "hoodie.spark.polaris.", "hoodie.streamer.", "hoodie.table.service.manager.", "hoodie.table.services.", "hoodie.time.generator.",
    "hoodie.timeline.compaction.", "hoodie.timeline.manifest.", "hoodie.write.buffer.", "hoodie.write.commit.callback.",
    "hoodie.write.concurrency.", "hoodie.write.executor.", "hoodie.write.lock.", "hoodie.write.rolling.metadata."
  )

  /** Options that cannot change rows or layout, by name. */
  val harmless: Seq[String] = Seq(
    "hoodie.auto.adjust.lock.configs", "hoodie.auto.commit", "hoodie.avro.schema.external.transformation",
    "hoodie.avro.schema.externalTransformation",
    "hoodie.avro.schema.validate", "hoodie.avro.write.support.class", "hoodie.base.path", "hoodie.block.writes.on.speculative.execution",
    "hoodie.bucket.index.max.num.buckets", "hoodie.bucket.index.merge.threshold", "hoodie.bucket.index.min.num.buckets",
    "hoodie.bucket.index.partition.rule.type", "hoodie.bucket.index.query.pruning", "hoodie.bucket.index.remote.partitioner.enable",
    "hoodie.bucket.index.split.threshold", "hoodie.bulkinsert.overwrite.operation.type",
    "hoodie.bulkinsert.sort.mode", "hoodie.bulkinsert.sort.suffix.record_key", "hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    "hoodie.cdc.file.group.iterator.memory.spill.bytes", "hoodie.combine.before.delete", "hoodie.commits.archival.batch",
    "hoodie.compact.inline.max.delta.seconds", "hoodie.compact.merge.handle.class", "hoodie.copyonwrite.insert.auto.split",
    "hoodie.copyonwrite.insert.split.size", "hoodie.datasource.partition_extractor_class",
    "hoodie.datasource.streaming.startOffset", "hoodie.datasource.write.row.writer.enable",
    "hoodie.enable.data.skipping", "hoodie.fail.job.on.duplicate.data.file.detection", "hoodie.fail.on.timeline.archiving",
    "hoodie.file.group.reader.enabled", "hoodie.file.listing.parallelism",
    "hoodie.fileid.prefix.provider.class", "hoodie.finalize.write.parallelism",
    "hoodie.global.index.reconcile.parallelism", "hoodie.global.simple.index.parallelism", "hoodie.index.bloom.filter.type",
    "hoodie.index.name",
    "hoodie.io.factory.class", "hoodie.keep.max.commits", "hoodie.keep.min.commits",
    "hoodie.logfile.to.parquet.compression.ratio", "hoodie.merge.data.validation.enabled", "hoodie.merge.small.file.group.candidates.limit",
    "hoodie.merge.use.record.positions", "hoodie.parquet.bloom.filter.enabled", "hoodie.parquet.compression.ratio",
    "hoodie.parquet.field_id.write.enabled", "hoodie.parquet.flink.rowdata.write.support.class",
    "hoodie.parquet.spark.row.write.support.class",
    "hoodie.parquet.write.utc-timezone.enabled", "hoodie.prewrite.cleaner.policy",
    "hoodie.read.blob.inline.mode", "hoodie.read.timeline.holes.resolution.policy", "hoodie.release.resource.on.completion.enable",
    "hoodie.sensitive.config.keys", "hoodie.skip.default.partition.validation", "hoodie.spark.sql.optimized.writes.enable",
    "hoodie.storage.class", "hoodie.storage.layout.partitioner.class", "hoodie.table.cdc.supplemental.logging.mode",
    "hoodie.table.partition_extractor_class", "hoodie.write.application.id",
    "hoodie.write.can.ignore.post.commit.failures", "hoodie.post.commit.failures.ignored", "hoodie.write.complex.keygen.validation.enable",
    "hoodie.write.concat.handle.class", "hoodie.write.empty.clean.interval.hours", "hoodie.write.ignore.failed",
    "hoodie.write.markers.type",
    "hoodie.write.merge.handle.class", "hoodie.write.merge.handle.fallback", "hoodie.write.num.retries.on.conflict.failures",
    "hoodie.write.record.positions", "hoodie.write.status.storage.level", "hoodie.write.tagged.record.storage.level",
    "hoodie.write.track.event.time.watermark", "hoodie.writestatus.class"
  )

  /** Written into tables by their creation; given as an option they must say what the table says. */
  val storedOnly: Seq[String] = Seq(
    "hoodie.table.checksum", "hoodie.table.create.schema", "hoodie.table.index.defs.path", "hoodie.table.initial.version",
    "hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight", "hoodie.table.partial.update.mode",
    "hoodie.table.secondary.indexes.metadata", "hoodie.timeline.layout.version"
  )

  /** Beginnings of the names that Spark and its catalogs add to a table's options. */
  val sparkPrefixes: Seq[String] = Seq("spark.sql.", "option.", "numfiles", "totalsize", "transient_lastddltime", "serialization.")

  val sparkNames: Seq[String] = Seq("path", "paths", "__partition_columns", "provider", "location", "owner", "comment", "external",
    "is_managed_location", "collation", "bucketing_version", "numrows", "rawdatasize", "column_stats_accurate", "created_by", "table_type")

  private def lower(text: String): String = text.toLowerCase(java.util.Locale.ROOT)

  private[config] val refusedByName: Map[String, Refused]        = refused.map(r => lower(r.key) -> r).toMap
  private[config] val refusedReadingByName: Map[String, Refused] = refusedReading.map(r => lower(r.key) -> r).toMap
  private[config] val storedNames: Set[String]                   = storedOnly.map(lower).toSet

  private val harmlessNames: Set[String] = harmless.map(lower).toSet

  private[config] def isHarmless(lowerKey: String): Boolean =
    harmlessNames(lowerKey) || harmlessPrefixes.exists(p => lowerKey.startsWith(p))

  /** Known, though perhaps without meaning for what is being done. */
  private[config] def isKnown(lowerKey: String): Boolean =
    refusedByName.contains(lowerKey) || refusedReadingByName.contains(lowerKey) || storedNames(lowerKey)

  private[config] def isSparks(lowerKey: String): Boolean =
    sparkNames.contains(lowerKey) || sparkPrefixes.exists(p => lowerKey.startsWith(p))

  /** Every name that a mistyped one may have been meant to be. */
  private[config] val allNames: Seq[String] =
    Options.all.flatMap(_.names) ++ refused.map(_.key) ++ refusedReading.map(_.key) ++ harmless ++ storedOnly :+ "path"
}
