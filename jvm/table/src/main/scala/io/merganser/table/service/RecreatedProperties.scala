package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileNames, PartitionMetadata}
import io.merganser.table.options.{Names, OptionEntry, Options}
import io.merganser.table.properties.{TableConfig, TableProperties}
import io.merganser.table.settings.NewTable
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, InstantFile, Timeline}
import org.apache.spark.sql.types.StructType

/**
 * The properties of a table that has lost them: those of a new table with the columns of its newest commit. What its
 * files show is inferred: the type, and for version 6 the version. All else that differs from a new table's defaults
 * must be named.
 */
object RecreatedProperties {

  /**
   * @param named by the names of table properties or of write options
   * @throws MerganserException PATH_IS_NO_TABLE if there is no commit either, PROPERTY_REQUIRED, and what
   *                            [[NewTable.properties]] throws
   */
  def of(storage: Storage, named: Map[String, String], sessionConf: Map[String, String]): Map[String, String] = {
    val inTimeline = hasInstants(storage, NewFolder)
    if (!inTimeline && !hasInstants(storage, ".hoodie")) throw MerganserException("PATH_IS_NO_TABLE", "path" -> storage)
    def required(entry: OptionEntry, reason: String): Unit = if (!isNamed(named, entry))
      throw MerganserException("PROPERTY_REQUIRED", "path" -> storage,
        "key" -> entry.names.lift(1).getOrElse(entry.key),
        "reason" -> reason)
    if (inTimeline) required(Options.TableVersion, "versions 8 and 9 have the same files")
    required(Options.RecordKey, "files do not show which columns are the record key")
    val version  = if (inTimeline) "" else "6"
    val timeline = load(storage, inTimeline)
    val columns  = schema(storage, timeline)
    val hasPaths = storage.list("").exists(f => f.isDirectory && isPartitionFolder(f.getPath.getName))
    val isRoot   = storage.list("").exists(f => PartitionMetadata.isMetadata(f.getPath.getName))
    if (hasPaths && !isRoot) required(Options.PartitionFields, "the table has partitions")
    val inferred = Seq(
      Options.TableVersion -> version,
      Options.TableTypeOption -> (if (hasDeltas(timeline) || hasLogs(storage, "")) "MERGE_ON_READ"
                                  else "COPY_ON_WRITE")
    ).filter { case (entry, value) => value.nonEmpty && !isNamed(named, entry) }.map { case (e, v) => e.key -> v }
    // What is stored as it is named, such as a setting of paths that no option has.
    val (stored, options) = named.partition { case (key, _) =>
      !Options.byName.contains(Names.lower(key)) && TableProperties.of(key).isDefined
    }
    val isUpgraded = inTimeline && (storage.list(".hoodie/archived").nonEmpty || hasSharedLogs(timeline))
    val initial    = if (isUpgraded) Map(InitialVersion -> "6") else Map.empty
    NewTable.properties(options ++ inferred, columns, storage.basePath.getName, sessionConf = sessionConf) ++
      initial ++ stored
  }

  /** Of a table that was upgraded, as what it archived before shows, or its commits of then. */
  private val InitialVersion = "hoodie.table.initial.version"

  private val NewFolder = ".hoodie/timeline"

  private def isNamed(named: Map[String, String], entry: OptionEntry): Boolean =
    named.keys.exists(key => entry.names.exists(_.equalsIgnoreCase(key)))

  private def hasInstants(storage: Storage, folder: String): Boolean =
    storage.list(folder).exists(f => f.isFile && InstantFile.parse(f.getPath.getName).exists(_.action.isWrite))

  private def hasDeltas(timeline: Timeline): Boolean =
    timeline.instants.exists(_.action.whenCompleted == Action.DeltaCommit)

  /** Whether a write has appended to logs that are named after their slice, as in version 6. */
  private def hasSharedLogs(timeline: Timeline): Boolean = {
    val deltas = timeline.completed.iterator.filter(_.action == Action.DeltaCommit)
    timeline.metadataOf(deltas, Int.MaxValue).exists { case (delta, metadata) =>
      metadata.allStats.exists(stat =>
        stat.isLogFile && FileNames.instant(stat.fileName).exists(i => i != delta.requested && !timeline.isReplace(i)))
    }
  }

  private def load(storage: Storage, inTimeline: Boolean): Timeline = {
    val (version, layout) = if (inTimeline) ("9", "2") else ("6", "1")
    val config = TableConfig(Map("hoodie.table.name" -> storage.basePath.getName, "hoodie.table.version" -> version,
        "hoodie.timeline.layout.version" -> layout))
    Timeline.load(storage, config)
  }

  private def schema(storage: Storage, timeline: Timeline): StructType = timeline.tableColumns.getOrElse(
    throw MerganserException("PROPERTY_REQUIRED", "path" -> storage, "key" -> "hoodie.table.create.schema",
      "reason" -> "no commit has the table's columns"))

  private def isPartitionFolder(name: String): Boolean = PartitionMetadata.mayContainPartitions(name)

  private def hasLogs(storage: Storage, folder: String): Boolean = {
    val (folders, files) = storage.list(folder).partition(_.isDirectory)
    files.exists(f => FileNames.isLog(f.getPath.getName)) ||
    folders.map(_.getPath.getName).filter(isPartitionFolder).exists(name =>
      hasLogs(storage, FileNames.path(folder, name)))
  }
}
