package io.merganser.table.commit

import java.io.{Closeable, FileNotFoundException}
import java.util.Arrays

import io.merganser.table.base.{BaseFileFooter, BaseFileReader, BaseReadOptions}
import io.merganser.table.file.FileNames
import io.merganser.table.log.{LogScanner, LogSink}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.WriteStat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/** Smallest and largest key of a file, in unsigned byte order; None if unknown. */
private[table] final case class KeyRange(least: Option[UTF8String], greatest: Option[UTF8String])

private[table] object KeyRange {

  /** The files of each side whose range overlaps one of the other side's. */
  def overlapping(left: Seq[KeyFile], right: Seq[KeyFile]): (Seq[KeyFile], Seq[KeyFile]) =
    (overlappingAny(left, right), overlappingAny(right, left))

  /** By one binary search per file, not by comparing all pairs. */
  private def overlappingAny(files: Seq[KeyFile], others: Seq[KeyFile]): Seq[KeyFile] = {
    val sorted = others.sortWith((a, b) => isBefore(a.range.least, b.range.least)).toArray
    // The greatest key of the files up to each index; None if one of them has no known greatest key.
    val reach = new Array[Option[UTF8String]](sorted.length)
    var i     = 0
    while (i < sorted.length) {
      val own = sorted(i).range.greatest
      reach(i) = if (i == 0) own else for (a <- reach(i - 1); b <- own) yield if (a.compareTo(b) >= 0) a else b
      i += 1
    }
    files.filter { file =>
      val upTo = file.range.greatest.fold(sorted.length)(max => startingUpTo(sorted, max))
      upTo > 0 && !reach(upTo - 1).exists(max => file.range.least.exists(min => max.compareTo(min) < 0))
    }
  }

  private def isBefore(a: Option[UTF8String], b: Option[UTF8String]): Boolean = (a, b) match {
    case (None, None)       => false
    case (None, _)          => true
    case (_, None)          => false
    case (Some(x), Some(y)) => x.compareTo(y) < 0
  }

  /** The number of files whose smallest key is at most the given one. */
  private def startingUpTo(sorted: Array[KeyFile], key: UTF8String): Int = {
    var (low, high) = (0, sorted.length)
    while (low < high) {
      val middle = (low + high) / 2
      if (sorted(middle).range.least.forall(_.compareTo(key) <= 0)) low = middle + 1 else high = middle
    }
    low
  }
}

/** A file with the keys that a commit wrote to it. */
private[table] sealed trait KeyFile {

  def partition: String

  /** Of the commit; rows of the file that it did not write have another commit time. */
  def instant: String

  def range: KeyRange

  /** Passes hashes of the keys, in sorted batches, until something is found. */
  def findByHashes[T](find: Array[Long] => Option[T]): Option[T]

  /** @param some sorted hashes */
  def containsAny(some: Array[Long]): Boolean
}

private[table] object KeyFile {

  /** Hashes of a base file in memory at a time: 32 MiB. */
  private val MaxHashes = 4 << 20

  private val BaseColumns = MetaColumns.keySchema.add(MetaColumns.schema(MetaColumns.CommitTime))

  /**
   * @param stat of a base file or of a log file
   * @throws java.io.FileNotFoundException if the file is gone
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE
   */
  def read(storage: Storage, config: TableConfig, stat: WriteStat, instant: String): KeyFile =
    if (!stat.isLogFile)
      new BaseKeys(storage, stat, instant,
        BaseFileFooter.read(storage.conf, storage.path(stat.path), stat.fileSizeInBytes))
    else if (config.storesKeys) logKeys(storage, config, stat, instant)
    else new LogKeys(stat.partitionPath, instant, KeyRange(None, None), Array.emptyLongArray)

  /** The keys of a log file's rows, without those of its deletes. */
  private def logKeys(storage: Storage, config: TableConfig, stat: WriteStat, instant: String): LogKeys = {
    val hashes          = new mutable.ArrayBuilder.ofLong
    var least, greatest = Option.empty[UTF8String]
    val sink = new LogSink {
      override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit = {
        val key = row.getUTF8String(0)
        hashes += hash(key)
        if (least.forall(key.compareTo(_) < 0)) least = Some(key.copy())
        if (greatest.forall(key.compareTo(_) > 0)) greatest = Some(key.copy())
      }
      override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = ()
    }
    val size = storage.status(stat.path).getOrElse(throw new FileNotFoundException(stat.path)).getLen
    // Below version 8 the file may have blocks of other writes, too.
    val scanner = new LogScanner(storage,
      if (config.isCreatedInLayout2) config.version else math.min(config.version, 6), new StructType, _ == instant,
      instant, _ => config.isCreatedInLayout2)
    scanner.scan(FileNames.parseLog(stat.partitionPath, stat.fileName, size).toSeq, MetaColumns.keySchema, sink)
    val sorted = hashes.result()
    Arrays.sort(sorted)
    new LogKeys(stat.partitionPath, instant, KeyRange(least, greatest), sorted)
  }

  private def hash(key: UTF8String): Long =
    XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)

  private def isIn(hashes: Array[Long], hash: Long): Boolean = Arrays.binarySearch(hashes, hash) >= 0

  /** A log file, whose keys are in memory: eight bytes a key. */
  private final class LogKeys(
      override val partition: String,
      override val instant: String,
      override val range: KeyRange,
      sorted: Array[Long]
  ) extends KeyFile {

    override def findByHashes[T](find: Array[Long] => Option[T]): Option[T] = find(sorted)

    override def containsAny(some: Array[Long]): Boolean = sorted.exists(isIn(some, _))
  }

  /** A base file, whose keys are read again each time. */
  final class BaseKeys private[KeyFile] (
      storage: Storage,
      stat: WriteStat,
      override val instant: String,
      footer: BaseFileFooter
  ) extends KeyFile {

    override def partition: String = stat.partitionPath

    /** Whether the rows are sorted by key. */
    val isSorted: Boolean = footer.isSorted

    override val range: KeyRange = {
      def bytes(key: Option[String]) = key.map(UTF8String.fromString)
      // Other engines may have compared UTF-16, which orders keys with surrogate pairs differently.
      val isUncertain = !isSorted && footer.maxKey.exists(_.exists(_ >= Character.MIN_SURROGATE))
      if (isUncertain) KeyRange(None, None) else KeyRange(bytes(footer.minKey), bytes(footer.maxKey))
    }

    def open(): Cursor = new Cursor(
      this,
      new BaseFileReader(storage.conf, storage.path(stat.path), stat.fileSizeInBytes, BaseColumns,
        BaseReadOptions(known = Some(footer)))
    )

    override def findByHashes[T](find: Array[Long] => Option[T]): Option[T] = reading { keys =>
      var found = Option.empty[T]
      while (found.isEmpty && keys.key != null) found = find(nextHashes(keys))
      found
    }

    override def containsAny(some: Array[Long]): Boolean = reading { keys =>
      var found = false
      while (!found && keys.key != null) {
        found = isIn(some, hash(keys.key))
        if (!found) keys.advance()
      }
      found
    }

    private def reading[T](body: Cursor => T): T = {
      val keys = open()
      try body(keys)
      finally keys.close()
    }
  }

  /** The next keys, sorted by hash. */
  private def nextHashes(keys: Cursor): Array[Long] = {
    var some  = new Array[Long](1024)
    var count = 0
    while (keys.key != null && count < MaxHashes) {
      if (count == some.length) some = Arrays.copyOf(some, math.min(count * 2, MaxHashes))
      some(count) = hash(keys.key)
      count += 1
      keys.advance()
    }
    val result = Arrays.copyOf(some, count)
    Arrays.sort(result)
    result
  }

  /** A cursor over the keys of a base file; `key` is null after the last. */
  final class Cursor(val file: BaseKeys, reader: BaseFileReader) extends Closeable {
    private[this] val rows: Iterator[InternalRow] = reader.rows()
    private[this] val instant                     = UTF8String.fromString(file.instant)
    var key: UTF8String                           = _
    advance()

    /** Invalidates the previous `key`. */
    def advance(): Unit = {
      key = null
      while (key == null && rows.hasNext) {
        val row = rows.next()
        if (row.isNullAt(1) || row.getUTF8String(1) == instant) key = row.getUTF8String(0)
      }
    }

    override def close(): Unit = reader.close()
  }
}
