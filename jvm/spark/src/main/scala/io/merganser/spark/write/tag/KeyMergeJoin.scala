package io.merganser.spark.write.tag

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, XXH64}
import org.apache.spark.sql.functions.{col, xxhash64}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator

import scala.collection.mutable

/**
 * The order in which rows and stored keys are walked together: the key's hash, the key and, where it tells rows apart, the
 * partition path. By hash first: Spark sorts by the first eight bytes while they differ, and those of composite keys are the
 * same name for all.
 *
 * @param byPath true where equal keys of different partitions are different rows
 */
private[write] final case class KeyOrder(byPath: Boolean) {

  /** @param andThen what orders the rows of one key */
  def sorted(rows: DataFrame, tasks: Int, key: String, path: String, andThen: Option[String] = None): DataFrame = {
    val identity = col(key) +: (if (byPath) Seq(col(path)) else Nil)
    rows.repartition(tasks, identity: _*).sortWithinPartitions(
      (xxhash64(col(key)) +: identity) ++ andThen.map(col(_)): _*)
  }
}

private[write] object KeyOrder {

  /** What `xxhash64` makes of a key. */
  def hash(key: UTF8String): Long = XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)
}

/** What is stored of the key at hand; held while its incoming rows pass. */
private[write] trait Matches {
  def clear(): Unit

  /** @param stored a row of [[StoredKeyScan.schema]]; may be overwritten afterwards */
  def add(stored: InternalRow): Unit

  /** All of the key have been added. */
  def complete(): Unit

  /** How often an incoming row comes; at least once. */
  def size: Int

  /** What stands behind the row each time. */
  def at(i: Int): InternalRow
}

/**
 * Walks incoming rows and stored keys together, both in one [[KeyOrder]]; what a row's key matches comes behind it.
 *
 * @param pathOrdinal where the partition path of an incoming row stands, or -1 where it does not count
 */
private[write] final class KeyMergeJoin(
    incoming: Iterator[InternalRow],
    stored: Iterator[InternalRow],
    keyOrdinal: Int,
    pathOrdinal: Int,
    storedKey: Int,
    storedPath: Int,
    matches: Matches
) extends Iterator[InternalRow] {
  private[this] val joined                = new JoinedRow
  private[this] var heldHash              = 0L
  private[this] var held: InternalRow     = nextStored()
  private[this] var matchKey: UTF8String  = _
  private[this] var matchPath: UTF8String = _
  private[this] var row: InternalRow      = _
  private[this] var at                    = 0

  override def hasNext: Boolean = (row != null && at < matches.size) || incoming.hasNext

  override def next(): InternalRow = {
    if (row == null || at >= matches.size) {
      row = incoming.next()
      at = 0
      findMatches()
    }
    at += 1
    joined(row, matches.at(at - 1))
  }

  private def findMatches(): Unit = {
    val key  = row.getUTF8String(keyOrdinal)
    val path = if (pathOrdinal < 0) null else row.getUTF8String(pathOrdinal)
    if (matchKey == null || !matchKey.equals(key) || (path != null && !matchPath.equals(path))) {
      matches.clear()
      matchKey = key.copy()
      if (path != null) matchPath = path.copy()
      val hash = KeyOrder.hash(key)
      while (held != null && compare(hash, key, path) < 0) held = nextStored()
      while (held != null && compare(hash, key, path) == 0) {
        matches.add(held)
        held = nextStored()
      }
      matches.complete()
    }
  }

  private def compare(hash: Long, key: UTF8String, path: UTF8String): Int =
    if (heldHash != hash) java.lang.Long.compare(heldHash, hash)
    else {
      val byKey = held.getUTF8String(storedKey).compareTo(key)
      if (byKey != 0 || path == null) byKey else held.getUTF8String(storedPath).compareTo(path)
    }

  private def nextStored(): InternalRow =
    if (!stored.hasNext) null
    else {
      val row = stored.next()
      heldHash = KeyOrder.hash(row.getUTF8String(storedKey))
      row
    }
}

/**
 * The slices that hold a key, each once; without a live row in any, the newest.
 *
 * @param instants base instants of the slices
 * @param several  counts the keys that have several slices
 */
private[write] final class SliceMatches(instants: Array[String], several: LongAccumulator) extends Matches {
  private[this] val tag  = new GenericInternalRow(Array[Any](Tagging.Untagged))
  private[this] val live = mutable.ArrayBuffer.empty[Int]
  private[this] val dead = mutable.ArrayBuffer.empty[Int]

  override def clear(): Unit = {
    live.clear()
    dead.clear()
  }

  override def add(stored: InternalRow): Unit = {
    val found = if (stored.getBoolean(StoredKeyScan.LiveOrdinal)) live else dead
    val slice = stored.getInt(StoredKeyScan.SliceOrdinal)
    if (!found.contains(slice)) found += slice
  }

  override def complete(): Unit = {
    if (live.isEmpty && dead.nonEmpty) live += dead.maxBy(instants(_))
    if (live.isEmpty) live += Tagging.Untagged
    if (live.size > 1) several.add(1)
  }

  override def size: Int = live.size

  override def at(i: Int): InternalRow = {
    tag.update(0, live(i))
    tag
  }
}

/**
 * The stored rows of a key, each that readers see; without one, the newest slice that knows the key as deleted.
 *
 * @param instants base instants of the slices
 * @param width    columns of what stands behind a row
 */
private[write] final class RowMatches(instants: Array[String], width: Int) extends Matches {
  private[this] val none =
    new GenericInternalRow(Array[Any](Tagging.Untagged, false) ++ new Array[Any](math.max(0, width - 2)))
  private[this] val rows              = mutable.ArrayBuffer.empty[InternalRow]
  private[this] var dead: InternalRow = _

  override def clear(): Unit = {
    rows.clear()
    dead = null
  }

  override def add(stored: InternalRow): Unit =
    if (stored.getBoolean(StoredKeyScan.LiveOrdinal)) rows += stored.copy()
    else if (dead == null || instants(slice(dead)).compareTo(instants(slice(stored))) < 0) dead = stored.copy()

  override def complete(): Unit = if (rows.isEmpty) rows += (if (dead == null) none else dead)

  override def size: Int = rows.size

  override def at(i: Int): InternalRow = rows(i)

  private def slice(stored: InternalRow): Int = stored.getInt(StoredKeyScan.SliceOrdinal)
}
