package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import io.merganser.merge.MerganserException
import io.merganser.table.log.RecordLog
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.avro.generic.GenericRecord
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.{ParquetInputFormat, ParquetReader}
import org.apache.parquet.hadoop.api.ReadSupport
import org.apache.parquet.hadoop.example.GroupReadSupport
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type, Types}

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

/**
 * The instants that another engine moved from the timeline to its history: in layout 2 a manifest that lists Parquet
 * files, each named after its first and last instant; in layout 1 log files of Avro records, which have no completion
 * times.
 */
final class ArchivedTimeline(storage: Storage, config: TableConfig) {
  import ArchivedTimeline._

  /** Of the files, in bytes, by the manifest. */
  private val sizes = mutable.Map.empty[String, Long]

  private val timesByFile = mutable.Map.empty[String, Map[String, String]]

  /** None if the instant is not in the history, or there is no history, or in layout 1. */
  private[table] def completionTime(requested: String): Option[String] = synchronized {
    files.iterator.filter(covers(_, requested)).map(times(_).get(requested)).collectFirst { case Some(time) => time }
  }

  /**
   * The completed writes of the history with their metadata, sorted by requested time; read once.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def writes: Seq[(Instant, CommitMetadata)] =
    completed.filter(_.instant.action.isWrite).flatMap(a => a.record().map(a.instant -> CommitMetadata.decodeAvro(_)))

  /**
   * [[writes]], the newest first. A file of the history is read when its instants are reached, and the metadata of an
   * instant when that is taken.
   *
   * @param first and `last`: the oldest and the newest instant that is needed
   */
  def newestFirst(first: Option[String], last: Option[String]): Iterator[(Instant, CommitMetadata)] = {
    def isNeeded(instant: String) = first.forall(_ <= instant) && last.forall(instant <= _)
    val entries = if (config.layoutVersion < 2) completed.reverseIterator
    else new NewestEntries(files.zipWithIndex.filter { case (file, _) =>
      val (oldest, newest) = range(file)
      first.forall(_ <= newest) && last.forall(oldest <= _)
    })
    entries.filter(a => a.instant.action.isWrite && isNeeded(a.instant.requested)).flatMap(a =>
      a.record().map(a.instant -> CommitMetadata.decodeAvro(_)))
  }

  /** The entries of some files with their numbers in the manifest; of equal instants that of the last file. */
  private final class NewestEntries(chosen: Seq[(String, Int)]) extends Iterator[Archived] {
    private var files  = chosen.sortBy { case (file, _) => range(file)._2 }.reverse
    private val loaded = new java.util.TreeMap[String, (Int, Archived)]

    /** Every file that may have an instant as new as the newest of those that were read. */
    private def load(): Unit =
      while (files.nonEmpty && (loaded.isEmpty || newest.instant.requested <= range(files.head._1)._2)) {
        val (file, number) = files.head
        files = files.tail
        ofFile(file).foreach { a =>
          val key = s"${a.instant.requested} ${a.instant.action.name}"
          if (Option(loaded.get(key)).forall(_._1 <= number)) loaded.put(key, (number, a))
        }
      }

    private def newest: Archived = loaded.lastEntry.getValue._2

    override def hasNext: Boolean = { load(); !loaded.isEmpty }

    override def next(): Archived = {
      load()
      loaded.pollLastEntry().getValue._2
    }
  }

  /** The cleans of the history with their metadata, the oldest first. */
  def cleanMetadata: Seq[(Instant, CleanMetadata)] = completed.filter(_.instant.action == Action.Clean)
    .flatMap(a => a.record().map(a.instant -> CleanMetadata.of(_)))

  /** The cleans of the history with their plans, where it has these; the oldest first. */
  def cleanPlans: Seq[(Instant, CleanPlan)] =
    completed.filter(_.instant.action == Action.Clean).flatMap(a => a.plan().map(a.instant -> CleanPlan.of(_)))

  /** What the cleans of the history deleted. */
  private[table] def cleans: Seq[Cleaned] =
    completed.filter(_.instant.action == Action.Clean).flatMap(_.record().map(Cleaned.of))

  /** Completed instants; the newest entry of one counts, as an archiving that failed is repeated. */
  private lazy val completed: Seq[Archived] = {
    val all = if (config.layoutVersion < 2) ofLogs else files.flatMap(ofFile)
    all.groupBy(a => (a.instant.requested, a.instant.action)).values.map(_.last).toSeq.sortBy(_.instant.requested)
  }

  // --- layout 1 ------------------------------------------------------------------------------------------------------

  private def ofLogs: Seq[Archived] =
    storage.list(config.historyFolder).filter(f => f.isFile && f.getPath.getName.startsWith(".commits_.archive."))
      .sortBy(f => Try(f.getPath.getName.split('.').last.takeWhile(_.isDigit).toLong).getOrElse(0L))
      .flatMap(RecordLog.records(storage, config.historyFolder, _)).flatMap(ofEntry)

  private def ofEntry(entry: GenericRecord): Option[Archived] = {
    import AvroRecords._
    val action = entry.string("actionType").flatMap(Action.parse).map(_.whenCompleted)
    val times  = entry.string("commitTime").filter(_ => entry.string("actionState").contains("COMPLETED"))
    for {
      requested <- times
      done      <- action
    } yield {
      val field = done match {
        case Action.ReplaceCommit => "hoodieReplaceCommitMetadata"
        case Action.Clean         => "hoodieCleanMetadata"
        case _                    => "hoodieCommitMetadata"
      }
      Archived(Instant(requested, done, InstantState.Completed), () => entry.record(field),
        () => entry.record("hoodieCleanerPlan"))
    }
  }

  // --- layout 2 ------------------------------------------------------------------------------------------------------

  private lazy val files: Seq[String] =
    if (config.layoutVersion < 2) Nil
    else newestManifest.toSeq.flatMap(number => manifest(s"manifest_$number"))

  private def manifest(name: String): Seq[String] = named(name) {
    val files = Json.readTree(storage.read(s"${config.historyFolder}/$name")).path("files")
    if (!files.isArray) throw new IllegalArgumentException("it has no files")
    files.elements.asScala.map { entry =>
      val (file, bytes) = (entry.path("fileName").asText, entry.path("fileLen"))
      if (file.isEmpty) throw new IllegalArgumentException("one of its files has no name")
      if (bytes.isNumber) sizes.put(file, bytes.asLong)
      file
    }.toList
  }

  private def newestManifest: Option[String] =
    try {
      val number = new String(storage.read(s"${config.historyFolder}/_version_"), UTF_8).trim
      if (number.isEmpty || !number.forall(c => c >= '0' && c <= '9'))
        throw unreadable("_version_", new IllegalArgumentException("it is not the number of a manifest"))
      Some(number)
    } catch {
      case _: FileNotFoundException =>
        val numbers = storage.list(config.historyFolder).map(_.getPath.getName).filter(_.startsWith("manifest_"))
          .flatMap(name => Try(name.drop("manifest_".length).toLong).toOption)
        numbers.sorted.lastOption.map(_.toString)
    }

  private def covers(file: String, instant: String): Boolean = {
    val (first, last) = range(file)
    first <= instant && instant <= last
  }

  /** The first and the last instant of a file, by its name. */
  private def range(file: String): (String, String) = file.split('_') match {
    case Array(first, last, _*) => (first, last)
    case _                      => ("", "\uffff")
  }

  private def times(file: String): Map[String, String] =
    timesByFile.getOrElseUpdate(file,
      read(file, Times)(row =>
        for {
          requested <- string(row, Requested)
          completed <- string(row, Completed)
        } yield requested -> completed).toMap)

  private def ofFile(file: String): Seq[Archived] = read(file, Instants) { row =>
    for {
      requested <- string(row, Requested)
      action    <- string(row, ActionName).flatMap(Action.parse).map(_.whenCompleted)
    } yield {
      def record(column: String): () => Option[GenericRecord] = {
        val bytes = if (isNull(row, column)) Array.emptyByteArray else row.getBinary(column, 0).getBytes
        () =>
          try if (AvroRecords.isContainer(bytes)) Some(AvroRecords.decode(bytes)) else None
          catch { case NonFatal(e) => throw unreadable(file, e) }
      }
      Archived(Instant(requested, action, InstantState.Completed, string(row, Completed)), record(Metadata),
        record(Plan))
    }
  }

  private def read[T](file: String, columns: MessageType)(take: Group => Option[T]): Seq[T] = named(file) {
    val (found, listed) = (storage.status(s"${config.historyFolder}/$file").map(_.getLen), sizes.get(file))
    if (found.isEmpty) throw new IllegalArgumentException("it is gone")
    if (listed.exists(_ != found.get))
      throw new IllegalArgumentException(s"it has ${found.get} bytes, ${listed.get} in the manifest")
    val conf = new org.apache.hadoop.conf.Configuration(storage.conf)
    conf.setBoolean(ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED, true)
    conf.set(ReadSupport.PARQUET_READ_SCHEMA, columns.toString)
    val reader = ParquetReader.builder(new GroupReadSupport, storage.path(s"${config.historyFolder}/$file")).withConf(
      conf).build()
    try Iterator.continually(reader.read()).takeWhile(_ != null).flatMap(take(_)).toList
    finally reader.close()
  }

  private def named[T](file: String)(read: => T): T =
    try read
    catch {
      case e: MerganserException => throw e
      case NonFatal(e)           => throw unreadable(file, e)
    }

  private def unreadable(file: String, cause: Throwable) = MerganserException("TIMELINE_FILE_UNREADABLE",
    "file" -> storage.path(s"${config.historyFolder}/$file"), "reason" -> String.valueOf(cause.getMessage)).causedBy(
    cause)
}

private object ArchivedTimeline {
  val Json: ObjectMapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  /**
   * @param record decodes the metadata, if there is any
   * @param plan   decodes the plan, if there is any
   */
  final case class Archived(
      instant: Instant,
      record: () => Option[GenericRecord],
      plan: () => Option[GenericRecord]
  )

  val Requested  = "instantTime"
  val Completed  = "completionTime"
  val ActionName = "action"
  val Metadata   = "metadata"
  val Plan       = "plan"

  val Times: MessageType    = columns("times", Requested, Completed)
  val Instants: MessageType = columns("instants", Requested, Completed, ActionName, Metadata, Plan)

  private def columns(name: String, of: String*): MessageType =
    new MessageType(name, of.map(c => Types.optional(PrimitiveType.PrimitiveTypeName.BINARY).named(c): Type): _*)

  def isNull(row: Group, column: String): Boolean = row.getFieldRepetitionCount(column) == 0

  def string(row: Group, column: String): Option[String] =
    if (isNull(row, column)) None else Some(row.getString(column, 0))
}
