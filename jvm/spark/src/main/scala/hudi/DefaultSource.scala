package hudi

import io.merganser.merge.MerganserException
import io.merganser.spark.source.WholeFrameWriter
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode}
import org.apache.spark.sql.execution.streaming.{Sink, Source}
import org.apache.spark.sql.sources._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

/**
 * `format("hudi")` in a session without Hudi's jar: an error that names the format to write.
 *
 * Hudi's jar registers `hudi` as the short name of its own source. Only where no jar registers a name does Spark look
 * for a class `<name>.DefaultSource`, which is this one; so it is never used beside Hudi's.
 */
final class DefaultSource extends RelationProvider with SchemaRelationProvider with WholeFrameWriter
    with StreamSourceProvider with StreamSinkProvider {

  private def refused: MerganserException = MerganserException("HUDI_NOT_LOADED", "provider" -> "hudi")

  override def createRelation(context: SQLContext, parameters: Map[String, String]): BaseRelation = throw refused

  override def createRelation(
      context: SQLContext,
      parameters: Map[String, String],
      schema: StructType
  ): BaseRelation = throw refused

  override def createRelation(
      context: SQLContext,
      mode: SaveMode,
      parameters: Map[String, String],
      frame: DataFrame
  ): BaseRelation = throw refused

  override def sourceSchema(
      context: SQLContext,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): (String, StructType) = throw refused

  override def createSource(
      context: SQLContext,
      checkpoint: String,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): Source = throw refused

  override def createSink(
      context: SQLContext,
      parameters: Map[String, String],
      partitionColumns: Seq[String],
      outputMode: OutputMode
  ): Sink = throw refused
}
