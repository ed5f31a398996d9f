package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.properties.{PartitionKind, TableConfig}
import io.merganser.table.rule.{RecordedRule, StoredRule}
import io.merganser.table.schema.{DroppedColumns, FrameCheck}
import io.merganser.table.slice.TableView
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{InstantFile, Timeline}
import org.apache.spark.sql.types.StructType

/** Refuses properties that contradict what is stored: with them rows would be missing, or keys stored twice. */
object PropertiesCheck {

  /** Commits that are searched. */
  private val Newest = 16

  /**
   * @throws MerganserException PROPERTIES_CONTRADICT_DATA, MERGE_RULE_UNAVAILABLE, RECORD_KEY_COLUMN_MISSING,
   *                            PARTITION_COLUMN_MISSING, ORDERING_FIELD_MISSING
   */
  def require(storage: Storage, config: TableConfig): Unit = {
    requireLayout(storage, config)
    requireRule(config)
    val timeline = Timeline.load(storage, config)
    val view     = new TableView(storage, config, timeline)
    if (!config.isMergeOnRead) view.slices.find(_.logs.nonEmpty).foreach { slice =>
      throw refused(storage, "hoodie.table.type", config.tableType.name,
        s"file group '${slice.fileId}' of partition '${slice.partitionPath}' has log files, which a merge-on-read " +
          "table has")
    }
    timeline.tableColumns.foreach(requireColumns(config, _))
    requirePaths(storage, config, view.partitions)
  }

  /**
   * How the merge mode or the ordering fields contradict the newest commit that records them: those of Merganser do.
   */
  def ruleContradiction(storage: Storage, config: TableConfig): Option[MerganserException] = {
    val timeline = Timeline.load(storage, config)
    if (timeline.completed.lastOption.exists(i => config.ruleSince.exists(i.requested <= _))) None
    else RecordedRule.contradiction(config, timeline.newestFirst().take(Newest).map(_.extra)).map {
      case (key, value, recorded) =>
        refused(storage, key, value, s"the newest commit of the table was written with $recorded")
    }
  }

  /** Where the instants of the table are. */
  private def requireLayout(storage: Storage, config: TableConfig): Unit = {
    def instants(folder: String) = storage.list(folder).filter(_.isFile).map(_.getPath.getName).count(name =>
      InstantFile.parse(name).isDefined)
    val own = instants(config.timelineFolder)
    val (key, value) =
      if (config.layoutVersion >= 2) ("hoodie.timeline.path", config.timelineFolder.split('/').last)
      else ("hoodie.timeline.layout.version", "1")
    val other = if (config.layoutVersion >= 2) ".hoodie" else ".hoodie/timeline"
    if ((config.version >= 8) != (config.layoutVersion >= 2))
      throw refused(storage, "hoodie.timeline.layout.version", config.layoutVersion.toString,
        s"version ${config.version} has layout ${if (config.version >= 8) 2 else 1}")
    if (own == 0 && other != config.timelineFolder && instants(other) > 0)
      throw refused(storage, key, value,
        s"there is no instant in ${storage.path(config.timelineFolder)}, but in ${storage.path(other)}")
  }

  /** The classes of users' mergers are known to writes alone. */
  private def requireRule(config: TableConfig): Unit =
    try { StoredRule.of(config, Nil); () }
    catch {
      case e: MerganserException if Set("MERGER_UNAVAILABLE", "PAYLOAD_UNAVAILABLE")(e.condition) => ()
    }

  private def requireColumns(config: TableConfig, stored: StructType): Unit =
    FrameCheck.requireColumns(DroppedColumns.added(config, stored), config.name, "repair", config.recordKeyFields,
      config.partitionFields, config.orderingFields)

  private def requirePaths(storage: Storage, config: TableConfig, partitions: Seq[String]): Unit = {
    val fields = config.partitionSpec
    def refuse(path: String, reason: String) = throw refused(storage, "hoodie.table.partition.fields",
      fields.map(_.name).mkString(","), s"partition '$path' $reason")
    if (fields.isEmpty) partitions.find(_.nonEmpty).foreach(refuse(_, "is there"))
    else {
      partitions.find(_.isEmpty).foreach(_ => refuse("", "has rows: the table has no partitions"))
      // Times and values with slashes of their own have any number of levels.
      if (fields.forall(_.kind == PartitionKind.Simple) && !config.hasSlashedDates) {
        val prefixes = if (config.hiveStyle) fields.map(field => s"${field.name}=") else fields.map(_ => "")
        partitions.foreach { path =>
          val levels = path.split('/').toSeq
          if (levels.size < fields.size) refuse(path, s"has ${levels.size} levels")
          if (config.hiveStyle && levels.size == prefixes.size)
            for ((level, prefix) <- levels.zip(prefixes) if !level.startsWith(prefix))
              throw refused(storage, "hoodie.datasource.write.hive_style_partitioning", "true",
                s"partition '$path' does not begin its levels with names of columns")
        }
      }
    }
  }

  def refused(storage: Storage, key: String, value: String, reason: String): MerganserException =
    MerganserException("PROPERTIES_CONTRADICT_DATA", "path" -> storage, "key" -> key, "value" -> value,
      "reason" -> reason)
}
