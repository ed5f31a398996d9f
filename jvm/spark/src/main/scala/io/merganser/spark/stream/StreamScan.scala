package io.merganser.spark.stream

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.Options
import io.merganser.table.settings.{ReadConfig, StreamReadConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/**
 * A scan that Spark may run as a batch or as a stream. For a batch it first requests columns; for a stream it requests
 * nothing, and the snapshot need not be planned.
 *
 * @param batch  plans the batch
 * @param stream plans the stream
 */
final class StreamOrBatchScanBuilder(
    batch: ScanBuilder with SupportsPushDownRequiredColumns with SupportsPushDownFilters,
    stream: () => Scan
) extends ScanBuilder with SupportsPushDownRequiredColumns with SupportsPushDownFilters {
  private var isBatch = false

  override def pruneColumns(required: StructType): Unit = {
    isBatch = true
    batch.pruneColumns(required)
  }

  override def pushFilters(filters: Array[Filter]): Array[Filter] = {
    isBatch = true
    batch.pushFilters(filters)
  }

  override def pushedFilters(): Array[Filter] = batch.pushedFilters()

  override def build(): Scan = if (isBatch) batch.build() else stream()
}

/**
 * A stream of a table's rows.
 *
 * @param schema columns to return
 * @param batch  of the whole table, for callers that read it as a batch after all
 */
final class StreamScan private (
    session: SparkSession,
    opened: OpenTable,
    schema: StructType,
    read: ReadConfig,
    config: StreamReadConfig,
    batch: ScanBuilder
) extends Scan {

  override def readSchema(): StructType = schema

  override def description(): String = s"merganser ${opened.config.name} [stream from ${config.start}]"

  override def toBatch: Batch = batch.build().toBatch

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
    new TableStream(session, opened, config, new StreamedRows(session, schema, read), schema, checkpoint)
}

object StreamScan {

  /** @throws MerganserException STREAM_QUERY_UNSUPPORTED for options of other reads */
  def apply(
      session: SparkSession,
      opened: OpenTable,
      schema: StructType,
      options: Map[String, String],
      read: ReadConfig,
      batch: ScanBuilder
  ): StreamScan = {
    def refuse(key: String, value: String) =
      throw MerganserException("STREAM_QUERY_UNSUPPORTED", "table" -> opened.config.name, "key" -> key,
        "value" -> value)
    read.asOf.foreach(refuse(Options.AsOfInstant.key, _))
    if (read.readOptimized) refuse(Options.QueryType.key, "read_optimized")
    read.changes.foreach(_ => refuse(Options.QueryType.key, "incremental"))
    new StreamScan(session, opened, schema, read, StreamReadConfig.parse(options, session.conf.getAll), batch)
  }
}
