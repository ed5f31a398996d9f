package io.merganser.table.commit

import java.io.Closeable
import java.util.{Arrays, Comparator, PriorityQueue}

import io.merganser.table.base.{BaseFileFooter, BaseFileReader}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.WriteStat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

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

/**
 * A base file with the keys that a commit wrote.
 *
 * @param instant  instant of the commit; rows of the file that it did not write have another commit time
 * @param isSorted whether the rows are sorted by key
 */
private[table] final class KeyFile private (
    storage: Storage,
    stat: WriteStat,
    val instant: String,
    footer: BaseFileFooter
) {

  def partition: String = stat.partitionPath

  val isSorted: Boolean = footer.isSorted

  val range: KeyRange = {
    def bytes(key: Option[String]) = key.map(UTF8String.fromString)
    // Other engines may have compared UTF-16, which orders keys with surrogate pairs differently.
    val isUncertain = !isSorted && footer.maxKey.exists(_.exists(_ >= Character.MIN_SURROGATE))
    if (isUncertain) KeyRange(None, None) else KeyRange(bytes(footer.minKey), bytes(footer.maxKey))
  }

  def open(): KeyFile.Keys = new KeyFile.Keys(
    this,
    new BaseFileReader(storage.conf, storage.path(stat.path), stat.fileSizeInBytes, KeyFile.Columns,
      known = Some(footer))
  )
}

private[table] object KeyFile {

  private val Columns =
    StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey), MetaColumns.schema(MetaColumns.CommitTime)))

  /** @throws java.io.FileNotFoundException if the file is gone */
  def read(storage: Storage, stat: WriteStat, instant: String): KeyFile =
    new KeyFile(storage, stat, instant,
      BaseFileFooter.read(storage.conf, storage.path(stat.path), stat.fileSizeInBytes))

  /** A cursor over the keys; `key` is null after the last. */
  final class Keys(val file: KeyFile, reader: BaseFileReader) extends Closeable {
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

/**
 * Looks for a key that two sets of files have in common, reading each file once or twice. Sorted files are merge
 * joined. For unsorted files, as other engines write them, one side's keys are buffered as 64-bit hashes: eight bytes a
 * key, in batches of bounded size.
 */
private[table] final class KeyComparison(left: Seq[KeyFile], right: Seq[KeyFile]) {

  import KeyComparison._

  /** @return the file of the right side that contains a key of the left */
  def common(): Option[KeyFile] = {
    val (ordered, unordered)           = left.partition(_.isSorted)
    val (otherOrdered, otherUnordered) = right.partition(_.isSorted)
    inBoth(ordered, otherOrdered)
      .orElse(amongHashes(otherUnordered, left).map { case (hashed, _) => hashed })
      .orElse(amongHashes(unordered, otherOrdered).map { case (_, scanned) => scanned })
  }

  private def inBoth(left: Seq[KeyFile], right: Seq[KeyFile]): Option[KeyFile] =
    if (left.isEmpty || right.isEmpty) None
    else using(left ++ right) { all =>
      val (l, r) = (queue(all.take(left.length)), queue(all.drop(left.length)))
      var order  = -1
      while (!l.isEmpty && !r.isEmpty && order != 0) {
        order = l.peek.key.compareTo(r.peek.key)
        if (order < 0) step(l) else if (order > 0) step(r)
      }
      if (!l.isEmpty && !r.isEmpty && order == 0) Some(r.peek.file) else None
    }

  /** @return the hashed file and the scanned one that have a key in common */
  private def amongHashes(hashed: Seq[KeyFile], scanned: Seq[KeyFile]): Option[(KeyFile, KeyFile)] =
    if (scanned.isEmpty) None
    else hashed.iterator.flatMap { file =>
      using(Seq(file)) { opened =>
        val keys  = opened.head
        var found = Option.empty[(KeyFile, KeyFile)]
        while (found.isEmpty && keys.key != null) {
          val some = hashes(keys)
          found = scanned.iterator.filter(containsAny(_, some)).map(file -> _).take(1).toList.headOption
        }
        found
      }
    }.take(1).toList.headOption

  private def containsAny(file: KeyFile, hashes: Array[Long]): Boolean = using(Seq(file)) { opened =>
    val keys  = opened.head
    var found = false
    while (!found && keys.key != null) {
      found = Arrays.binarySearch(hashes, hash(keys.key)) >= 0
      if (!found) keys.advance()
    }
    found
  }
}

private object KeyComparison {

  /** Hashes in memory at a time: 32 MiB. */
  private val MaxHashes = 4 << 20

  private val ByKey: Comparator[KeyFile.Keys] = (a: KeyFile.Keys, b: KeyFile.Keys) => a.key.compareTo(b.key)

  private def hash(key: UTF8String): Long =
    XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)

  /** The next keys, sorted by hash. */
  private def hashes(keys: KeyFile.Keys): Array[Long] = {
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

  private def queue(keys: Seq[KeyFile.Keys]): PriorityQueue[KeyFile.Keys] = {
    val queue = new PriorityQueue[KeyFile.Keys](math.max(1, keys.size), ByKey)
    keys.filter(_.key != null).foreach(queue.add)
    queue
  }

  private def step(queue: PriorityQueue[KeyFile.Keys]): Unit = {
    val keys = queue.poll()
    keys.advance()
    if (keys.key != null) { queue.add(keys); () }
  }

  private def using[T](files: Seq[KeyFile])(body: Seq[KeyFile.Keys] => T): T = {
    var opened = Vector.empty[KeyFile.Keys]
    try {
      files.foreach(file => opened = opened :+ file.open())
      body(opened)
    } finally opened.foreach(_.close())
  }
}
