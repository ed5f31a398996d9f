package io.merganser.spark.python

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.merge.MerganserException
import io.merganser.spark.frame.{EmptyTable, FrameWrite}
import io.merganser.spark.service.{
  ArchiveService,
  BackgroundServices,
  CleaningService,
  ClusteringResult,
  ClusteringService,
  CompactionResult,
  CompactionService,
  LogCompactionService,
  RestoreService,
  SavepointService,
  ServiceStatus
}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.{NamedTables, TableNames}
import io.merganser.spark.sql.DeferredStatements
import io.merganser.spark.sql.procedures.{
  ApplySourceChanges,
  BoundStatement,
  ClusteringArguments,
  CreateTableForChanges,
  DryRunOf,
  History,
  RunStatement
}
import io.merganser.spark.write.{Counts, DryRun, WriteNotes, WriteResult}
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.options.{LayoutStrategy, OptionKind}
import io.merganser.table.rule.MergeMode
import io.merganser.table.service.{RestoreReport, Savepoint}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.storage.Progress
import org.apache.spark.sql.{Column, Dataset, Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{DataType, StructType}

import java.util
import scala.collection.JavaConverters._
import scala.util.Try

/** Entry point of the Python package: one method for each of its calls. Results and options are JSON. */
object PythonBridge {
  private val mapper = new ObjectMapper

  /** Whether the session has our extension: its settings may name it although its jar was added too late. */
  def hasExtension(session: SparkSession): Boolean =
    session.sessionState.analyzer.extendedResolutionRules.exists(_.isInstanceOf[DeferredStatements.Release])

  /** Numbers the calls that this thread makes from now on, for [[progress]]. */
  def caller(): Long = Progress.newCaller()

  /** The step that a call of a caller is at, such as "delete files: 120 of 3000"; empty if it has none now. */
  def progress(caller: Long): String = Progress.current(caller).lastOption.fold("")(_.toString)

  /** Creates an empty table at a path; returns its description. */
  def create(session: SparkSession, path: String, schemaJson: String, optionsJson: String): String = active(session) {
    val place = OpenTable.absolute(session, path)
    EmptyTable.create(session, place, DataType.fromJson(schemaJson).asInstanceOf[StructType], optionsOf(optionsJson))
    describe(session, place)
  }

  /** Name, path, settings and columns of a table, by its path or name. */
  def describe(session: SparkSession, pathOrName: String): String = active(session) {
    val path   = TableNames.pathOf(session, pathOrName)
    val table  = OpenTable.load(session, path)
    val config = table.config
    val node   = mapper.createObjectNode()
    node.put("name", config.name).put("path", path).put("type", config.tableType.name).put("version", config.version)
    names(node, "recordKeyFields", config.recordKeyFields)
    names(node, "partitionFields", config.partitionFields)
    names(node, "orderingFields", config.orderingFields)
    node.put("mergeMode", MergeMode.of(config).name)
    node.put("mergeRule", config.rule.map(_.text).orNull)
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
  ): String = active(session) {
    val options = WriteConfig.ofCall(optionsOf(optionsJson), operation)
    val table   = OpenTable.load(session, path)
    ProgramCall(session, s"$operation into ${table.config.name}") {
      resultOf(FrameWrite.append(session, table, options, frame)).toString
    }
  }

  /**
   * The SQL text of a column's expression; no setting of the parser changes the strings in it.
   *
   * @throws MerganserException COLUMN_WITHOUT_SQL for a function that SQL does not know
   */
  def sqlOf(session: SparkSession, column: Column): String = active(session) {
    val text   = BoundStatement.text(expression(column))
    val parses = Try(session.sessionState.sqlParser.parseExpression(text)).isSuccess
    if (!parses) throw withoutSql(text)
    text
  }

  private def expression(column: Column): Expression = {
    val found = BoundStatement.expression(column)
    if (found.exists(_.isInstanceOf[UserDefinedExpression])) throw withoutSql(found.sql)
    found
  }

  private def withoutSql(column: String) = MerganserException("COLUMN_WITHOUT_SQL", "column" -> column)

  /**
   * Runs a statement; returns its row, or an object without fields if it returns none.
   *
   * @param columns   by the word that the text has in the place of each
   * @param namesJson names of tables and columns as SQL, by the word that the text has in the place of each
   * @throws MerganserException COLUMN_WITHOUT_SQL for a function of Python
   */
  def statement(
      session: SparkSession,
      text: String,
      columns: util.Map[String, Column],
      namesJson: String,
      optionsJson: String
  ): String = active(session) {
    val prepared = bound(text, columns, namesJson)
    val settings = optionsOf(optionsJson)
    if (settings.isEmpty) {
      val result = prepared.run(session)
      result.collect().headOption.fold(mapper.createObjectNode())(ProcedureRows.node(_, result.schema)).toString
    } else
      ProgramCall(session, s"call ${RunStatement.name}", ProcedureRows.counts(RunStatement.name)) {
        ProcedureRows.node(RunStatement.rowOf(session, prepared, settings), RunStatement.result).toString
      }
  }

  /**
   * What a statement would do: the rows of `CALL dry_run`.
   *
   * @param rows most rows to show; null: as configured
   */
  def preview(
      session: SparkSession,
      text: String,
      columns: util.Map[String, Column],
      namesJson: String,
      rows: Integer,
      optionsJson: String
  ): String = active(session) {
    val array = mapper.createArrayNode()
    DryRunOf.rowsOf(session, bound(text, columns, namesJson), Option(rows).map(_.intValue), optionsOf(optionsJson))
      .foreach(row => array.add(ProcedureRows.node(row, DryRunOf.result)))
    array.toString
  }

  private def bound(text: String, columns: util.Map[String, Column], namesJson: String): BoundStatement =
    BoundStatement(text, columns.asScala.map { case (word, column) => word -> expression(column) }.toMap,
      optionsOf(namesJson))

  /** Creates a temporary view of a frame in the session, whichever session the frame is from. */
  def view(session: SparkSession, name: String, frame: Dataset[Row]): String = active(session) {
    SparkBridge.ofRows(session, frame.queryExecution.analyzed).createOrReplaceTempView(name)
    "{}"
  }

  /**
   * Creates an empty table with a name, as CREATE TABLE does.
   *
   * @param partitions as in PARTITIONED BY; empty for none
   * @param path       folder of the table; null: that of the catalog
   */
  def createNamed(
      session: SparkSession,
      name: String,
      schemaJson: String,
      partitions: String,
      path: String,
      ifNotExists: Boolean,
      optionsJson: String
  ): String = active(session) {
    NamedTables.create(session, name, DataType.fromJson(schemaJson).asInstanceOf[StructType], partitions,
      Option(path), ifNotExists, optionsOf(optionsJson))
    "{}"
  }

  /** The session of a call is that of everything in it: a thread of a program may have another one, or none. */
  private def active[T](session: SparkSession)(call: => T): T = SparkBridge.active(session)(call)

  /** @param op schedule, run or scheduleandexecute */
  def compact(session: SparkSession, path: String, op: String, optionsJson: String): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    ProgramCall(session, s"compact ${table.config.name}")(compacted(op match {
      case "schedule"           => CompactionResult(CompactionService.schedule(table, settings), 0, 0, 0, 0, 0)
      case "run"                => CompactionService.run(session, table, settings)
      case "scheduleandexecute" => CompactionService.scheduleAndRun(session, table, settings)
      case other                => throw new IllegalStateException(s"compaction op '$other'")
    }))
  }

  /** @param op schedule or scheduleandexecute */
  def compactLogs(session: SparkSession, path: String, op: String, optionsJson: String): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    ProgramCall(session, s"compact the logs of ${table.config.name}")(compacted(op match {
      case "schedule" =>
        CompactionResult(LogCompactionService.schedule(session, table, settings), 0, 0, 0, 0, 0)
      case "scheduleandexecute" => LogCompactionService.scheduleAndRun(session, table, settings)
      case other                => throw new IllegalStateException(s"log compaction op '$other'")
    }))
  }

  private def compacted(result: CompactionResult): String = {
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

  /**
   * @param op       schedule or scheduleandexecute
   * @param columns  to sort by, comma separated; null: as configured
   * @param strategy linear, z-order or hilbert; null: as configured
   * @param where    condition on partition columns; null for none
   */
  def cluster(
      session: SparkSession,
      path: String,
      op: String,
      columns: String,
      strategy: String,
      where: String,
      optionsJson: String
  ): String = active(session) {
    val (table, configured) = opened(session, path, optionsJson)
    val order               = Option(columns).toSeq.flatMap(OptionKind.NameList.split)
    val settings = ClusteringArguments(configured, order, Option(strategy).flatMap(LayoutStrategy.parse), None, None,
      Option(where).map(ClusteringArguments.partitions(session, table, _)))
    def result = op match {
      case "schedule"           => ClusteringResult(ClusteringService.schedule(table, settings).toSeq, 0, 0, 0, 0, 0)
      case "scheduleandexecute" => ClusteringService.scheduleAndRun(session, table, settings)
      case other                => throw new IllegalStateException(s"clustering op '$other'")
    }
    ProgramCall(session, s"cluster ${table.config.name}")(clustered(result))
  }

  private def clustered(result: ClusteringResult): String = {
    val node = mapper.createObjectNode()
    names(node, "instants", result.done)
    names(node, "left", result.skipped.map(l => s"${l.instant}: ${l.reason}"))
    node
      .put("filesReplaced", result.filesReplaced)
      .put("filesWritten", result.filesWritten)
      .put("rowsWritten", result.rowsWritten)
      .put("bytesWritten", result.bytesWritten)
      .put("elapsedMs", result.elapsedMs)
      .toString
  }

  /** Rolls planned clusterings back; returns those that were not, with the reason. */
  def purgeClustering(session: SparkSession, path: String, instant: String, optionsJson: String): String =
    active(session) {
      val (table, settings) = opened(session, path, optionsJson)
      val planned           = table.timeline.plannedClusterings.map(_._1.requested)
      if (!planned.contains(instant))
        throw MerganserException("CALL_ARGUMENT_INVALID", "procedure" -> "run_clustering", "argument" -> "instants",
          "value" -> instant,
          "allowed" -> (if (planned.isEmpty) "the planned clusterings, of which there are none"
                        else planned.mkString(", ")))
      val node = mapper.createObjectNode()
      names(node, "left", ClusteringService.purge(table, settings, Seq(instant)).map(_.reason))
      node.toString
    }

  def clean(session: SparkSession, path: String, optionsJson: String): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    ProgramCall(session, s"clean ${table.config.name}", ProgramCall.Cleaned) {
      val array = mapper.createArrayNode()
      CleaningService.run(table, settings).foreach { done =>
        val node = array.addObject().put("startCleanTime", done.instant).put("timeTakenInMillis", done.elapsedMs)
        node.put("totalFilesDeleted", done.filesDeleted).put("totalBytesDeleted", done.bytesDeleted)
        node.put("earliestCommitToRetain", done.earliest.orNull)
        names(node, "partitionsDeleted", done.partitionsRemoved)
      }
      array.toString
    }
  }

  /**
   * Moves old instants from the timeline to its history.
   *
   * @param min completed writes that stay, and `max`, above which others are moved; null: as configured
   */
  def archive(session: SparkSession, path: String, min: Integer, max: Integer, optionsJson: String): String =
    active(session) {
      val started           = System.nanoTime()
      val (table, settings) = opened(session, path, optionsJson)
      ProgramCall(session, s"archive ${table.config.name}", ProgramCall.Archived) {
        val done = ArchiveService.run(table, settings,
          _.keeping(Option(min).map(_.intValue), Option(max).map(_.intValue), retained = None))
        mapper.createObjectNode()
          .put("instants", done.instants)
          .put("first", done.first.orNull)
          .put("last", done.last.orNull)
          .put("remaining", done.remaining)
          .put("elapsedMs", (System.nanoTime() - started) / 1000000L)
          .toString
      }
    }

  /**
   * Starts services of a table in the background; returns their states.
   *
   * @param services     comma separated; null: all that apply
   * @param everySeconds time between runs; null: the default
   */
  def startServices(
      session: SparkSession,
      path: String,
      services: String,
      everySeconds: Integer,
      optionsJson: String
  ): String = active(session) {
    statuses(BackgroundServices.start(
        session,
        OpenTable.load(session, path),
        Option(services).map(_.split(",").toSeq),
        Option(everySeconds).map(_.longValue),
        table =>
          WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), table.config, needsRule = false,
            makesKeys = false)
      ))
  }

  /** Ends them after the work that writes have requested; returns whether there were any. */
  def stopServices(session: SparkSession, path: String): String = active(session) {
    BackgroundServices.stop(OpenTable.load(session, path)).toString
  }

  def services(session: SparkSession, path: String): String = active(session) {
    statuses(BackgroundServices.of(OpenTable.load(session, path)))
  }

  private def statuses(all: Seq[ServiceStatus]): String = {
    val array = mapper.createArrayNode()
    all.foreach { s =>
      val node = array.addObject().put("service", s.service).put("state", s.state)
      s.everySeconds.fold(node.putNull("intervalSeconds"))(node.put("intervalSeconds", _))
      node.put("runs", s.runs).put("failures", s.failures)
      s.lastRunMs.fold(node.putNull("lastRun"))(node.put("lastRun", _))
      node.put("lastInstant", s.lastInstant.orNull).put("waitsFor", s.waitsFor.orNull)
      node.put("lastError", s.lastError.orNull)
    }
    array.toString
  }

  /** @param instant requested time of a write, or a time; null: the newest write */
  def createSavepoint(
      session: SparkSession,
      path: String,
      instant: String,
      user: String,
      comments: String,
      optionsJson: String
  ): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    savepoint(mapper.createObjectNode(), SavepointService.of(table, settings).create(Option(instant), user, comments))
      .toString
  }

  /** @param instant requested time of the write of a savepoint; null: the newest savepoint */
  def deleteSavepoint(session: SparkSession, path: String, instant: String, optionsJson: String): String =
    active(session) {
      val (table, settings) = opened(session, path, optionsJson)
      mapper.createObjectNode().put("savepointTime", SavepointService.of(table, settings).delete(Option(instant)))
        .toString
    }

  /** The completed savepoints, newest first. */
  def savepoints(session: SparkSession, path: String): String = active(session) {
    val array = mapper.createArrayNode()
    SavepointService.of(OpenTable.load(session, path)).all.foreach(s => savepoint(array.addObject(), s))
    array.toString
  }

  /** @param instant requested time of the write that is restored, or a time */
  def restore(session: SparkSession, path: String, instant: String, optionsJson: String): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    restored(session, s"restore ${table.config.name}") {
      RestoreService.restore(session, table, settings, instant, isPreview = false)
    }
  }

  /** @param savepoint requested time of its write; null: the newest savepoint */
  def restoreSavepoint(session: SparkSession, path: String, savepoint: String, optionsJson: String): String =
    active(session) {
      val (table, settings) = opened(session, path, optionsJson)
      restored(session, s"restore a savepoint of ${table.config.name}") {
        RestoreService.restoreSavepoint(session, table, settings, Option(savepoint), isPreview = false)
      }
    }

  /** @param instant requested time of the newest write; null: whichever it is */
  def rollback(session: SparkSession, path: String, instant: String, optionsJson: String): String = active(session) {
    val (table, settings) = opened(session, path, optionsJson)
    restored(session, s"roll back the newest write of ${table.config.name}") {
      RestoreService.rollback(session, table, settings, Option(instant), isPreview = false)
    }
  }

  private def restored(session: SparkSession, what: String)(run: => RestoreReport): String =
    ProgramCall(session, what, ProgramCall.Restored) {
      val done = run
      val node = mapper.createObjectNode()
      node.put("instant", done.instant.orNull).put("newestCommit", done.newest.orNull)
      node.put("timeTakenInMillis", done.elapsedMs)
      val taken = node.putArray("takenBack")
      done.takenBack.foreach { t =>
        taken.addObject().put("instant", t.instant).put("action", t.action).put("state", t.state)
          .put("operation", t.operation.orNull).put("rows_inserted", t.inserted).put("rows_updated", t.updated)
          .put("rows_deleted", t.deleted)
      }
      val files = node.putArray("files")
      done.files.foreach(f => files.addObject().put("path", f.path).put("size", f.sizeBytes))
      names(node, "fileGroupsVisible", done.groupPaths)
      node.toString
    }

  private def savepoint(node: ObjectNode, s: Savepoint): ObjectNode =
    node.put("savepointTime", s.instant).put("savepointedBy", s.metadata.createdBy).put("savepointedAt",
      s.metadata.createdAtMs).put("comments", s.metadata.comments).put("files", s.files)

  /**
   * The rows of a procedure, each an object whose fields are the columns in camel case.
   *
   * @param argumentsJson strings, booleans and integers by parameter
   */
  def call(session: SparkSession, procedure: String, argumentsJson: String, optionsJson: String): String =
    active(session) {
      def result: String = {
        val array = mapper.createArrayNode()
        ProcedureRows.of(session, procedure, mapper.readTree(argumentsJson), optionsOf(optionsJson)).foreach(row =>
          array.add(row))
        array.toString
      }
      ProcedureRows.counts(procedure) match {
        case Nil    => result
        case counts => ProgramCall(session, s"call $procedure", counts)(result)
      }
    }

  /**
   * Applies changes of another database: CALL apply_changes.
   *
   * @param columns conditions by the arguments that they stand for
   */
  def applyChanges(
      session: SparkSession,
      frame: Dataset[Row],
      columns: util.Map[String, Column],
      argumentsJson: String,
      optionsJson: String
  ): String = active(session) {
    ProgramCall(session, "apply changes", ProcedureRows.counts(ApplySourceChanges.name)) {
      val arguments = ProcedureRows.checked(ApplySourceChanges, mapper.readTree(argumentsJson), optionsOf(optionsJson))
      val done      = ApplySourceChanges(session, arguments, frame, columns.asScala.toMap)
      val node      = ProcedureRows.node(ApplySourceChanges.row(done), ApplySourceChanges.result)
      done.commit.foreach(commit => node.setAll[ObjectNode](resultOf(commit)))
      node.toString
    }
  }

  /** Creates an empty table for changes: CALL create_table_for_changes, with the events of a frame. */
  def createForChanges(session: SparkSession, frame: Dataset[Row], argumentsJson: String, optionsJson: String): String =
    active(session) {
      val arguments =
        ProcedureRows.checked(CreateTableForChanges, mapper.readTree(argumentsJson), optionsOf(optionsJson))
      ProcedureRows.node(CreateTableForChanges.create(session, arguments, Option(frame)), CreateTableForChanges.result)
        .toString
    }

  private def opened(session: SparkSession, path: String, optionsJson: String): (OpenTable, WriteConfig) = {
    val table = OpenTable.load(session, path)
    (table,
      WriteConfig.parse(optionsOf(optionsJson), FrameWrite.sessionConf(session), table.config, needsRule = false,
        makesKeys = false))
  }

  /**
   * What was done to a table, newest first.
   *
   * @param limit    most actions; null: all
   * @param archived whether archived ones follow
   */
  def history(session: SparkSession, path: String, limit: Integer, archived: Boolean): String = active(session) {
    val most  = Option(limit).fold(Int.MaxValue)(_.intValue)
    val array = mapper.createArrayNode()
    History.of(OpenTable.load(session, path), most, archived).take(most).foreach(History.describe(array.addObject(), _))
    array.toString
  }

  /** The newest slice of every file group. */
  def fileSlices(session: SparkSession, path: String): String = active(session) {
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

  private def resultOf(result: WriteResult): ObjectNode = {
    val node = mapper.createObjectNode().put("instant", result.instant).put("operation", result.operation.name)
    Counts.fields(result.counts).foreach { case (name, value) => node.put(name, value) }
    node.put("lateness", Counts.latenessJson(result.counts.lateness))
    node.put("filesWritten", result.filesWritten).put("rowsWritten", result.rowsWritten)
    node.put("bytesWritten", result.bytesWritten).put("elapsedMs", result.elapsedMs)
    WriteNotes.lists(result.notes).foreach { case (name, values) => names(node, name, values) }
    node.put("serviceFailure", result.notes.serviceFailure.orNull)
    node.put("retries", result.notes.retries).put("isRepetition", result.notes.isRepetition)
    result.dryRun.foreach(dry => describe(node.putObject("dryRun"), dry))
    node
  }

  private def describe(node: ObjectNode, dry: DryRun): Unit = {
    Counts.fields(dry.merged).foreach { case (name, value) => node.put(name, value) }
    node.put("rowsReplaced", dry.rowsReplaced).put("filesReplaced", dry.filesReplaced)
    node.put("partitions", dry.partitions.size)
    val rows = node.putArray("rows")
    dry.rows.foreach { row =>
      rows.addObject().put("outcome", row.outcome).put("recordKey", row.key).put("partitionPath", row.partitionPath)
        .put("reason", row.reason).put("incoming", row.incoming.orNull).put("before", row.before.orNull)
        .put("after", row.after.orNull)
    }
  }

  private def names(node: ObjectNode, field: String, values: Seq[String]): Unit = {
    val array = node.putArray(field)
    values.foreach(array.add)
  }

  private def optionsOf(json: String): Map[String, String] =
    if (json == null || json.isEmpty) Map.empty
    else mapper.readTree(json).fields().asScala.map(e => e.getKey -> e.getValue.asText).toMap
}
