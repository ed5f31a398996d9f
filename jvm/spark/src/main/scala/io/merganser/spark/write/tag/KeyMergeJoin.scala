package io.merganser.spark.write.tag

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator

import scala.collection.mutable

/** The stored rows of the current key, buffered while its incoming rows pass. */
private[write] trait Matches {
  def clear(): Unit

  /** @param stored a row of [[StoredKeyScan.schema]]; may be overwritten afterwards */
  def add(stored: InternalRow): Unit

  /** To be called when all of the key have been added. */
  def complete(): Unit

  /** How often an incoming row is emitted; at least once. */
  def size: Int

  /** Columns appended to the row for its i-th match. */
  def at(i: Int): InternalRow
}

/**
 * Merge join of incoming rows and stored keys, both in one [[KeyOrder]]; the matches of a row's key are appended to it.
 *
 * @param pathOrdinal ordinal of an incoming row's partition path, or -1 if paths are not compared
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
  private[this] var aheadHash             = 0L
  private[this] var ahead: InternalRow    = nextStored()
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
      while (ahead != null && compare(hash, key, path) < 0) ahead = nextStored()
      while (ahead != null && compare(hash, key, path) == 0) {
        matches.add(ahead)
        ahead = nextStored()
      }
      matches.complete()
    }
  }

  private def compare(hash: Long, key: UTF8String, path: UTF8String): Int =
    if (aheadHash != hash) java.lang.Long.compare(aheadHash, hash)
    else {
      val byKey = ahead.getUTF8String(storedKey).compareTo(key)
      if (byKey != 0 || path == null) byKey else ahead.getUTF8String(storedPath).compareTo(path)
    }

  private def nextStored(): InternalRow =
    if (!stored.hasNext) null
    else {
      val row = stored.next()
      aheadHash = KeyOrder.hash(row.getUTF8String(storedKey))
      row
    }
}

/**
 * Matches a key with the slices that hold it, each once; if none has a live row, with the newest.
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
 * Matches a key with each of its rows that readers see; without one, with the newest slice that has deleted the key.
 *
 * @param instants base instants of the slices
 * @param width    number of columns appended to a row
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
