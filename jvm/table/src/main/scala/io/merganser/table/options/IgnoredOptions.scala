package io.merganser.table.options

import io.merganser.table.options.Names.lower

/**
 * An option that was set and has no effect, although a job may miss what it does in Hudi.
 *
 * @param key     as the user wrote it
 * @param instead what does not happen, and what to do about it; no full stop
 */
final case class IgnoredOption(key: String, instead: String)

/**
 * Options of Hudi whose effect a job may miss: a write accepts them and reports them, in one warning and in its result.
 *
 * Not reported: a value that requests what is done anyway, and an option that only tunes a feature that is off.
 */
object IgnoredOptions {

  /**
   * Options with the same effect.
   *
   * @param names   of options; a name that ends with a dot is a prefix of all options not named elsewhere
   * @param instead as of [[IgnoredOption]]
   * @param same    values that request what is done anyway, in any case; `*` at the end matches any rest
   * @param switch  what turns the effect on and off in Hudi; None: each option by itself
   */
  final case class Effect(names: Seq[String], instead: String, same: Seq[String] = Nil, switch: Option[Switch] = None) {
    private[table] def has(lowerKey: String): Boolean =
      names.exists(n => if (n.endsWith(".")) lowerKey.startsWith(lower(n)) else lowerKey == lower(n))
  }

  /** @param onByDefault whether Hudi does it where none of the names is set */
  final case class Switch(names: Seq[String], onByDefault: Boolean)

  private def unless(same: String, instead: String, names: String*) =
    Effect(names.toSeq, instead, same.split('|').toSeq.filter(_.nonEmpty))

  /** Off in Hudi unless one of the names turns it on. */
  private def whenOn(switch: String, others: String*)(instead: String) = {
    val switches = switch.split('|').toSeq
    Effect(switches ++ others, instead, switch = Some(Switch(switches, onByDefault = false)))
  }

  /** On in Hudi unless one of the names turns it off. */
  private def unlessOff(switch: String, others: String*)(instead: String) = {
    val switches = switch.split('|').toSeq
    Effect(switches ++ others, instead, switch = Some(Switch(switches, onByDefault = true)))
  }

  val ofWrites: Seq[Effect] = Seq(
    Effect(
      Seq("hoodie.datasource.hive_sync.", "hoodie.datasource.meta.sync.", "hoodie.datasource.meta_sync.",
        "hoodie.meta.sync.", "hoodie.meta_sync.", "hoodie.gcp.", "hoodie.bigquery.sync.", "hoodie.datahub.",
        "hoodie.glue."),
      "the table is registered in a Hive metastore over Thrift, and in no other catalog",
      switch = Some(Switch(Options.hiveSyncSwitches.map(_.key), onByDefault = false))
    ),
    unless("NONE", "a clean runs after the commit, and failed writes are rolled back before the write",
      "hoodie.prewrite.cleaner.policy"),
    unless("", "a clean covers all partitions that contain files to delete", "hoodie.clean.partition.filter.regex",
      "hoodie.cleaner.partition.filter.regex", "hoodie.clean.partition.filter.selected",
      "hoodie.cleaner.partition.filter.selected"),
    unless("9223372036854775807", "a clean covers all commits that its policy does not retain",
      "hoodie.clean.max.commits.to.clean"),
    unless("", "files of archived instants are deleted by the write", "hoodie.archive.delete.parallelism"),
    unless("true", "with hoodie.clean.automatic, archiving always ends at the oldest instant that a clean retains",
      "hoodie.archive.block.on.latest.clean.ectr"),
    unlessOff("hoodie.metadata.enable", "hoodie.metadata.", "hoodie.record.index.", "hoodie.expression.index.")(
      "no metadata table is written, and an existing one is removed; files are listed, and skipped by their footers"),
    whenOn("hoodie.metrics.on", "hoodie.metrics.", "hoodie.metricscompaction.")(
      "no metrics are reported; the counts of a write are in its result, in its commit, and on the SQL tab"),
    whenOn("hoodie.write.commit.callback.on", "hoodie.write.commit.callback.")(
      "nothing is called after a commit; do it when the write returns"),
    unless("", "nothing is called when a write begins; do it before the write", "hoodie.client.init.callback.classes"),
    unless("GLOBAL_SORT", "bulk_insert sorts all rows by partition and key", "hoodie.bulkinsert.sort.mode"),
    unless("", "bulk_insert sorts all rows by partition and key",
      "hoodie.bulkinsert.user.defined.partitioner.sort.columns"),
    unless("true",
      "hoodie.compact.inline, hoodie.clean.automatic and hoodie.archive.automatic configure which services " +
        "follow a write", "hoodie.table.services.enabled"),
    whenOn("hoodie.table.service.manager.enabled", "hoodie.table.service.manager.")(
      "services run in the write, or by CALL run_compaction, run_clean and archive_commits"),
    unless("org.apache.hudi.client.transaction.SimpleConcurrentFileWritesConflictResolutionStrategy",
      "the later of two writes to one file group fails", "hoodie.write.lock.conflict.resolution.strategy"),
    whenOn("hoodie.write.concurrency.early.conflict.detection.enable", "hoodie.write.concurrency.early.conflict.",
      "hoodie.write.concurrency.async.conflict.detector.")("conflicts are detected when a write commits"),
    whenOn("hoodie.filesystem.operation.retry.enable", "hoodie.filesystem.operation.retry.")(
      "a failed operation of the store is not retried; set the retries of its Hadoop client, such as " +
        "fs.s3a.attempts.maximum"),
    unless("org.apache.hudi.*", "the class is not called", "hoodie.write.merge.handle.class",
      "hoodie.write.concat.handle.class",
      "hoodie.compact.merge.handle.class", "hoodie.fileid.prefix.provider.class", "hoodie.io.factory.class",
      "hoodie.storage.class",
      "hoodie.writestatus.class", "hoodie.avro.write.support.class", "hoodie.parquet.spark.row.write.support.class",
      "hoodie.storage.layout.partitioner.class", "hoodie.compaction.plan.generator"),
    unless("false", "columns in base files have no field ids", "hoodie.parquet.field_id.write.enabled"),
    unless("false", "rows are not compared before and after a merge", "hoodie.merge.data.validation.enabled"),
    unless("", "metadata of earlier commits is not carried over to later ones", "hoodie.write.rolling.metadata.keys"),
    unless("false", "files that a rollback removes are not backed up", "hoodie.rollback.instant.backup.enabled")
  )

  /** Effects of a read's own options. */
  val ofReads: Seq[Effect] = Seq(
    unless("", "all rows are returned; filter them", "hoodie.datasource.read.incr.filters"),
    unless("false", "archived commits are read; a window end whose files were cleaned is an error",
      "hoodie.datasource.read.incr.fallback.fulltablescan.enable"),
    unless("false", "the metadata table is not read: files are listed, and skipped by their footers",
      "hoodie.metadata.enable"),
    unless("false", "partition columns are read from the files",
      "hoodie.datasource.read.partition.value.extractor.enabled")
  )

  /** Whether an effect has this option. */
  private[table] def has(lowerKey: String): Boolean =
    ofWrites.exists(_.has(lowerKey)) || ofReads.exists(_.has(lowerKey))

  /** Those of the options whose effect a job may miss; of several values of one name the last counts. */
  private[table] def among(given: Seq[(String, String)], effects: Seq[Effect]): Seq[IgnoredOption] = {
    val all = given.map { case (key, value) => lower(key) -> ((key, value.trim)) }.toMap
    val last = all
      .filterNot { case (name, (_, value)) =>
        value.isEmpty || Options.byName.contains(name) || ForeignOptions.isRefusable(name)
      }
    val seen = last.toSeq.sortBy(_._1)
    seen.flatMap { case (name, (key, value)) =>
      effects.find(_.has(name)).filter(isMissed(_, value, all)).map(effect => IgnoredOption(key, effect.instead))
    }
  }

  private def isMissed(effect: Effect, value: String, given: Map[String, (String, String)]): Boolean =
    effect.switch match {
      case Some(switch) =>
        val values = switch.names.flatMap(n => given.get(lower(n))).map(_._2)
        if (values.isEmpty) switch.onByDefault else values.exists(_.equalsIgnoreCase("true"))
      case None => !effect.same.exists { same =>
          if (same.endsWith("*")) value.startsWith(same.dropRight(1)) else value.equalsIgnoreCase(same)
        }
    }

  /** Names with what to know of them, those of one effect together. Values are left out: some are secrets. */
  def described(ignored: Seq[IgnoredOption]): Seq[String] =
    ignored.map(_.instead).distinct.map(instead =>
      s"${ignored.filter(_.instead == instead).map(_.key).mkString(", ")} ($instead)")
}
