package io.merganser.spark.source

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.table.options.IgnoredOptions
import io.merganser.table.settings.ReadConfig
import io.merganser.table.options.Names.lower
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode, SparkSession}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.sources.{BaseRelation, DataSourceRegister}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import java.util
import scala.collection.JavaConverters._

/** The format `merganser`: reads are a DataSource V2 scan; writes take the whole frame. */
class MerganserSource extends TableProvider with DataSourceRegister with WholeFrameWriter {

  /** The table of the last [[inferSchema]], for the [[getTable]] after it: a read opens its table once. */
  private var inferred: Option[(CaseInsensitiveStringMap, MerganserTable)] = None

  override def shortName(): String = "merganser"

  override def supportsExternalMetadata(): Boolean = true

  /** Called by `load()`: an invalid option is an error there, before the frame is used. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val (session, readOptions) = (SparkSession.active, options.asCaseSensitiveMap.asScala.toMap)
    val table                  = MerganserTable.load(session, path(options), readOptions)
    val read                   = ReadConfig.parse(readOptions, session.conf.getAll)
    table.requireReadable(read)
    IgnoredReadOptions.warn(table.name(), read)
    inferred = Some((options, table))
    table.schema()
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
    // Spark passes names in lower case; the original map has them as the user wrote them.
    val options = parameters match {
      case lowered: CaseInsensitiveMap[String @unchecked] => lowered.originalMap
      case original                                       => original
    }
    val target =
      CaseInsensitiveMap(options).getOrElse("path", throw MerganserException("PATH_MISSING", "format" -> shortName()))
    FrameWrite.save(context.sparkSession, target, mode, PartitionBy.asOptions(options), frame)
    new BaseRelation {
      override def sqlContext: SQLContext = context
      override def schema: StructType     = frame.schema
    }
  }

  private def path(options: CaseInsensitiveStringMap): String =
    Option(options.get("path")).getOrElse {
      val several = Option(options.get("paths")).toSeq.flatMap(json =>
        new ObjectMapper().readValue(json, classOf[Array[String]]).toSeq)
      throw if (several.isEmpty) MerganserException("PATH_MISSING", "format" -> shortName())
      else MerganserException("PATHS_SEVERAL", "paths" -> several.mkString(", "))
    }
}

/** Logs once per read which of its options have no effect. */
private[source] object IgnoredReadOptions {
  private val Log = LoggerFactory.getLogger(classOf[MerganserSource])

  def warn(table: String, read: ReadConfig): Unit =
    if (read.ignored.nonEmpty)
      Log.warn(s"options of a read of $table without effect: ${IgnoredOptions.described(read.ignored).mkString(", ")}")
}

/** `partitionBy` of a data-frame writer, as the equivalent option. */
private[source] object PartitionBy {
  private val Sparks = "__partition_columns"
  private val Ours   = "hoodie.datasource.write.partitionpath.field"

  /** @throws MerganserException OPTION_CONFLICT if options name other columns */
  def asOptions(parameters: Map[String, String]): Map[String, String] = {
    val rest = parameters.filterNot { case (name, _) => name.equalsIgnoreCase("path") || name == Sparks }
    val columns =
      parameters.get(Sparks).toSeq.flatMap(json => new ObjectMapper().readValue(json, classOf[Array[String]]).toSeq)
    rest.find(_._1.equalsIgnoreCase(Ours)) match {
      case _ if columns.isEmpty => rest
      case None                 => rest + (Ours -> columns.mkString(","))
      case Some((name, value)) =>
        val named = value.split(',').map(_.trim.takeWhile(_ != ':')).toSeq
        if (named.map(lower) != columns.map(lower))
          throw MerganserException("OPTION_CONFLICT", "key" -> name, "value" -> value, "otherKey" -> "partitionBy",
            "otherValue" -> columns.mkString(","))
        rest
    }
  }
}
