package io.merganser.spark.source

import io.merganser.merge.{Json, MerganserException}
import io.merganser.spark.change.ChangeData
import io.merganser.spark.frame.{FrameWrite, PartitionBy}
import io.merganser.spark.stream.{StreamSink, TableStream}
import io.merganser.table.settings.ReadConfig
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode, SparkSession}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.streaming.{Sink, Source}
import org.apache.spark.sql.sources.{BaseRelation, DataSourceRegister, StreamSinkProvider, StreamSourceProvider}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util
import scala.collection.JavaConverters._

/** The format `merganser`: reads are a DataSource V2 scan; writes take the whole frame, those of streams too. */
class MerganserSource extends TableProvider with DataSourceRegister with WholeFrameWriter with StreamSinkProvider
    with StreamSourceProvider {

  /** The table of the last [[inferSchema]], for the [[getTable]] after it: a read opens its table once. */
  private var inferred: Option[(CaseInsensitiveStringMap, Table)] = None

  override def shortName(): String = "merganser"

  override def supportsExternalMetadata(): Boolean = true

  /** Called by `load()`: an invalid option is an error there, before the frame is used. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val (session, readOptions) = (SparkSession.active, options.asCaseSensitiveMap.asScala.toMap)
    val table                  = MerganserTable.load(session, path(options), readOptions)
    val read                   = ReadConfig.parse(readOptions, session.conf.getAll)
    table.requireReadable(read)
    IgnoredReadOptions.warn(table.name(), read)
    val changes = ChangeData.of(session, table.opened, read,
      Some(TableStream.ofChanges(session, table.opened, _, _, readOptions, read)))
    inferred = Some((options, changes.getOrElse(table)))
    changes.fold(table.schema())(_.schema())
  }

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val options = new CaseInsensitiveStringMap(properties)
    val known   = inferred.collect { case (`options`, table) => table }
    inferred = None
    known.getOrElse(MerganserTable.lazily(SparkSession.active, path(options), options.asCaseSensitiveMap.asScala.toMap,
        schema))
  }

  override def createRelation(
      context: SQLContext,
      mode: SaveMode,
      parameters: Map[String, String],
      frame: DataFrame
  ): BaseRelation = {
    val (path, options) = written(parameters)
    FrameWrite.save(context.sparkSession, path, mode, PartitionBy.asOptions(options), frame)
    new BaseRelation {
      override def sqlContext: SQLContext = context
      override def schema: StructType     = frame.schema
    }
  }

  /** A stream that is started: an invalid option is an error there. */
  override def createSink(
      context: SQLContext,
      parameters: Map[String, String],
      partitionColumns: Seq[String],
      outputMode: OutputMode
  ): Sink = {
    val (path, options) = written(parameters)
    StreamSink.start(context.sparkSession, path, PartitionBy.asOptions(options, partitionColumns), outputMode)
  }

  /** Spark asks for it when it resolves a stream of a table by its name, and then reads the table itself. */
  override def sourceSchema(
      context: SQLContext,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): (String, StructType) = (shortName(), schema.getOrElse(new StructType))

  /** @throws MerganserException STREAM_READ_DISABLED: Spark was configured not to use its newer interface */
  override def createSource(
      context: SQLContext,
      checkpoint: String,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): Source = throw MerganserException("STREAM_READ_DISABLED", "path" -> written(parameters)._1)

  /** The path of a write and its options. Spark passes names in lower case; they are as the user wrote them. */
  private def written(parameters: Map[String, String]): (String, Map[String, String]) = {
    val options = parameters match {
      case lowered: CaseInsensitiveMap[String @unchecked] => lowered.originalMap
      case original                                       => original
    }
    val path =
      CaseInsensitiveMap(options).getOrElse("path", throw MerganserException("PATH_MISSING", "format" -> shortName()))
    (path, options)
  }

  private def path(options: CaseInsensitiveStringMap): String =
    Option(options.get("path")).getOrElse {
      val several = Option(options.get("paths")).toSeq.flatMap(json =>
        Json.readValue(json, classOf[Array[String]]).toSeq)
      throw if (several.isEmpty) MerganserException("PATH_MISSING", "format" -> shortName())
      else MerganserException("PATHS_SEVERAL", "paths" -> several.mkString(", "))
    }
}
