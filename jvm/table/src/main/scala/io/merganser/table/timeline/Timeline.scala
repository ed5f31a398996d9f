package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import io.merganser.merge.MerganserException
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.file.FileGroupId
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * What happened to a table, as one listing of its timeline saw it.
 *
 * @param instants one for each action, in its furthest state, by requested time
 * @param files    name of the file of each instant and state
 * @param limit    as-of instant: nothing requested later counts
 * @param versions size and time of the completed files, by name
 * @param unknownActions names of files that look like instants of actions that nobody knows
 */
final class Timeline private (
    storage: Storage,
    config: TableConfig,
    val instants: Seq[Instant],
    files: Map[(Instant, InstantState), String],
    limit: Option[String],
    whole: Option[Timeline],
    hasArchive: Boolean,
    versions: Map[String, String],
    private[table] val unknownActions: Seq[String]
) {

  private val read = new ConcurrentHashMap[Instant, CommitMetadata]()

  /** Completed commits, deltacommits and replacecommits, by requested time. */
  val completed: Seq[Instant] = instants.filter(i => i.isCompleted && Action.Writes(i.action))

  /** Whatever has not completed, services included. */
  val pending: Seq[Instant] = instants.filterNot(_.isCompleted)

  /** Writes that have not completed; of layout 1 these hold clusterings too. */
  def pendingWrites: Seq[Instant] = pending.filter(i => Action.Writes(i.action))

  def pendingCompactions: Seq[Instant] = pending.filter(_.action == Action.Compaction)

  /** By completion time where the table has one, else by requested time. */
  def newestCompleted: Option[Instant] = byCompletion.lastOption

  private def byCompletion: Seq[Instant] = completed.sortBy(i => (i.completed.getOrElse(i.requested), i.requested))

  /**
   * Tells of an instant that is named by a file or a log block whether it counts. Serializable, so that tasks can ask.
   *
   * An instant before the first write on the timeline counts as completed: it was archived. In a table that has archived
   * nothing it is of a write that failed, whose task outlived it.
   */
  val completedInstants: CompletedInstants = {
    val begin = if (hasArchive) start else None
    new CompletedInstants(completed.map(_.requested).toSet, pending.map(_.requested).toSet, begin, limit)
  }

  /** Requested time of the first write that was not archived, if any were. */
  private[table] def start: Option[String] = {
    val all         = whole.getOrElse(this).instants
    val writes      = all.filter(i => Action.Writes(Action.completedName(i.action)))
    val savepointed = all.filter(_.action == Action.Savepoint).map(_.requested).toSet
    // Saved instants stay when those around them are archived, so they do not mark where the timeline starts.
    writes.find(i => !savepointed(i.requested)).orElse(writes.headOption).map(_.requested)
  }

  def isCompleted(requested: String): Boolean = completedInstants(requested)

  /** Of an instant on this timeline; none for archived instants and for tables of version 6. */
  def completionTime(requested: String): Option[String] = completionTimes.get(requested)

  private lazy val completionTimes: Map[String, String] =
    completed.flatMap(i => i.completed.map(i.requested -> _)).toMap

  /** Whether the instant is older than everything on the timeline, and so counts as completed and archived. */
  def isArchived(requested: String): Boolean = completedInstants.isArchived(requested)

  /** Every requested and completion time there is: a new one has to be greater. */
  private[table] def times: Iterable[String] = instants.flatMap(i => i.requested +: i.completed.toSeq)

  /** The timeline of a reader who asks for the table as of an instant: by requested time, the instant included. */
  def asOf(instant: String): Timeline = {
    val kept = instants.filter(_.requested <= instant)
    new Timeline(storage, config, kept, files, Some(limit.fold(instant)(l => if (l < instant) l else instant)),
      Some(whole.getOrElse(this)), hasArchive, versions, unknownActions)
  }

  /**
   * What a completed write says of itself; read once.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def metadata(instant: Instant): CommitMetadata = {
    val known = read.get(instant)
    if (known != null) known
    else {
      val metadata = decode(fileName(instant, InstantState.Completed))(CommitMetadata.decode)
      read.put(instant, metadata)
      metadata
    }
  }

  def metadata(requested: String): Option[CommitMetadata] = completed.find(_.requested == requested).map(metadata)

  /**
   * The files that a completed write names, by their names without folders; read once in a process.
   *
   * @return none if the write is not on the timeline any more, or names no file at all: nothing is known of its files then
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def committedFiles(requested: String): Option[Map[String, CommittedFile]] =
    completedByInstant.get(requested).flatMap { instant =>
      val name  = fileName(instant, InstantState.Completed)
      val place = s"$storage/${config.timelineFolder}/$name ${versions.getOrElse(name, "")}"
      CommittedFiles.get(place).orElse {
        val found = Option(read.get(instant)).orElse(storedMetadata(name)).map(CommittedFiles.of)
        found.foreach(CommittedFiles.put(place, _))
        found
      }.filter(_.nonEmpty)
    }

  private lazy val completedByInstant: Map[String, Instant] = completed.map(i => i.requested -> i).toMap

  /** None if the file was archived since the timeline was listed. */
  private def storedMetadata(name: String): Option[CommitMetadata] =
    try Some(decode(name)(CommitMetadata.decode))
    catch {
      case e: MerganserException if e.getCause.isInstanceOf[FileNotFoundException] => None
    }

  /** @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE */
  def compactionPlan(instant: Instant): CompactionPlan =
    decode(fileName(instant, InstantState.Requested))(CompactionPlan.decode)

  /**
   * What a completed rollback deleted.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def rollback(instant: Instant): RollbackMetadata =
    decode(fileName(instant, InstantState.Completed))(RollbackMetadata.decode)

  /**
   * What cleans deleted, and what pending ones are to delete.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def cleans: Seq[Cleaned] = instants.filter(_.action == Action.Clean).flatMap { instant =>
    if (instant.isCompleted) Some(decode(fileName(instant, InstantState.Completed))(Cleaned.ofMetadata))
    else files.get((instant, InstantState.Requested)).map(decode(_)(Cleaned.ofPlan))
  }

  /** File groups under a pending compaction, with its instant. */
  lazy val groupsInCompaction: Map[FileGroupId, String] =
    pendingCompactions.flatMap(instant => compactionPlan(instant).groups.map(_ -> instant.requested)).toMap

  /** File groups under a pending clustering, with its instant: not to be updated. */
  lazy val groupsInClustering: Map[FileGroupId, String] =
    pendingReplaces.flatMap { case (instant, announced) => announced.clusteredGroups.map(_ -> instant.requested) }.toMap

  /** Pending clusterings, whose file does not say so in layout 1. */
  private[table] lazy val pendingClusterings: Set[String] =
    pendingReplaces.collect { case (instant, announced) if announced.isClustering => instant.requested }.toSet

  private lazy val pendingReplaces: Seq[(Instant, RequestedReplace)] =
    pending.filter(i => Action.completedName(i.action) == Action.ReplaceCommit).map { instant =>
      val announced = files.get((instant, InstantState.Requested)).map(decode(_)(RequestedReplace.decode))
      instant -> announced.getOrElse(RequestedReplace(None, Set.empty))
    }

  /** File groups that completed replacecommits took away. */
  lazy val replacedGroups: Set[FileGroupId] =
    completed.filter(_.action == Action.ReplaceCommit).flatMap(metadata(_).replaced).toSet

  /** The first of the replacecommits that took a file group away. */
  private[table] def replacedAt(group: FileGroupId): Option[String] =
    completed.find(i => i.action == Action.ReplaceCommit && metadata(i).replaced(group)).map(_.requested)

  /** The newest write that may change the schema and carries one. */
  private lazy val schemaCommit: Option[(Instant, CommitMetadata)] =
    byCompletion.reverseIterator.map(i => i -> metadata(i)).find { case (_, m) =>
      m.maySetSchema && m.schemaJson.isDefined
    }

  /**
   * Avro JSON of the table's schema, without meta columns: of the newest commit that may change it, else the schema the
   * table was created with. None for a table that has neither; its data files then say it.
   */
  def tableSchemaJson: Option[String] = schemaCommit.flatMap(_._2.schemaJson).orElse(config.createSchema)

  /**
   * Columns that the table was given after it was made: writers from before do not have them. Against the schema that the table was
   * created with, if it keeps one. Else our commits list them; where there is none, against the oldest commit on the timeline.
   */
  lazy val addedColumns: Set[String] = {
    val now = fields(tableSchemaJson)
    def since(metadata: CommitMetadata) =
      now.filterNot(fields(metadata.schemaJson)) ++ metadata.extra.get(Timeline.AddedKey).toSeq.flatMap(_.split(','))
    def oldest = byCompletion.iterator.map(metadata).find(m => m.maySetSchema && m.schemaJson.isDefined)
    def listed = byCompletion.reverseIterator.map(metadata).find(m =>
      m.extra.contains(Timeline.AddedKey) && m.schemaJson.isDefined)
    val added =
      if (config.createSchema.isDefined) now -- fields(config.createSchema)
      else listed.orElse(oldest).fold(Set.empty[String])(since(_).toSet)
    added.intersect(now)
  }

  /** What a commit says so that [[addedColumns]] stays known, also when older commits are archived. */
  def listAdded(columns: StructType): Map[String, String] =
    if (config.createSchema.isDefined) Map.empty
    else {
      val before = fields(tableSchemaJson)
      Map(
        Timeline.AddedKey -> columns.fieldNames.filter(n => before.nonEmpty && (addedColumns(n) || !before(n))).mkString(
          ","))
    }

  private def fields(json: Option[String]): Set[String] =
    json.toSeq.flatMap(text => AvroSchemas.parse(text).getFields.asScala.map(_.name)).toSet

  /** Requested time of the commit of the schema, if it refers to a history of the columns (schema on read). */
  private[table] def latestSchema: Option[String] =
    schemaCommit.filter(_._2.extra.get("latest_schema").exists(_.nonEmpty)).map(_._1.requested)

  private[table] def find(requested: String, action: String): Option[Instant] =
    instants.find(i => i.requested == requested && Action.completedName(i.action) == Action.completedName(action))

  private[table] def hasFile(instant: Instant, state: InstantState): Boolean = files.contains((instant, state))

  /** Names of all files that tell of instants. */
  private[table] def fileNames: Seq[String] = files.values.toSeq

  private[table] def nameOf(instant: Instant, state: InstantState): String = fileName(instant, state)

  /** What the files of an instant hold, one for each state that has one. */
  private[table] def contents(instant: Instant): Seq[(InstantState, Array[Byte])] =
    files.toSeq.collect { case ((`instant`, state), name) => state -> storage.read(s"${config.timelineFolder}/$name") }

  private def fileName(instant: Instant, state: InstantState): String =
    files.getOrElse((instant, state),
      throw new IllegalStateException(s"no ${state.name} file of $instant on the timeline of $storage"))

  private def decode[T](name: String)(decode: Array[Byte] => T): T = {
    val file = s"${config.timelineFolder}/$name"
    def unreadable(reason: String) =
      MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(file), "reason" -> reason)
    val bytes =
      try storage.read(file)
      catch { case e: FileNotFoundException => throw unreadable("it was removed while the table was read").causedBy(e) }
    try decode(bytes)
    catch { case NonFatal(e) => throw unreadable(String.valueOf(e.getMessage)).causedBy(e) }
  }
}

object Timeline {

  /** Under this key the extra metadata of our commits lists the columns that the table was given after it was made. */
  val AddedKey = "merganser.columns.added"

  /** One listing of the timeline's folder. A table without the folder has an empty timeline. */
  def load(storage: Storage, config: TableConfig): Timeline = {
    val listed = storage.list(config.timelineFolder).filter(_.isFile)
    val found = listed.flatMap { status =>
      InstantFile.parse(status.getPath.getName).map { instant =>
        // A completed file of layout 1 in a table of layout 2: its own time is the best there is.
        val completed =
          if (instant.isCompleted && instant.completed.isEmpty && config.layoutVersion >= 2)
            Some(InstantTime.format(status.getModificationTime, config.timelineZone))
          else instant.completed
        instant.copy(completed = completed) -> status
      }
    }
    val byAction = found.groupBy { case (instant, _) => (instant.requested, Action.completedName(instant.action)) }
    val furthest = byAction.values.map { states =>
      val instant = states.map(_._1).maxBy(i => (i.state.rank, i.completed))
      instant -> states.map { case (state, status) => (instant, state.state) -> status.getPath.getName }
    }.toSeq
    val versions = found.collect {
      case (instant, status) if instant.isCompleted =>
        status.getPath.getName -> s"${status.getLen} ${status.getModificationTime}"
    }
    new Timeline(storage, config, furthest.map(_._1).sortBy(i => (i.requested, i.action)), furthest.flatMap(_._2).toMap,
      None, None,
      mayHaveArchived(storage, config), versions.toMap,
      listed.map(_.getPath.getName).filter(InstantFile.isUnknown).sorted)
  }

  /** A table that was made in layout 2 archives into its history folder alone; others may have done so elsewhere before. */
  private def mayHaveArchived(storage: Storage, config: TableConfig): Boolean =
    !config.isMadeInLayout2 || storage.list(config.historyFolder).exists(_.isFile)
}

/** Which instants count, to carry into tasks. */
final class CompletedInstants private[timeline] (
    completed: Set[String],
    pending: Set[String],
    start: Option[String],
    limit: Option[String]
) extends (String => Boolean) with Serializable {

  override def apply(requested: String): Boolean =
    completed(requested) || (isArchived(requested) && limit.forall(requested <= _))

  def isArchived(requested: String): Boolean =
    start.exists(requested < _) && !pending(requested) && !completed(requested)
}
