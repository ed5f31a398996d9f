package io.merganser.table.timeline

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import scala.collection.JavaConverters._

/** Commit metadata of version 6: the same fields, as JSON. Unknown fields are ignored. */
private[table] object CommitMetadataJson {

  private val Json = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  def encode(metadata: CommitMetadata, isReplace: Boolean): Array[Byte] = {
    val root  = Json.createObjectNode()
    val stats = root.putObject("partitionToWriteStats")
    metadata.stats.foreach { case (partition, files) =>
      val array = stats.putArray(partition)
      files.foreach(stat => put(array.addObject(), stat))
    }
    root.put("compacted", false)
    val extra = root.putObject("extraMetadata")
    LogChecksums.add(metadata).foreach { case (key, value) => extra.put(key, value) }
    root.put("operationType", metadata.operationType.name)
    if (isReplace) {
      val replaced = root.putObject("partitionToReplaceFileIds")
      metadata.replacedFileIds.foreach { case (partition, ids) =>
        val array = replaced.putArray(partition)
        ids.foreach(id => array.add(id))
      }
    }
    Json.writerWithDefaultPrettyPrinter.writeValueAsString(root).getBytes(UTF_8)
  }

  def decode(bytes: Array[Byte]): CommitMetadata = {
    val root = if (bytes.isEmpty) throw new IllegalArgumentException("it is empty") else Json.readTree(bytes)
    if (!root.path("partitionToWriteStats").isObject)
      throw new IllegalArgumentException("it has no partitionToWriteStats")
    LogChecksums.take(CommitMetadata(
        operationType = string(root, "operationType").map(OperationType.parse).getOrElse(OperationType.Unknown),
        stats = fields(root.path("partitionToWriteStats")).map { case (partition, files) =>
          partition -> files.elements.asScala.map(stat(partition, _)).toList
        },
        extra =
          fields(root.path("extraMetadata")).collect { case (key, value) if !value.isNull => key -> value.asText },
        replacedFileIds = fields(root.path("partitionToReplaceFileIds")).map { case (partition, ids) =>
          partition -> ids.elements.asScala.map(_.asText).toList
        }
      ))
  }

  private def put(node: ObjectNode, stat: WriteStat): Unit = {
    WriteStatFields.ofJson(stat).foreach { case (name, value) => put(node, name, value) }
    stat.logVersion.foreach { version =>
      node.put("logVersion", version).put("logOffset", stat.logOffset.getOrElse(0L)).put("baseFile",
        stat.baseFile.getOrElse(""))
      val files = node.putArray("logFiles")
      stat.logFiles.foreach(name => files.add(name))
    }
  }

  private def put(node: ObjectNode, name: String, value: Any): Unit = value match {
    case None         => ()
    case Some(inner)  => put(node, name, inner)
    case number: Long => node.put(name, number)
    case sizes: Map[_, _] =>
      val inner = node.putObject(name)
      sizes.foreach { case (path, size) => put(inner, path.toString, size) }
    case text => node.put(name, text.toString)
  }

  /** This form has no numbers of compactions: those of other engines are not read. */
  private def stat(partition: String, node: JsonNode): WriteStat = WriteStatFields.read(partition, new JsonFields(node))
    .copy(totalLogFilesCompacted = 0, totalLogReadTimeMs = 0, totalLogSizeCompacted = 0)

  private final class JsonFields(node: JsonNode) extends NamedFields {

    def string(name: String): Option[String] = CommitMetadataJson.string(node, name)

    def long(name: String): Long = node.path(name).asLong

    def optionalLong(name: String): Option[Long] = Option(node.get(name)).filter(_.isNumber).map(_.asLong)

    def strings(name: String): Seq[String] = node.path(name).elements.asScala.map(_.asText).toList

    def longMap(name: String): Map[String, Long] =
      fields(node.path(name)).map { case (path, size) => path -> size.asLong }
  }

  private def string(node: JsonNode, name: String): Option[String] =
    Option(node.get(name)).filterNot(_.isNull).map(_.asText)

  private def fields(node: JsonNode): Map[String, JsonNode] = node.fields.asScala.map(e => e.getKey -> e.getValue).toMap
}
