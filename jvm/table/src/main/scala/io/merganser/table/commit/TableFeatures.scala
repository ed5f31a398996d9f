package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.options.{BucketLayout, Options, Permits}
import io.merganser.table.properties.{TableConfig, TableProperties, Treatment}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, HistoryFiles, Instant, Timeline}

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
    ".bucket_index" -> Treatment.Handled, // buckets that are not a hash of the key alone, see BucketMetadata
    ".schema" -> Treatment.Handled // versions of the columns
  )

  /** Actions on the timeline, by the name of their files; a table with any other action is not written. */
  val actions: Map[String, Treatment] = Action.all.map(action => action.name -> treatment(action)).toMap +
    ("schemacommit" -> Treatment.Handled) // in .schema

  private def treatment(action: Action): Treatment = action match {
    case Action.Commit | Action.DeltaCommit | Action.ReplaceCommit    => Treatment.Handled
    case Action.Compaction | Action.LogCompaction | Action.Clustering => Treatment.Handled
    case Action.Savepoint | Action.Rollback | Action.Clean            => Treatment.Handled
    case Action.Archive                                               => Treatment.Handled // has no file here
    // While they are pending: a restore removes commits, indexing fills the metadata table, which a write removes.
    case Action.Restore | Action.Indexing => Treatment.RefusesWriting
  }

  private val Buckets = BucketMetadata.Folder

  /**
   * Refuses a table whose rows would be read wrongly. Call when a table is opened, after checking its properties.
   *
   * @throws MerganserException TABLE_FEATURE_UNREADABLE, TIMELINE_FILE_UNREADABLE
   */
  def requireReadable(storage: Storage, timeline: Timeline): Unit =
    if (timeline.history.isEmpty) requireNoVersions(storage, timeline)

  /**
   * Refuses a table that a write would corrupt. Call before a write changes anything, under the table lock.
   *
   * @param finishesRestore whether the caller finishes restores and rollbacks of ours that stopped
   * @param listed          the names in the table's folder, if it was listed under the lock
   * @throws MerganserException what [[TableProperties.requireWritable]] throws, TABLE_FEATURE_READ_ONLY,
   *                            TABLE_FEATURE_UNREADABLE, METADATA_INDEX_PRESENT, METADATA_TABLE_PRESENT
   */
  private[table] def requireWritable(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      permits: Permits,
      finishesRestore: Boolean = false,
      listed: Option[Set[String]] = None
  ): Unit = {
    TableProperties.requireWritable(storage, config, permits.unknownProperties)
    MetadataTable.requireDroppable(storage, config, permits)
    def refuse(feature: String, reason: String, remedy: String) =
      throw MerganserException("TABLE_FEATURE_READ_ONLY", "path" -> storage, "feature" -> feature, "reason" -> reason,
        "remedy" -> remedy)
    if (timeline.latestSchema.isDefined && timeline.history.isEmpty) requireNoVersions(storage, timeline)
    // One listing instead of one for each of the folders, which few tables have.
    val folders             = listed.getOrElse(TableFolder.names(storage))
    def has(folder: String) = folders(folder.split('/').last)
    if (has(Buckets)) {
      BucketMetadata.stored(storage, timeline).filterNot(found => isStored(found.layout, config)).foreach { _ =>
        refuse(s"its buckets are stored in $Buckets (consistent hashing, or numbers of buckets by partition)",
          s"its properties store an index without buckets, so a key would be stored twice",
          TableProperties.OtherEngine)
      }
      if (BucketMetadata.hasRings(storage)) timeline.pendingClusterings.headOption.foreach { instant =>
        refuse(s"its buckets are being split or merged by $instant (consistent hashing)",
          "a row would have to be written to the old bucket and to the new one",
          "Write when that clustering has completed, or use the engine that planned it")
      }
    }
    def pending(action: Action): Option[Instant] = timeline.pending.find(_.action == action)
    val unfinished                               = timeline.unfinished
    if (!finishesRestore) unfinished.headOption.foreach { found =>
      refuse(s"${found.instant.action} ${found.instant.requested} has not completed",
        "it takes back commits on which the write would be based", s"Run ${found.remedy}, which finishes it")
    }
    timeline.pending.find(i => i.action == Action.Restore && !unfinished.exists(_.instant == i)).foreach { i =>
      refuse(s"restore ${i.requested} is pending", "it removes commits on which the write would be based",
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

  /** Whether the properties, if they store an index, store this layout of buckets; rules may have changed since. */
  private def isStored(layout: BucketLayout, config: TableConfig): Boolean = {
    def has(key: String, value: String => Boolean) = config.properties.get(key).exists(value)
    !config.properties.contains(Options.IndexTypeOption.key) || (layout match {
      case BucketLayout.Rings          => has(Options.BucketEngine.key, _ == "CONSISTENT_HASHING")
      case BucketLayout.ByPartition(_) => has(Options.BucketExpressions.key, _ => true)
      case BucketLayout.Fixed          => true
    })
  }

  /** Refuses a table whose newest commit refers to versions of its columns that are not there. */
  private def requireNoVersions(storage: Storage, timeline: Timeline): Unit = timeline.latestSchema.foreach { instant =>
    throw MerganserException("TABLE_FEATURE_UNREADABLE", "path" -> storage,
      "feature" -> s"commit $instant refers to a history of column versions (schema on read)",
      "reason" -> s"that history is missing in ${HistoryFiles.Folder}",
      "remedy" -> s"Restore ${HistoryFiles.Folder}, or use the engine that made the table")
  }
}
