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
    node.put("fileId", stat.fileId).put("path", stat.path).put("prevCommit", stat.prevCommit)
    node.put("numWrites", stat.numWrites).put("numDeletes", stat.numDeletes)
    node.put("numUpdateWrites", stat.numUpdateWrites).put("numInserts", stat.numInserts)
    node.put("totalWriteBytes", stat.totalWriteBytes).put("totalWriteErrors", stat.totalWriteErrors)
    node.put("partitionPath", stat.partitionPath).put("fileSizeInBytes", stat.fileSizeInBytes)
    node.put("totalLogRecords", stat.totalLogRecords).put("totalLogFiles", stat.totalLogFiles)
    node.put("totalUpdatedRecordsCompacted", stat.totalUpdatedRecordsCompacted)
    node.put("totalLogBlocks", stat.totalLogBlocks).put("totalCorruptLogBlock", stat.totalCorruptLogBlocks)
    node.put("totalRollbackBlocks", stat.totalRollbackBlocks)
    if (stat.cdcStats.nonEmpty) {
      val sizes = node.putObject("cdcStats")
      stat.cdcStats.foreach { case (path, size) => sizes.put(path, size) }
    }
    stat.prevBaseFile.foreach(node.put("prevBaseFile", _))
    stat.minEventTime.foreach(time => node.put("minEventTime", time))
    stat.maxEventTime.foreach(time => node.put("maxEventTime", time))
    stat.logVersion.foreach { version =>
      node.put("logVersion", version).put("logOffset", stat.logOffset.getOrElse(0L)).put("baseFile",
        stat.baseFile.getOrElse(""))
      val files = node.putArray("logFiles")
      stat.logFiles.foreach(name => files.add(name))
    }
  }

  private def stat(partition: String, node: JsonNode): WriteStat = WriteStat(
    fileId = string(node, "fileId").getOrElse(""),
    path = string(node, "path").getOrElse(""),
    prevCommit = string(node, "prevCommit").getOrElse(WriteStat.NoPrevCommit),
    numWrites = node.path("numWrites").asLong,
    numInserts = node.path("numInserts").asLong,
    numUpdateWrites = node.path("numUpdateWrites").asLong,
    numDeletes = node.path("numDeletes").asLong,
    fileSizeInBytes = node.path("fileSizeInBytes").asLong,
    totalWriteBytes = node.path("totalWriteBytes").asLong,
    partitionPath = string(node, "partitionPath").getOrElse(partition),
    logVersion = number(node, "logVersion").map(_.toInt).filter(_ > 0),
    logOffset = number(node, "logOffset"),
    baseFile = string(node, "baseFile"),
    logFiles = node.path("logFiles").elements.asScala.map(_.asText).toList,
    prevBaseFile = string(node, "prevBaseFile"),
    cdcStats = fields(node.path("cdcStats")).map { case (path, size) => path -> size.asLong },
    totalWriteErrors = node.path("totalWriteErrors").asLong,
    totalLogRecords = node.path("totalLogRecords").asLong,
    totalLogFiles = node.path("totalLogFiles").asLong,
    totalLogBlocks = node.path("totalLogBlocks").asLong,
    totalCorruptLogBlocks = node.path("totalCorruptLogBlock").asLong,
    totalRollbackBlocks = node.path("totalRollbackBlocks").asLong,
    totalUpdatedRecordsCompacted = node.path("totalUpdatedRecordsCompacted").asLong,
    minEventTime = number(node, "minEventTime"),
    maxEventTime = number(node, "maxEventTime")
  )

  private def string(node: JsonNode, name: String): Option[String] =
    Option(node.get(name)).filterNot(_.isNull).map(_.asText)

  private def number(node: JsonNode, name: String): Option[Long] =
    Option(node.get(name)).filter(_.isNumber).map(_.asLong)

  private def fields(node: JsonNode): Map[String, JsonNode] = node.fields.asScala.map(e => e.getKey -> e.getValue).toMap
}
