package io.merganser.table.commit

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.{Json, MerganserException}
import io.merganser.table.index.{BucketRule, HashRing}
import io.merganser.table.options.{BucketLayout, Options}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline

import scala.annotation.tailrec
import scala.util.control.NonFatal

/**
 * What `.hoodie/.bucket_index` stores of a table's buckets: the rings of consistent hashing, or the rule by which
 * partitions have different numbers of buckets. Buckets whose number is the same everywhere store nothing.
 */
object BucketMetadata {

  private[commit] val Folder = ".hoodie/.bucket_index"
  private[commit] val Rings  = s"$Folder/consistent_hashing_metadata"
  private val Rules          = s"$Folder/partition_bucket_index_meta/configs"
  private val RuleSuffix     = ".hashing_config"

  /**
   * A layout with the number of buckets that holds where the layout does not determine it.
   *
   * @param buckets None if it is not stored
   */
  final case class Stored(layout: BucketLayout, buckets: Option[Int])

  /**
   * None if nothing is stored. One listing for tables that do not have such buckets.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def stored(storage: Storage, timeline: Timeline): Option[Stored] = {
    val folders = storage.list(Folder).map(_.getPath.getName).toSet
    if (folders(Rings.split('/').last) && storage.list(Rings).nonEmpty)
      Some(Stored(BucketLayout.Rings, anyRing(storage, Rings).map(_.buckets)))
    else if (folders(Rules.split('/')(2))) newestRule(storage, timeline)
    else None
  }

  /** Whether the table has consistent hashing. */
  def hasRings(storage: Storage): Boolean = storage.list(Rings).nonEmpty

  private def newestRule(storage: Storage, timeline: Timeline): Option[Stored] = {
    val instants = storage.list(Rules).map(_.getPath.getName).filter(_.endsWith(RuleSuffix))
      .map(_.stripSuffix(RuleSuffix)).filter(of => of == HashRing.First || timeline.isCompleted(of))
    if (instants.isEmpty) None
    else {
      val file = s"$Rules/${instants.max}$RuleSuffix"
      val root = json(storage, file)
      if (root.path("rule").asText != "regex")
        throw unreadable(storage, file, s"its rule '${root.path("rule").asText}' is not regex")
      val rule =
        try BucketRule.parse(root.path("expressions").asText, Options.BucketExpressions.key)
        catch { case e: MerganserException => throw unreadable(storage, file, String.valueOf(e.getMessage)) }
      Some(Stored(BucketLayout.ByPartition(rule), Some(root.path("defaultBucketNumber").asInt).filter(_ > 0)))
    }
  }

  /** Stores the rule of a table that is being created, where other engines look for it. */
  private[commit] def create(storage: Storage, config: TableConfig): Unit =
    config.properties.get(Options.BucketExpressions.key).foreach { expressions =>
      val root = Json.createObjectNode()
      root.put("expressions", expressions)
      config.properties.get(Options.BucketCount.key).foreach(count => root.put("defaultBucketNumber", count.toInt))
      root.put("rule", "regex").put("version", 1).put("instant", HashRing.First)
      storage.makeFolder(Rules)
      storage.replace(s"$Rules/${HashRing.First}$RuleSuffix",
        Json.writerWithDefaultPrettyPrinter().writeValueAsBytes(root))
    }

  @tailrec private def anyRing(storage: Storage, folder: String): Option[HashRing] = {
    val (folders, files) = storage.list(folder).partition(_.isDirectory)
    files.map(_.getPath.getName).find(_.endsWith(HashRing.Suffix)) match {
      case Some(name) =>
        Some(HashRing.parse(storage.readText(s"$folder/$name"), storage.path(s"$folder/$name")))
      case None => folders.headOption match {
          case Some(first) => anyRing(storage, s"$folder/${first.getPath.getName}")
          case None        => None
        }
    }
  }

  private def json(storage: Storage, file: String): JsonNode =
    try Json.readTree(storage.readText(file))
    catch { case NonFatal(e) => throw unreadable(storage, file, String.valueOf(e.getMessage)).causedBy(e) }

  private def unreadable(storage: Storage, file: String, reason: String) =
    MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(file), "reason" -> reason)
}
