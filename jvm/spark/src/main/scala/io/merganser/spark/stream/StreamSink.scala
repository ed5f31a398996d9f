package io.merganser.spark.stream

import io.merganser.merge.{Json, MerganserException}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.AfterCommit
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.WriteResult
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.Creation
import io.merganser.table.options.Names.lower
import io.merganser.table.options.{Options, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{KeylessTable, NewTable, OverwriteMode, StreamWriteConfig, TableAccess, WriteConfig}
import org.apache.spark.sql.{DataFrame, SaveMode, SparkSession}
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.streaming.OutputMode
import org.slf4j.LoggerFactory

import scala.annotation.tailrec
import scala.util.control.NonFatal

/**
 * Writes each micro-batch of a stream in one commit, as a data frame is written.
 *
 * The commit has the query's id, which its checkpoint holds, and the number of the micro-batch, as the transaction of
 * an application: a micro-batch that is repeated after a failure is not written again.
 *
 * @param options of the writer, without those of Structured Streaming itself
 */
final class StreamSink private (session: SparkSession, path: String, options: Map[String, String], mode: OutputMode)
    extends Sink {

  import StreamSink._

  override def addBatch(batchId: Long, data: DataFrame): Unit = {
    val query = session.sparkContext.getLocalProperty(QueryId)
    if (query == null) throw new IllegalStateException(s"micro-batch $batchId has no id of its query")
    val (config, written) = settings(batchId, query)
    // The rows of the micro-batch as Spark has planned them: another plan of a stream's frame would compute no state.
    val rows   = SparkBridge.internalCreateDataFrame(data.sparkSession, data.queryExecution.toRdd, data.schema)
    val result = attempt(batchId, config, 1)(save(data.sparkSession, written, rows))
    if (result.exists(_.notes.isRepetition)) {
      Log.info(s"micro-batch $batchId of query $query was committed to $path before: nothing is written")
      StatefulPlan.run(data.queryExecution.executedPlan)
    }
  }

  private def settings(batchId: Long, query: String): (StreamWriteConfig, Map[String, String]) = {
    val conf    = FrameWrite.sessionConf(session)
    val storage = OpenTable.storage(session, path)
    val table   = if (TableConfig.exists(storage)) Some(TableConfig.load(storage)) else None
    val config  = StreamWriteConfig.parse(options, conf, table)
    if (mode == OutputMode.Update && table.fold(StreamWriteConfig.isKeyless(options, conf))(KeylessTable.is))
      throw MerganserException("STREAM_UPDATE_WITHOUT_KEY", "path" -> path)
    val numbered = Map(
      Options.TransactionApp.key -> s"$AppPrefix$query",
      Options.TransactionVersion.key -> batchId.toString
    )
    (config, options ++ config.compaction ++ replacing(conf) ++ numbered ++ forHudi(config.identifier, batchId))
  }

  /** In complete mode all rows are replaced, also where the session's overwrites replace partitions. */
  private def replacing(conf: Map[String, String]): Map[String, String] =
    if (
      mode == OutputMode.Complete && OverwriteMode.configured(options).isEmpty &&
      WriteConfig.operation(options, conf) != WriteOperation.InsertOverwrite
    ) Map(Options.OverwriteMode.key -> "STATIC")
    else Map.empty

  /** By this a sink of Hudi that continues the stream finds the micro-batches that are committed. */
  private def forHudi(identifier: String, batchId: Long): Map[String, String] =
    if (options.keys.exists(lower(_) == Options.CommitMetadataPrefix.key)) Map.empty
    else Map(HudiKey -> Json.createObjectNode().put(identifier, batchId.toString).toString)

  private def save(writing: SparkSession, written: Map[String, String], rows: DataFrame): Option[WriteResult] =
    FrameWrite.save(writing, path, if (mode == OutputMode.Complete) SaveMode.Overwrite else SaveMode.Append, written,
      rows)

  @tailrec
  private def attempt(batchId: Long, config: StreamWriteConfig, number: Int)(
      write: => Option[WriteResult]
  ): Option[WriteResult] = {
    val outcome =
      try Right(write)
      catch { case NonFatal(e) if number < config.attempts && mayPass(e) => Left(e) }
    outcome match {
      case Right(result) => result
      case Left(failure) =>
        val pauseMs = math.min(config.pauseMs << math.min(number - 1, 20), LongestPauseMs)
        Log.warn(s"micro-batch $batchId cannot be written to $path; attempt ${number + 1} of ${config.attempts} " +
            s"follows in $pauseMs ms", failure)
        Thread.sleep(pauseMs)
        attempt(batchId, config, number + 1)(write)
    }
  }

  override def toString: String = s"Merganser[$path]"
}

object StreamSink {
  private val Log = LoggerFactory.getLogger(classOf[StreamSink])

  /** Local property in which Spark passes the id that a query keeps with its checkpoint. */
  private val QueryId = "sql.streaming.queryId"

  /** Before the id of a query in the names of applications. */
  private[spark] val AppPrefix = "stream-"

  private val HudiKey = "_hudi_streaming_sink_checkpoint"

  private val LongestPauseMs = 3600000L

  /** Of our own errors, those that a repetition may solve. */
  private val Passing = Set("COMMIT_CONFLICT", "LOCK_TIMEOUT")

  /** Options of a stream's writer that are Spark's own. */
  private val Sparks = Set("checkpointlocation", "queryname")

  /**
   * The sink of a query that is started.
   *
   * @param options of the writer, with the columns of `partitionBy`
   * @throws MerganserException what [[StreamWriteConfig.parse]] and, for an existing table, [[WriteConfig.parse]] throw
   */
  def start(session: SparkSession, path: String, options: Map[String, String], mode: OutputMode): StreamSink = {
    val own     = options.filterNot { case (name, _) => Sparks(lower(name)) }
    val conf    = FrameWrite.sessionConf(session)
    val storage = OpenTable.storage(session, path)
    val table =
      if (!TableConfig.exists(storage) || Creation.isUnfinished(storage)) None
      else Some(declared(session, path, own))
    StreamWriteConfig.parse(own, conf, table)
    table.foreach(WriteConfig.parse(own, conf, _))
    new StreamSink(session, path, own, mode)
  }

  /**
   * The settings of an existing table. `toTable` creates tables without the writer's options, since Spark passes it
   * none: an empty table without key columns gets those of the stream, if that has key columns.
   */
  private def declared(session: SparkSession, path: String, options: Map[String, String]): TableConfig = {
    val conf   = FrameWrite.sessionConf(session)
    val opened = OpenTable.load(session, path)
    val stored = opened.config
    if (!KeylessTable.is(stored) || opened.timeline.instants.nonEmpty || StreamWriteConfig.isKeyless(options, conf))
      stored
    else
      Creation.redeclare(opened.storage,
        table =>
          table.properties ++ NewTable.properties(options, AvroSchemas.stored(opened.schema), table.name,
            partitionBy = table.partitionFields, sessionConf = conf,
            database = stored.properties.get(Options.Database.key)),
        TableAccess.of(conf, stored).lock)
  }

  /** Whether a failed write may succeed when it is repeated. A committed one would only be reported as committed. */
  private def mayPass(failure: Throwable): Boolean = failure match {
    case e: MerganserException => Passing(e.condition) && !AfterCommit.isOfCommitted(e)
    case _                     => !Thread.currentThread().isInterrupted
  }
}
