package io.merganser.spark.write.tag

import io.merganser.merge.RowLayout
import io.merganser.spark.prune.{ColumnStatistics, KeyRanges}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.base.{BaseFileFooter, BaseReadOptions}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{DerivedColumns, FileSlice, LogInserts, SliceReader, TableFileReader}
import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.CollectionAccumulator

import java.io.Closeable

/** Which of the keys in a table count as stored. */
sealed trait StoredKeys extends Serializable {

  /** Reads the requested columns. */
  def reader: SliceReader
}

object StoredKeys {

  /**
   * Keys of base files, and of logs that may insert keys, even if a log deletes them or the base file retains their
   * delete: later versions must come after the delete.
   */
  final case class OfFiles(reader: SliceReader) extends StoredKeys

  /** Keys that readers see. */
  final case class Live(reader: SliceReader) extends StoredKeys

  /**
   * Keys of base and log files, marked by whether readers see them: of a key in several slices only the live rows
   * count; without a live one, the newest slice, or a deleted key would come back once for each.
   */
  final case class AndLive(reader: SliceReader) extends StoredKeys
}

/**
 * Reads the stored keys that a batch may match, and columns of their rows: from the batch's partitions, from files
 * whose key range overlaps it, and of these only keys that pass a Bloom filter of the batch. Nothing else is shuffled.
 *
 * @param columns  of the stored rows
 * @param counting which keys count; its reader reads at least `columns`
 * @param read     indexes of the slices that were read; a retried task adds them again
 * @param filters  true to rule out files by their Bloom filters first: the BLOOM index
 * @param only     slices without logs whose columns are read; of others, only the key. None for all
 */
private[write] final case class StoredKeyScan(
    session: SparkSession,
    table: OpenTable,
    columns: StructType,
    counting: StoredKeys,
    order: KeyOrder,
    read: CollectionAccumulator[Int],
    filters: Boolean,
    only: Option[Set[Int]] = None
) {
  import StoredKeyScan._

  /** Slice, whether readers see the row, its columns (null for a deleted row), and the columns to join by. */
  val schema: StructType = StructType(
    Seq(WriteRow.Slice, LiveColumn) ++ columns.map(_.copy(nullable = true)) ++
      (Key +: (if (order.byPath) Seq(Path) else Nil)).map(StructField(_, StringType))
  )

  val keyOrdinal: Int = columns.length + 2

  /** The key column, if keys are its integers as strings. */
  val integerKey: Option[StructField] = table.config.recordKeyFields match {
    case Seq(name) => table.schema.fields.find(f => f.name == name && KeyRanges.areIntegers(f.dataType))
    case _         => None
  }

  /** -1 if paths are not compared. */
  val pathOrdinal: Int = if (order.byPath) columns.length + 3 else -1

  /** The stored rows in the merge join's order and partitions; None if no slice can hold a key of the batch. */
  def sorted(
      slices: IndexedSeq[FileSlice],
      summary: BatchSummary,
      batch: KeyedBatch
  ): Option[RDD[InternalRow]] = {
    val inLogs = logKeys(slices)
    def mayHold(i: Int) = summary.names(slices(i).partitionPath) &&
      (inLogs(i) || slices(i).base.forall(KnownRanges.mayHold(table.storage, _, summary.ranges)))
    val possible   = slices.indices.filter(mayHold).map(i => (i, slices(i)))
    val candidates = if (filters) FileFilters(session, table).select(possible, batch, summary, inLogs) else possible
    if (candidates.isEmpty) None
    else {
      val shared = session.sparkContext.broadcast(summary)
      val ranges = new RangesRead
      session.sparkContext.register(ranges)
      val reader =
        new StoredKeyReader(columns, counting, order.byPath, inLogs, read, ranges, only, integerKey)
      val bins = packed(candidates)
      val rows =
        Partitions.map(session.sparkContext.parallelize(bins, bins.size))(_.flatMap(reader.rows(_, shared)))
      val shuffled = order.shuffled(session, rows, schema, batch.tasks, Key, Path)
      Some(order.sorted(session, shuffled, schema, Key, Path))
    }
  }

  /** Slices whose logs may hold keys that no base file does. */
  private def logKeys(slices: IndexedSeq[FileSlice]): Set[Int] =
    if (!table.config.isMergeOnRead) Set.empty
    else LogInserts.in(slices, table.config, table.timeline, table.hasRings)

  /** Groups of slices, each read by one task, so that small and pruned slices do not cost a task each. */
  private def packed(slices: Seq[(Int, FileSlice)]): Seq[Seq[(Int, FileSlice)]] = {
    val conf     = session.sessionState.conf
    val openCost = conf.filesOpenCostInBytes
    val total    = slices.map(_._2.sizeBytes + openCost).sum
    val target = math.min(conf.filesMaxPartitionBytes,
      math.max(openCost, total / math.max(1, session.sparkContext.defaultParallelism)))
    val bins     = Seq.newBuilder[Seq[(Int, FileSlice)]]
    var bin      = Vector.empty[(Int, FileSlice)]
    var binBytes = 0L
    slices.foreach { slice =>
      if (bin.nonEmpty && binBytes + slice._2.sizeBytes > target) {
        bins += bin
        bin = Vector.empty
        binBytes = 0L
      }
      bin :+= slice
      binBytes += slice._2.sizeBytes + openCost
    }
    bins += bin
    bins.result()
  }
}

private[write] object StoredKeyScan {
  final val SliceOrdinal = 0
  final val LiveOrdinal  = 1

  /** Ordinal of the first stored column. */
  final val FirstColumn = 2

  /** Footers of base files that a task reads, and has in memory, at a time: if the files are small, those of all. */
  private[tag] final val FootersAtOnce = 32

  val LiveColumn: StructField = StructField("__merganser_live", BooleanType, nullable = false)

  private val Key  = "__merganser_key"
  private val Path = "__merganser_path"
}

/** The part of [[StoredKeyScan]] that runs in tasks. */
private final class StoredKeyReader(
    columns: StructType,
    counting: StoredKeys,
    byPath: Boolean,
    logKeys: Set[Int],
    read: CollectionAccumulator[Int],
    ranges: RangesRead,
    only: Option[Set[Int]],
    integerKey: Option[StructField]
) extends Serializable {
  private val table = counting.reader.input.table
  import table.{config, rowKey, storage, visibility}

  private val keyColumn = MetaColumns.schema(MetaColumns.RecordKey)

  /** The columns to read of a base file without logs: the requested ones and the key. */
  private val baseColumns = if (columns.fieldNames.contains(keyColumn.name)) columns else columns.add(keyColumn)

  private val types = columns.map(_.dataType).toArray

  /** The rows of a slice share one row object. */
  def rows(slices: Seq[(Int, FileSlice)], batch: Broadcast[BatchSummary]): Iterator[InternalRow] = {
    val mayMatch = batch.value.mayHaveKey.getOrElse((_: UTF8String) => true)
    slices.grouped(StoredKeyScan.FootersAtOnce).flatMap { some =>
      val bases   = some.flatMap(_._2.base)
      val files   = bases.map(base => storage.path(base.path) -> base.sizeBytes)
      val footers = bases.zip(BaseFileFooter.readAll(storage.conf, files)).toMap
      for ((base, footer) <- footers; min <- footer.minKey; max <- footer.maxKey)
        ranges.add(KnownRanges.name(storage, base) -> ((min, max)))
      some.iterator.flatMap { case (index, slice) =>
        rows(index, slice, slice.base.map(footers), batch.value, mayMatch)
      }
    }
  }

  private def rows(
      index: Int,
      slice: FileSlice,
      footer: Option[BaseFileFooter],
      batch: BatchSummary,
      mayMatch: UTF8String => Boolean
  ): Iterator[InternalRow] =
    // The footer does not cover keys that only logs have.
    if (!logKeys(index) && footer.exists(!mayHold(_, batch))) Iterator.empty
    else {
      read.add(index)
      val out = new StoredRow(index, slice, mayMatch)
      counting match {
        case StoredKeys.Live(reader) if slice.logs.nonEmpty    => merged(slice, reader, out, withDeleted = false)
        case StoredKeys.AndLive(reader) if slice.logs.nonEmpty => merged(slice, reader, out, withDeleted = true)
        case StoredKeys.OfFiles(reader) if logKeys(index)      => merged(slice, reader, out, withDeleted = true)
        case _ => footer.map(ofBase(slice, _, out, only.forall(_.contains(index)))).getOrElse(Iterator.empty)
      }
    }

  private def mayHold(footer: BaseFileFooter, batch: BatchSummary): Boolean =
    batch.ranges.overlaps(footer.minKey, footer.maxKey) &&
      (footer.retainsDeletes || integerKey.forall(key =>
        batch.numbers.forall(n => ColumnStatistics.mayHold(footer, StructType(Seq(key)), Map(key.name -> n)))))

  private def ofBase(
      slice: FileSlice,
      footer: BaseFileFooter,
      out: StoredRow,
      withColumns: Boolean
  ): Iterator[InternalRow] = {
    val schema = if (withColumns) baseColumns else StructType(Seq(keyColumn))
    val base   = slice.base.get
    val reader = new TableFileReader(storage, slice.partitionPath, base, new DerivedColumns(config, schema, rowKey),
      BaseReadOptions(known = Some(footer), columns = visibility.columns(base.instant)))
    val key  = schema.fieldNames.indexOf(keyColumn.name)
    val rows = reader.rows().flatMap(row => out.live(if (withColumns) row else null, row.getUTF8String(key)))
    closing(reader)(rows ++ retained(slice, footer, out))
  }

  /** The keys of the deletes that the base file retains: later versions must come after them. */
  private def retained(slice: FileSlice, footer: BaseFileFooter, out: StoredRow): Iterator[InternalRow] =
    counting match {
      case _ if !footer.retainsDeletes => Iterator.empty
      case StoredKeys.OfFiles(reader)  => reader.input.tombstones(slice).keys.flatMap(out.deleted(_))
      case StoredKeys.AndLive(reader)  => reader.input.tombstones(slice).keys.flatMap(out.deleted(_))
      case StoredKeys.Live(_)          => Iterator.empty
    }

  private def merged(
      slice: FileSlice,
      reader: SliceReader,
      out: StoredRow,
      withDeleted: Boolean
  ): Iterator[InternalRow] = {
    val open  = reader.merge(slice)
    val merge = open.merge
    closing(open)(
      Iterator.continually(merge).takeWhile(_.next()).flatMap { m =>
        val key = open.layout.key(m.row)
        if (m.isLive) out.live(m.row, key) else if (withDeleted) out.deleted(key) else None
      }
    )
  }

  /** Closes at the end of the rows, or else when the task ends. */
  private def closing(open: Closeable)(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    TaskContext.get().addTaskCompletionListener[Unit](_ => open.close())
    new Iterator[InternalRow] {
      private[this] var isOpen = true

      override def hasNext: Boolean = {
        if (isOpen && !rows.hasNext) {
          isOpen = false
          open.close()
        }
        isOpen
      }

      override def next(): InternalRow = rows.next()
    }
  }

  private final class StoredRow(index: Int, slice: FileSlice, mayMatch: UTF8String => Boolean) {
    private[this] val width = types.length
    private[this] val out   = new GenericInternalRow(width + (if (byPath) 4 else 3))
    out.update(StoredKeyScan.SliceOrdinal, index)
    if (byPath) out.update(width + 3, UTF8String.fromString(slice.partitionPath))

    /** @param row null if its columns are not needed */
    def live(row: InternalRow, key: UTF8String): Option[InternalRow] =
      if (mayMatch(key)) filled(row, key, isLive = true) else None

    def deleted(key: UTF8String): Option[InternalRow] = if (mayMatch(key)) filled(null, key, isLive = false) else None

    private def filled(row: InternalRow, key: UTF8String, isLive: Boolean): Option[InternalRow] = {
      out.update(StoredKeyScan.LiveOrdinal, isLive)
      var i = 0
      while (i < width) {
        out.update(i + 2, if (row == null) null else RowLayout.valueAt(row, i, types(i)))
        i += 1
      }
      out.update(width + 2, key)
      some
    }

    private[this] val some = Some(out)
  }
}
