package io.merganser.spark.stream

import java.nio.charset.StandardCharsets.UTF_8

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.settings.{ReadConfig, StreamReadConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/**
 * Reads a table as a stream: a snapshot of it, then what later commits changed, as rows or as change data.
 *
 * Offsets are completion times of commits, so that a window between two of them is the same whenever it is read. A
 * snapshot may be read in several micro-batches, some file groups in each; commits are not divided.
 *
 * @param opened     the table when the query started
 * @param checkpoint folder of this source in the query's checkpoint
 */
final class TableStream private (
    session: SparkSession,
    opened: OpenTable,
    config: StreamReadConfig,
    content: StreamedContent,
    checkpoint: String
) extends MicroBatchStream with SupportsTriggerAvailableNow {

  @volatile private var table = opened

  /** The newest commit for a query that ends when it has read what was there at its start. */
  private var last: Option[LastRead] = None

  // --- positions

  /** Where the stream begins is decided once: the first micro-batch may be planned again after a failure. */
  override def initialOffset(): Offset = {
    val storage = OpenTable.storage(session, checkpoint)
    if (!storage.exists(TableStream.Start)) storage.createNew(TableStream.Start, begin.json().getBytes(UTF_8))
    deserializeOffset(storage.readText(TableStream.Start))
  }

  private def begin: StreamPosition =
    if (config.isEarliest) StreamPosition.Begin
    else {
      val now = current()
      (if (config.isLatest) now.newest else now.window(config.start, None).begin).fold(StreamPosition.Begin)(read(now,
          _))
    }

  /** The position where all commits up to a time are read. */
  private def read(now: TableNow, time: String): StreamPosition =
    StreamPosition(Some(time), None, now.newestWrite(time))

  override def deserializeOffset(json: String): Offset = StreamPosition.parse(json).getOrElse(
    throw MerganserException("STREAM_OFFSET_UNKNOWN", "table" -> opened.config.name, "offset" -> json))

  override def getDefaultReadLimit: ReadLimit =
    config.maxFiles.fold(if (config.isLimited) ReadLimit.maxFiles(Int.MaxValue) else ReadLimit.allAvailable())(n =>
      ReadLimit.maxFiles(math.min(n, Int.MaxValue.toLong).toInt))

  override def prepareForTriggerAvailableNow(): Unit = last = Some(LastRead(current().newest))

  override def latestOffset(): Offset = throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val from               = position(start)
    val now                = currentAfter(from)
    val target             = last.fold(now.newest)(_.commit)
    val isLimited          = config.isLimited && !limit.isInstanceOf[ReadAllAvailable]
    def next(time: String) = later(now, time, target, isLimited).fold(from.copy(part = None))(read(now, _))
    from match {
      case StreamPosition(None, _, _) => target.fold(from)(time => snapshot(now, read(now, time), 0, isLimited))
      case StreamPosition(Some(time), Some(part), _) if isLimited =>
        snapshot(now, from, checked(now, time, part).next, isLimited)
      case StreamPosition(Some(time), _, _) => next(time)
    }
  }

  /**
   * The position after the next file groups of a snapshot.
   *
   * @param of   a position in it
   * @param from number of the first file group that is not read
   */
  private def snapshot(now: TableNow, of: StreamPosition, from: Int, isLimited: Boolean): StreamPosition =
    // What a clustering replaces meanwhile would be in other groups: such a snapshot is read at once.
    if (!isLimited || from == 0 && now.isClustering) of.copy(part = None)
    else {
      val groups = now.groupsAsOf(of.time.getOrElse(throw new IllegalStateException("a snapshot has a time")))
      val next   = from + admitted(groups.slices.drop(from).map(s => (s.logs.size + s.base.size, s.sizeBytes)))
      of.copy(part =
        if (next >= groups.slices.size) None
        else Some(SnapshotPart(next, groups.slices.size, groups.checksum)))
    }

  /** The completion time of the last commit that the next micro-batch takes; None if there is none with rows. */
  private def later(now: TableNow, time: String, target: Option[String], isLimited: Boolean): Option[String] =
    target.filter(until => time < until && now.hasWriteAfter(time)).flatMap { until =>
      val writes = now.writes(time, until)
      if (isLimited) writes.take(admitted(writes.map(w => (w.files, w.bytes)))).lastOption.map(_.completed)
      else writes.lastOption.map(_.completed)
    }

  /** How many of the next pieces, of some files and bytes each, one micro-batch takes; at least one. */
  private def admitted(pieces: Seq[(Int, Long)]): Int = {
    val sums = pieces.scanLeft((0L, 0L)) { case ((files, bytes), (f, b)) => (files + f, bytes + b) }.tail
    val fits = sums.takeWhile { case (files, bytes) =>
      config.maxFiles.forall(files <= _) && config.maxBytes.forall(bytes <= _)
    }.size
    math.max(fits, math.min(1, pieces.size))
  }

  // --- rows

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val (from, to) = (position(start), position(end))
    val now        = currentAfter(from)
    now.requireThere(to)
    val rows = (from, to) match {
      case _ if from == to => Nil
      case (StreamPosition(begin, part, _), StreamPosition(Some(time), None, _)) =>
        val rest = for (p <- part; t <- begin) yield groups(now, t, checked(now, t, p).next, p.of)
        rest.getOrElse(Nil) ++ begin.fold(content.ofSnapshot(now, time))(from =>
          if (from == time) Nil else content.ofWindow(now, from, time))
      case (StreamPosition(begin, part, _), StreamPosition(Some(time), Some(upTo), _)) if begin.forall(_ == time) =>
        checked(now, time, upTo)
        groups(now, time, part.fold(0)(_.next), upTo.next)
      case _ => throw new IllegalStateException(s"no micro-batch is from ${start.json} to ${end.json}")
    }
    rows.toArray
  }

  private def groups(now: TableNow, time: String, from: Int, until: Int): Seq[InputPartition] = {
    val found = now.groupsAsOf(time)
    content.ofSlices(now, found, found.slices.slice(from, until))
  }

  override def createReaderFactory(): PartitionReaderFactory = StreamReaderFactory

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()

  // --- the table

  /** @throws MerganserException STREAM_SCHEMA_CHANGED */
  private def current(): TableNow = synchronized {
    table = table.refreshed()
    if (table.schema != opened.schema && opened.schema.nonEmpty)
      throw MerganserException("STREAM_SCHEMA_CHANGED", "table" -> opened.config.name,
        "old" -> opened.schema.simpleString, "new" -> table.schema.simpleString)
    new TableNow(table, content)
  }

  /** @throws MerganserException STREAM_SCHEMA_CHANGED, CHANGES_TAKEN_BACK */
  private def currentAfter(read: StreamPosition): TableNow = {
    val now = current()
    now.requireThere(read)
    now
  }

  /** @throws MerganserException STREAM_SNAPSHOT_MOVED */
  private def checked(now: TableNow, time: String, part: SnapshotPart): SnapshotPart = {
    val groups = now.groupsAsOf(time)
    if (groups.checksum != part.groups)
      throw MerganserException("STREAM_SNAPSHOT_MOVED", "table" -> opened.config.name, "time" -> time,
        "old" -> part.of.toString, "new" -> groups.slices.size.toString)
    part
  }

  private def position(offset: Offset): StreamPosition = offset match {
    case known: StreamPosition => known
    case other                 => deserializeOffset(other.json()).asInstanceOf[StreamPosition]
  }

  override def toString: String = s"Merganser[${opened.storage}]"
}

/** @param commit None if the table had none */
private final case class LastRead(commit: Option[String])

object TableStream {

  /** File in the source's folder of the checkpoint. */
  private val Start = "start.json"

  /**
   * A stream of a table's rows, by the folder of its checkpoint.
   *
   * @param columns to return
   * @param filters that may prune rows
   * @throws MerganserException STREAM_QUERY_UNSUPPORTED for options of other reads
   */
  def of(
      session: SparkSession,
      opened: OpenTable,
      columns: StructType,
      filters: Array[Filter],
      options: Map[String, String],
      read: ReadConfig
  )(checkpoint: String): TableStream = {
    read.asOf.foreach(refuse(opened, Options.AsOfInstant, _))
    if (read.readOptimized) refuse(opened, Options.QueryType, "read_optimized")
    read.changes.foreach(_ => refuse(opened, Options.QueryType, "incremental"))
    new TableStream(session, opened, StreamReadConfig.parse(options, session.conf.getAll),
      new StreamedRows(session, columns, filters, read), checkpoint)
  }

  /**
   * A stream of a table's change data, likewise.
   *
   * @param columns of change data, to return
   * @param filters on them, that may rule out changes
   * @throws MerganserException STREAM_QUERY_UNSUPPORTED for the bounds of other reads
   */
  def ofChanges(
      session: SparkSession,
      opened: OpenTable,
      columns: StructType,
      filters: Array[Filter],
      options: Map[String, String],
      read: ReadConfig
  )(checkpoint: String): TableStream = {
    val window = read.changes.getOrElse(throw new IllegalStateException("the read is not incremental"))
    val form   = window.changeData.getOrElse(throw new IllegalStateException("the read is not of change data"))
    window.begin.foreach(refuse(opened, Options.ChangesBegin, _))
    window.end.foreach(refuse(opened, Options.ChangesEnd, _))
    if (window.schemaOfEnd) refuse(opened, Options.ChangesSchemaOfEnd, "true")
    new TableStream(session, opened, StreamReadConfig.parse(options, session.conf.getAll),
      new StreamedChanges(session, columns, filters, form, read), checkpoint)
  }

  private def refuse(opened: OpenTable, option: OptionEntry, value: String): Nothing =
    throw MerganserException("STREAM_QUERY_UNSUPPORTED", "table" -> opened.config.name, "key" -> option.key,
      "value" -> value)
}
