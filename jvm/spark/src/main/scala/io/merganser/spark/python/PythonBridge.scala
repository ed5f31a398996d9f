package io.merganser.spark.python

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.{
  ArchiveService,
  CleaningService,
  CompactionResult,
  CompactionService,
  SavepointService
}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.TableNames
import io.merganser.spark.sql.DeferredStatements
import io.merganser.spark.sql.procedures.CreateTable
import io.merganser.spark.write.{Counts, TableWrite, WriteNotes, WriteResult}
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.rule.MergeMode
import io.merganser.table.service.Savepoint
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, InstantTime}
import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.types.{DataType, StructType}

import java.time.temporal.ChronoUnit
import scala.collection.JavaConverters._

/** Entry point of the Python package: one method for each of its calls. Results and options are JSON. */
object PythonBridge {
  private val mapper = new ObjectMapper

  /** Whether the session has our extension: its settings may name it although its jar was added too late. */
  def hasExtension(session: SparkSession): Boolean =
    session.sessionState.analyzer.extendedResolutionRules.exists(_.isInstanceOf[DeferredStatements.Release])

  /** Creates an empty table at a path; returns its description. */
  def create(session: SparkSession, path: String, schemaJson: String, optionsJson: String): String = {
    val place = OpenTable.absolute(session, path)
    CreateTable.create(session, place, DataType.fromJson(schemaJson).asInstanceOf[StructType], optionsOf(optionsJson))
    describe(session, place)
  }

  /** Name, path, settings and columns of a table, by its path or name. */
  def describe(session: SparkSession, pathOrName: String): String = {
    val path   = TableNames.pathOf(session, pathOrName)
    val table  = OpenTable.load(session, path)
    val config = table.config
    val node   = mapper.createObjectNode()
    node.put("name", config.name).put("path", path).put("type", config.tableType.name).put("version", config.version)
    names(node, "recordKeyFields", config.recordKeyFields)
    names(node, "partitionFields", config.partitionFields)
    names(node, "orderingFields", config.orderingFields)
    node.put("mergeMode", MergeMode.of(config).name)
    node.put("index", IndexResolver.nameOf(table).orNull)
    node.put("schema", table.schema.json)
    node.toString
  }

  /** Writes a frame by the operation; returns what the commit changed. */
  def write(
      session: SparkSession,
      path: String,
      frame: Dataset[Row],
      operation: String,
      optionsJson: String
  ): String = {
    val options = optionsOf(optionsJson) + ("hoodie.datasource.write.operation" -> operation)
    resultOf(FrameWrite.append(session, OpenTable.load(session, path), options, frame)).toString
  }

  /** @param op schedule, run or scheduleandexecute */
  def compact(session: SparkSession, path: String, op: String, optionsJson: String): String = {
    val settings =
      WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), OpenTable.load(session, path).config)
    val result = op match {
      case "schedule"           => CompactionResult(CompactionService.schedule(session, path, settings), 0, 0, 0, 0, 0)
      case "run"                => CompactionService.run(session, path, settings)
      case "scheduleandexecute" => CompactionService.scheduleAndRun(session, path, settings)
      case other                => throw new IllegalStateException(s"compaction op '$other'")
    }
    val node = mapper.createObjectNode()
    names(node, "left", result.skipped.map(l => s"${l.instant}: ${l.reason}"))
    node
      .put("instant", result.instant.orNull)
      .put("filesWritten", result.filesWritten)
      .put("rowsWritten", result.rowsWritten)
      .put("bytesWritten", result.bytesWritten)
      .put("logFilesCompacted", result.logFilesCompacted)
      .put("elapsedMs", result.elapsedMs)
      .toString
  }

  /** @param dryRun lists what would be deleted, and changes nothing */
  def clean(session: SparkSession, path: String, dryRun: Boolean, optionsJson: String): String = {
    val settings =
      WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), OpenTable.load(session, path).config)
    val array = mapper.createArrayNode()
    if (dryRun) {
      val preview = CleaningService.preview(session, path, settings)
      val node    = array.addObject().putNull("startCleanTime").putNull("timeTakenInMillis")
      node.put("totalFilesDeleted", preview.files.size).put("totalBytesDeleted", preview.files.map(_.sizeBytes).sum)
      node.put("earliestCommitToRetain", preview.earliest.orNull)
      names(node, "partitionsDeleted", preview.partitions)
      val files = node.putArray("files")
      preview.files.foreach(f => files.addObject().put("path", f.path).put("size", f.sizeBytes))
    } else CleaningService.run(session, path, settings).foreach { done =>
      val node = array.addObject().put("startCleanTime", done.instant).put("timeTakenInMillis", done.elapsedMs)
      node.put("totalFilesDeleted", done.filesDeleted).put("totalBytesDeleted", done.bytesDeleted)
      node.put("earliestCommitToRetain", done.earliest.orNull)
      names(node, "partitionsDeleted", done.partitionsRemoved)
      node.putNull("files")
    }
    array.toString
  }

  /**
   * Moves old instants from the timeline to its history.
   *
   * @param min completed writes that stay, and `max`, above which others are moved; null: as configured
   */
  def archive(session: SparkSession, path: String, min: Integer, max: Integer, optionsJson: String): String = {
    val started = System.nanoTime()
    val settings =
      WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), OpenTable.load(session, path).config)
    val done = ArchiveService.run(session, path, settings,
      _.keeping(Option(min).map(_.intValue), Option(max).map(_.intValue), retained = None))
    mapper.createObjectNode()
      .put("instants", done.instants)
      .put("first", done.first.orNull)
      .put("last", done.last.orNull)
      .put("remaining", done.remaining)
      .put("elapsedMs", (System.nanoTime() - started) / 1000000L)
      .toString
  }

  /** @param instant requested time of a write; null: the newest */
  def createSavepoint(
      session: SparkSession,
      path: String,
      instant: String,
      user: String,
      comments: String,
      optionsJson: String
  ): String = {
    val (table, settings) = opened(session, path, optionsJson)
    savepoint(mapper.createObjectNode(), SavepointService.of(table, settings).create(Option(instant), user, comments))
      .toString
  }

  /** @param instant requested time of the write of a savepoint; null: the newest savepoint */
  def deleteSavepoint(session: SparkSession, path: String, instant: String, optionsJson: String): String = {
    val (table, settings) = opened(session, path, optionsJson)
    mapper.createObjectNode().put("savepointTime", SavepointService.of(table, settings).delete(Option(instant)))
      .toString
  }

  /** The completed savepoints, newest first. */
  def savepoints(session: SparkSession, path: String): String = {
    val array = mapper.createArrayNode()
    SavepointService.of(OpenTable.load(session, path)).all.foreach(s => savepoint(array.addObject(), s))
    array.toString
  }

  private def savepoint(node: ObjectNode, s: Savepoint): ObjectNode =
    node.put("savepointTime", s.instant).put("savepointedBy", s.metadata.createdBy).put("savepointedAt",
      s.metadata.createdAtMs).put("comments", s.metadata.comments).put("files", s.files)

  private def opened(session: SparkSession, path: String, optionsJson: String): (OpenTable, WriteConfig) = {
    val table = OpenTable.load(session, path)
    (table, WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), table.config))
  }

  /** Every instant on the timeline, oldest first, with the counts of our commits. */
  def history(session: SparkSession, path: String): String = {
    val timeline = OpenTable.load(session, path).timeline
    val array    = mapper.createArrayNode()
    val writes   = timeline.completed.toSet
    val metadata = timeline.metadataOf(timeline.instants.iterator.filter(writes), most = Int.MaxValue)
    timeline.instants.foreach { instant =>
      val node = array.addObject()
      node.put("instant", instant.requested).put("completed", instant.completed.orNull)
      node.put("action", instant.action.name).put("state", instant.state.shown)
      if (writes(instant)) describeCommit(node, metadata.next()._2)
      else {
        node.putNull("operation")
        if (instant.action == Action.Clean && instant.isCompleted)
          timeline.cleanMetadata(instant).foreach(done => node.put("filesDeleted", done.filesDeleted))
      }
      elapsedMs(instant).foreach(node.put("elapsedMs", _))
    }
    array.toString
  }

  /** The newest slice of every file group. */
  def fileSlices(session: SparkSession, path: String): String = {
    val array = mapper.createArrayNode()
    OpenTable.load(session, path).view.slices.foreach { slice =>
      val node = array.addObject()
      node.put("partitionPath", slice.partitionPath).put("fileId", slice.fileId).put("baseInstant", slice.baseInstant)
      node.put("baseFile", slice.base.map(_.name).orNull)
      slice.base.fold(node.putNull("baseSizeBytes"))(b => node.put("baseSizeBytes", b.sizeBytes))
      val logs = node.putArray("logFiles")
      slice.logs.foreach(l => logs.addObject().put("name", l.name).put("sizeBytes", l.sizeBytes))
    }
    array.toString
  }

  private def describeCommit(node: ObjectNode, metadata: CommitMetadata): Unit = {
    node.put("operation", metadata.operationType.name)
    metadata.extra.get(TableWrite.CountsKey).foreach { json =>
      mapper.readTree(json).fields().asScala.foreach(e => node.put(e.getKey, e.getValue.asLong))
    }
    node.put("filesWritten", metadata.allStats.size)
    node.put("rowsWritten", metadata.allStats.map(_.numWrites).sum)
    node.put("bytesWritten", metadata.allStats.map(_.totalWriteBytes).sum)
    ()
  }

  /** Milliseconds from the request of an action to its completion. */
  private def elapsedMs(instant: Instant): Option[Long] = for {
    requested <- InstantTime.parse(instant.requested)
    completed <- instant.completed.flatMap(InstantTime.parse)
  } yield ChronoUnit.MILLIS.between(requested, completed)

  private def resultOf(result: WriteResult): ObjectNode = {
    val node = mapper.createObjectNode().put("instant", result.instant).put("operation", result.operation.name)
    Counts.fields(result.counts).foreach { case (name, value) => node.put(name, value) }
    node.put("filesWritten", result.filesWritten).put("rowsWritten", result.rowsWritten)
    node.put("bytesWritten", result.bytesWritten).put("elapsedMs", result.elapsedMs)
    WriteNotes.lists(result.notes).foreach { case (name, values) => names(node, name, values) }
    node.put("serviceFailure", result.notes.serviceFailure.orNull)
    node.put("retries", result.notes.retries).put("isRepetition", result.notes.isRepetition)
  }

  private def names(node: ObjectNode, field: String, values: Seq[String]): Unit = {
    val array = node.putArray(field)
    values.foreach(array.add)
  }

  private def optionsOf(json: String): Map[String, String] =
    if (json == null || json.isEmpty) Map.empty
    else mapper.readTree(json).fields().asScala.map(e => e.getKey -> e.getValue.asText).toMap
}
