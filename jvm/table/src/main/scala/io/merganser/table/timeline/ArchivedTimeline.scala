package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.ParquetReader
import org.apache.parquet.hadoop.api.ReadSupport
import org.apache.parquet.hadoop.example.GroupReadSupport
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type, Types}

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Try

/**
 * The instants that another engine moved from the timeline to its history: a manifest that lists Parquet files, each
 * named after its first and last instant. Only completion times are read. Exists in layout 2 only.
 */
private[table] final class ArchivedTimeline(storage: Storage, config: TableConfig) {

  private val timesByFile = mutable.Map.empty[String, Map[String, String]]

  /** None if the instant is not in the history, or there is no history. */
  def completionTime(requested: String): Option[String] = synchronized {
    files.iterator.filter(covers(_, requested)).map(times(_).get(requested)).collectFirst { case Some(time) => time }
  }

  private lazy val files: Seq[String] =
    if (config.layoutVersion < 2) Nil
    else newestManifest.toSeq.flatMap { number =>
      val manifest = new ObjectMapper().readTree(storage.read(s"${config.historyFolder}/manifest_$number"))
      manifest.path("files").elements.asScala.map(_.path("fileName").asText).toList
    }

  private def newestManifest: Option[String] =
    try Some(new String(storage.read(s"${config.historyFolder}/_version_"), UTF_8).trim)
    catch {
      case _: FileNotFoundException =>
        val numbers = storage.list(config.historyFolder).map(_.getPath.getName).filter(_.startsWith("manifest_"))
          .flatMap(name => Try(name.drop("manifest_".length).toLong).toOption)
        numbers.sorted.lastOption.map(_.toString)
    }

  private def covers(file: String, instant: String): Boolean = file.split('_') match {
    case Array(first, last, _*) => first <= instant && instant <= last
    case _                      => true
  }

  private def times(file: String): Map[String, String] = timesByFile.getOrElseUpdate(file, {
      val conf = new org.apache.hadoop.conf.Configuration(storage.conf)
      conf.set(ReadSupport.PARQUET_READ_SCHEMA, ArchivedTimeline.Times.toString)
      val reader = ParquetReader.builder(new GroupReadSupport, storage.path(s"${config.historyFolder}/$file")).withConf(
        conf).build()
      try Iterator.continually(reader.read()).takeWhile(_ != null).flatMap(ArchivedTimeline.pair).toMap
      finally reader.close()
    })
}

private object ArchivedTimeline {

  private val Requested = "instantTime"
  private val Completed = "completionTime"

  private val Times: MessageType = {
    def stringField(name: String): Type = Types.optional(PrimitiveType.PrimitiveTypeName.BINARY).named(name)
    new MessageType("times", stringField(Requested), stringField(Completed))
  }

  private def pair(group: Group): Option[(String, String)] =
    if (group.getFieldRepetitionCount(Requested) == 0 || group.getFieldRepetitionCount(Completed) == 0) None
    else Some(group.getString(Requested, 0) -> group.getString(Completed, 0))
}
