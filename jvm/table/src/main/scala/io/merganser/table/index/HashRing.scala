package io.merganser.table.index

import io.merganser.merge.{Json, MerganserException}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * A bucket of consistent hashing: the keys whose hash is at most `value` and greater than the value of the node before.
 *
 * @param fileIdPrefix id of its file group, without the suffix `-0`
 */
final case class HashNode(value: Int, fileIdPrefix: String)

/**
 * The buckets of a partition of a table with consistent hashing. Other engines split and merge buckets, which stores a
 * new ring; the partition's first one is the same for all writers with the same number of buckets.
 *
 * @param instant  of the clustering or overwrite that stored the ring; [[HashRing.First]] for the first one
 * @param buckets  number of buckets that the partition began with
 * @param sequence counts the rings of the partition, from 0
 * @param nodes    sorted by value
 */
final case class HashRing(
    partitionPath: String,
    instant: String,
    buckets: Int,
    sequence: Int,
    nodes: IndexedSeq[HashNode]
) {
  private[this] val values: Array[Int] = nodes.map(_.value).toArray

  /** The position of the bucket of a hash that is not negative. */
  def bucket(hash: Int): Int = {
    val found = java.util.Arrays.binarySearch(values, hash)
    val at    = if (found >= 0) found else -found - 1
    if (at == values.length) 0 else at
  }

  def fileId(bucket: Int): String = HashRing.fileId(nodes(bucket))

  /** None for a file group that is not, or no longer, a bucket. */
  def bucketOf(fileId: String): Option[Int] = byPrefix.get(fileId.take(fileId.lastIndexOf('-')))

  private lazy val byPrefix: Map[String, Int] = nodes.indices.map(i => nodes(i).fileIdPrefix -> i).toMap

  /** The same ranges, some of them in new file groups. */
  def renewed(instant: String, isReplaced: HashNode => Boolean): HashRing =
    if (!nodes.exists(isReplaced)) this
    else copy(instant = instant, sequence = sequence + 1,
      nodes = nodes.map { node =>
        if (isReplaced(node)) node.copy(fileIdPrefix = HashRing.uuid(s"$instant/$partitionPath/${node.value}"))
        else node
      })

  def fileName: String = s"$instant${HashRing.Suffix}"

  def toJson: String = {
    val root = Json.createObjectNode()
    root.put("version", 0)
    root.put("partitionPath", partitionPath)
    root.put("instant", instant)
    root.put("numBuckets", buckets)
    root.put("seqNo", sequence)
    val array = root.putArray("nodes")
    nodes.foreach { node =>
      array.addObject().put("value", node.value).put("fileIdPrefix", node.fileIdPrefix).put("tag", "NORMAL")
    }
    Json.writerWithDefaultPrettyPrinter().writeValueAsString(root)
  }
}

object HashRing {

  /** Stands for the instant of a partition's first ring. */
  val First = "00000000000000"

  val Suffix       = ".hashing_meta"
  val CommitSuffix = ".commit"

  /** The ring of a partition that has none: ranges of equal size, file ids that follow from partition and range. */
  def first(partitionPath: String, buckets: Int): HashRing = {
    val step = (Int.MaxValue.toLong + buckets - 1) / buckets
    val ends = (1 to buckets).map(i => math.min(step * i, Int.MaxValue.toLong))
    val nodes = (0L +: ends).zip(ends).map { case (start, end) =>
      val bytes = ByteBuffer.allocate(16).putLong(start).putLong(end).array() ++ partitionPath.getBytes(UTF_8)
      HashNode(end.toInt, UUID.nameUUIDFromBytes(bytes).toString)
    }
    HashRing(partitionPath, First, buckets, 0, nodes)
  }

  /**
   * @param file its path, for errors
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def parse(json: String, file: Any): HashRing =
    try {
      val root = Json.readTree(json)
      val nodes = root.path("nodes").elements().asScala.filter(_.path("tag").asText != "DELETE")
        .map(node => HashNode(node.path("value").asInt, node.path("fileIdPrefix").asText)).toVector.sortBy(_.value)
      if (nodes.isEmpty || nodes.exists(_.fileIdPrefix.isEmpty)) throw new IllegalArgumentException("it has no nodes")
      HashRing(root.path("partitionPath").asText, root.path("instant").asText, root.path("numBuckets").asInt,
        root.path("seqNo").asInt, nodes)
    } catch {
      case NonFatal(e) => throw MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> file,
          "reason" -> String.valueOf(e.getMessage)).causedBy(e)
    }

  /** The hash of a record key, not negative; of the values of `hashFields` where the key has several fields. */
  def hash(recordKey: UTF8String, hashFields: Seq[String]): Int = {
    val length   = recordKey.numBytes
    var hasComma = false
    var hasColon = false
    var i        = 0
    while (i < length && !(hasComma && hasColon)) {
      val b = Platform.getByte(recordKey.getBaseObject, recordKey.getBaseOffset + i)
      if (b == ',') hasComma = true else if (b == ':') hasColon = true
      i += 1
    }
    val hashed =
      if (hasComma && hasColon) UTF8String.fromString(BucketIndex.hashed(recordKey.toString, hashFields).mkString)
      else recordKey
    XxHash32.hash(hashed) & Int.MaxValue
  }

  def fileId(node: HashNode): String = s"${node.fileIdPrefix}-0"

  private def uuid(name: String): String = UUID.nameUUIDFromBytes(name.getBytes(UTF_8)).toString
}
