package io.merganser.table.commit

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, Permits}
import io.merganser.table.properties.{TableConfig, TableProperties, Treatment}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, Instant, Timeline}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * Whether a table may be read and written, judged by its `.hoodie` folder and its timeline. [[TableProperties]] judges
 * its properties.
 */
object TableFeatures {

  /** Folders of `.hoodie`; others are ignored. The properties configure the paths of timeline and history. */
  val folders: Map[String, Treatment] = Map(
    "timeline" -> Treatment.Handled,
    "archived" -> Treatment.Handled,
    "metadata" -> Treatment.Handled, // removed by the first commit, see MetadataTable
    ".temp" -> Treatment.Handled, // markers
    ".heartbeat" -> Treatment.Handled,
    ".locks" -> Treatment.Handled,
    ".aux" -> Treatment.Harmless, // of bootstrapped tables, which are refused by a property, and of running writes
    ".index_defs" -> Treatment.Harmless, // of indexes that are in the metadata table
    ".bucket_index" -> Treatment.RefusesWriting, // buckets that are not a hash of the key alone
    ".schema" -> Treatment.RefusesWriting // history of columns; reading depends on its content
  )

  /** Actions on the timeline, by the name of their files; a table with any other action is not written. */
  val actions: Map[String, Treatment] = Action.all.map(action => action.name -> treatment(action)).toMap +
    ("schemacommit" -> Treatment.RefusesWriting) // in .schema

  private def treatment(action: Action): Treatment = action match {
    case Action.Commit | Action.DeltaCommit | Action.ReplaceCommit    => Treatment.Handled
    case Action.Compaction | Action.LogCompaction | Action.Clustering => Treatment.Handled
    case Action.Savepoint | Action.Rollback                           => Treatment.Handled
    case Action.Clean                                                 => Treatment.Harmless
    // While they are pending: a restore removes commits, indexing fills the metadata table, which a write removes.
    case Action.Restore | Action.Indexing => Treatment.RefusesWriting
  }

  private val Buckets = ".hoodie/.bucket_index"
  private val Schemas = ".hoodie/.schema"

  /**
   * Refuses a table whose rows would be read wrongly. Call when a table is opened, after checking its properties.
   *
   * @throws MerganserException TABLE_FEATURE_UNREADABLE, TIMELINE_FILE_UNREADABLE
   */
  def requireReadable(storage: Storage, config: TableConfig, timeline: Timeline): Unit = {
    def refuse(feature: String, reason: String, remedy: String) =
      throw MerganserException("TABLE_FEATURE_UNREADABLE", "path" -> storage, "feature" -> feature, "reason" -> reason,
        "remedy" -> remedy)
    newestHistory(storage) match {
      case Some(file) =>
        renamed(storage, s"$Schemas/$file").foreach { column =>
          refuse(s"its columns have a history (schema on read) in which '$column' is not one and the same column",
            "files are read by the names of columns, so that values would be missing or of another column",
            TableProperties.OtherEngine)
        }
      case None => timeline.latestSchema.foreach { instant =>
          refuse(s"commit $instant refers to a history of its columns (schema on read)", s"there is none in $Schemas",
            s"Restore $Schemas, or use the engine that made the table")
        }
    }
    // From version 8 on, a row that is written meanwhile is stored in the old bucket and in the new one.
    if (config.version >= 8)
      timeline.pending.find(_.action == Action.Clustering).filter(_ => hasBuckets(storage)).foreach { i =>
        refuse(s"its buckets are being split or merged by ${i.requested} (consistent hashing)",
          "rows would be returned twice", "Read it when that clustering has completed")
      }
  }

  /**
   * Refuses a table that a write would corrupt. Call before a write changes anything, under the table lock.
   *
   * @throws MerganserException what [[TableProperties.requireWritable]] throws, TABLE_FEATURE_READ_ONLY,
   *                            SCHEMA_ON_READ_TABLE, METADATA_INDEX_PRESENT
   */
  private[table] def requireWritable(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      permits: Permits
  ): Unit = {
    TableProperties.requireWritable(storage, config, permits.unknownProperties)
    MetadataTable.requireDroppable(storage, config, permits.dropIndexes)
    def refuse(feature: String, reason: String, remedy: String) =
      throw MerganserException("TABLE_FEATURE_READ_ONLY", "path" -> storage, "feature" -> feature, "reason" -> reason,
        "remedy" -> remedy)
    // One listing instead of one for each of the folders, which few tables have.
    val folders             = storage.list(".hoodie").map(_.getPath.getName).toSet
    def has(folder: String) = folders(folder.split('/').last)
    if (has(Buckets) && hasBuckets(storage))
      refuse(s"its buckets are stored in $Buckets (consistent hashing, or numbers of buckets by partition)",
        "buckets are located by the key's hash alone here, so that a key would be stored twice",
        TableProperties.OtherEngine)
    def history = if (has(Schemas)) newestHistory(storage).map(_.takeWhile(_.isDigit)) else None
    timeline.latestSchema.orElse(history).foreach { instant =>
      throw MerganserException("SCHEMA_ON_READ_TABLE", "path" -> storage, "instant" -> instant)
    }
    def pending(action: Action): Option[Instant] = timeline.pending.find(_.action == action)
    pending(Action.Restore).foreach { i =>
      refuse(s"restore ${i.requested} is pending", "it removes commits while they would be written onto",
        "Wait until it has completed, or run it again with the engine that began it")
    }
    if (!permits.dropIndexes) pending(Action.Indexing).foreach { i =>
      refuse(s"indexing ${i.requested} is pending", "it fills the metadata table, which this write would remove",
        s"Wait until it has completed or cancel it; if it is no longer running, set ${Options.DropIndexes.key}=true")
    }
    if (!permits.unknownProperties) timeline.unknownActions.headOption.foreach { name =>
      refuse(s"its timeline has '$name', an unknown action", "it may have changed rows",
        s"Set ${Options.AllowUnknownProperties.key}=true if it has not, or write with the engine that created it")
    }
  }

  private def hasBuckets(storage: Storage): Boolean = storage.list(Buckets).nonEmpty

  /** Name of the newest completed file with all schemas that the table has had, if any. */
  private def newestHistory(storage: Storage): Option[String] =
    storage.list(Schemas).map(_.getPath.getName).filter(_.endsWith(".schemacommit")).sorted.lastOption

  /** A column that was renamed, or that has a name another column had. */
  private def renamed(storage: Storage, file: String): Option[String] =
    try {
      val schemas = new ObjectMapper().readTree(storage.readText(file)).path("schemas").elements().asScala.toSeq
      val columns = schemas.flatMap(columnsOf(_, "")).distinct
      def firstRepeated(by: ((Int, String)) => Any) =
        columns.groupBy(by).values.filter(_.size > 1).flatMap(_.map(_._2)).toSeq.sorted.headOption
      firstRepeated(_._1).orElse(firstRepeated(_._2))
    } catch {
      case NonFatal(e) => throw MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(file),
          "reason" -> String.valueOf(e.getMessage)).causedBy(e)
    }

  /** Ids and full names of columns, nested ones too. */
  private def columnsOf(node: JsonNode, parent: String): Seq[(Int, String)] = {
    def below(child: JsonNode, name: String): Seq[(Int, String)] = if (child.isObject) columnsOf(child, name) else Nil
    val fields = node.path("fields").elements().asScala.toSeq.flatMap { field =>
      val name = parent + field.path("name").asText
      (field.path("id").asInt -> name) +: below(field.path("type"), s"$name.")
    }
    fields ++ below(node.path("element"), s"${parent}element.") ++ below(node.path("key"), s"${parent}key.") ++
      below(node.path("value"), s"${parent}value.")
  }
}
