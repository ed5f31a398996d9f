package io.merganser.spark.write

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.{BaseFileOptions, EventTimeColumn}
import io.merganser.table.commit.Transaction
import io.merganser.table.log.LogOptions
import io.merganser.table.options.IndexType
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** Creates the writer that a write's tasks use, from the write's settings. */
private[spark] object WriterOptions {

  def writer(
      session: SparkSession,
      table: OpenTable,
      schema: StructType,
      transaction: Transaction,
      settings: WriteConfig,
      index: Option[IndexType] = None
  ): SliceWriter = {
    val files = settings.files
    val codec = files.codec.getOrElse(session.sessionState.conf.parquetCompressionCodec)
    // Table services follow the table's index too: another engine's index fails on a base file without a filter.
    val requested = index.exists { case simple: IndexType.Simple => simple.bloomFilters; case _ => false }
    val hasBloom  = requested || table.config.properties.get("hoodie.index.type").exists(_.endsWith("BLOOM"))
    val bloom     = if (hasBloom) Some((files.bloomEntries.toLong, files.bloomFalsePositives)) else None
    SliceWriter(
      table.storage,
      table.config,
      schema,
      transaction.instant,
      transaction.markers,
      BaseFileOptions(parquetName(codec), files.rowGroupBytes, bloom,
        math.min(files.pageBytes, Int.MaxValue.toLong).toInt,
        files.dictionary, files.maxFileBytes, files.recentRowsPercent / 100.0),
      LogOptions(
        parquetAboveRows = files.logBlockFormat match {
          case Some("avro")    => Int.MaxValue
          case Some("parquet") => 0
          case _               => LogOptions().parquetAboveRows
        },
        maxBlockBytes = math.min(files.logBlockMaxBytes, LogOptions().maxBlockBytes.toLong).toInt,
        codec = parquetName(codec),
        maxFileBytes = files.logFileMaxBytes
      ),
      if (table.config.version < 8) table.timeline.groupsInCompaction else Map.empty,
      settings.eventTimeField.map(EventTimeColumn.of(schema, _, table.config.name)),
      table.timeline.history,
      table.config.changeLogging
    )
  }

  private def parquetName(codec: String): String = if (codec.equalsIgnoreCase("none")) "uncompressed" else codec
}
