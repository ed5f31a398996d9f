package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, Settings}
import io.merganser.table.properties.TableConfig

/**
 * How a stream writes its micro-batches.
 *
 * @param attempts   times that a micro-batch is tried, 1 or more
 * @param pauseMs    milliseconds before the second attempt; doubled before each further one
 * @param identifier name of the stream in the commits, for Hudi's sink
 * @param compaction options of compaction that the stream adds to the user's
 */
final case class StreamWriteConfig(
    attempts: Int,
    pauseMs: Long,
    identifier: String,
    compaction: Map[String, String]
)

object StreamWriteConfig {

  /**
   * @param table None if the first micro-batch creates it
   * @throws MerganserException what [[Settings.ofWrite]] throws; STREAM_NUMBERS_ITS_WRITES where the options number
   *                            the writes; DRY_RUN_UNSUPPORTED
   */
  def parse(
      options: Map[String, String],
      sessionConf: Map[String, String],
      table: Option[TableConfig]
  ): StreamWriteConfig = {
    val settings = Settings.ofWrite(options, sessionConf)
    val stored   = table.fold(Map.empty[String, String])(_.properties)
    Seq(Options.TransactionApp, Options.TransactionVersion).filterNot(settings.isFromSession)
      .flatMap(entry => settings.configured(entry)).foreach(own =>
        throw MerganserException("STREAM_NUMBERS_ITS_WRITES", "key" -> own.name, "value" -> own.value))
    settings.configured(Options.DryRun).filter(_.value.toBoolean).foreach(dry =>
      throw MerganserException("DRY_RUN_UNSUPPORTED", "what" -> "a stream", "key" -> dry.name))
    val compactions = Seq(Options.InlineCompaction, Options.AsyncCompaction, Options.ScheduleInline)
    val compacts = !settings.bool(Options.StreamWithoutCompaction, stored) &&
      compactions.forall(settings.explicitOrStored(_, stored).isEmpty)
    StreamWriteConfig(
      attempts = math.max(1, math.min(settings.whole(Options.StreamAttempts, stored), Int.MaxValue.toLong).toInt),
      pauseMs = settings.whole(Options.StreamPause, stored),
      identifier = settings.required(Options.StreamIdentifier, stored),
      compaction = if (compacts) Map(Options.AsyncCompaction.key -> "true") else Map.empty
    )
  }

  /** Whether a table that these options create has no key columns. */
  def isKeyless(options: Map[String, String], sessionConf: Map[String, String]): Boolean =
    Settings.ofWrite(options, sessionConf).fields(Options.RecordKey).isEmpty
}
