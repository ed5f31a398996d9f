// Hot path: one call per version.
package io.merganser.merge.buffer

import io.merganser.merge.{RowLayout, StringBytes, Version}
import org.apache.spark.unsafe.types.UTF8String

import java.util.Arrays

/** The versions of keys by the number of their entry, which is below [[size]]. */
private[buffer] trait KeyedVersions {
  def size: Int

  /** The newest version of an entry's key. */
  def record(entry: Int): Version
}

/**
 * Versions that come in a few runs of ascending keys, as logs have them: to add one is to compare its key with the
 * last one. [[sort]] merges the runs.
 *
 * Sorted keys are compared by the eight bytes after those that all of them share, and by their bytes where these are
 * equal: the bytes of a key are anywhere in memory.
 */
private[buffer] final class KeyRuns(layout: RowLayout) extends KeyedVersions {
  import KeyRuns._

  private[this] var bases   = new Array[AnyRef](512)
  private[this] var offsets = new Array[Long](512)
  private[this] var lengths = new Array[Int](512)
  private[this] var records = new Array[Version](512)
  private[this] var words   = new Array[Long](0) // once they are sorted
  private[this] var prefix  = 0 // number of bytes that all keys share, then
  private[this] var count   = 0
  private[this] val starts  = new Array[Int](MaxRuns + 1) // of the runs, then the count
  private[this] var runs    = 0
  private[this] var isDone  = true // each key is one entry, and they are sorted

  /** Number of versions; after [[sort]] of keys. */
  override def size: Int = count

  override def record(entry: Int): Version = records(entry)

  /**
   * Adds a version with a row of its own, newer than all before.
   *
   * @return false if it was not added, because there would be too many runs
   */
  def add(version: Version): Boolean = {
    val key    = layout.key(version.row)
    val begins = count == 0 || compare(key, count - 1) < 0
    if (begins && runs == MaxRuns) false
    else {
      if (begins) {
        starts(runs) = count
        runs += 1
      }
      if (count == records.length) {
        bases = Arrays.copyOf(bases, count * 2)
        offsets = Arrays.copyOf(offsets, count * 2)
        lengths = Arrays.copyOf(lengths, count * 2)
        records = Arrays.copyOf(records, count * 2)
      }
      put(count, key, version)
      count += 1
      isDone = false
      true
    }
  }

  private def put(entry: Int, key: UTF8String, version: Version): Unit = {
    bases(entry) = key.getBaseObject
    offsets(entry) = key.getBaseOffset
    lengths(entry) = key.numBytes
    records(entry) = version
  }

  /** Negative, zero or positive as the key comes before, is or comes after that of an entry. */
  def compare(key: UTF8String, entry: Int): Int =
    StringBytes.compare(key.getBaseObject, key.getBaseOffset, key.numBytes, bases(entry), offsets(entry),
      lengths(entry))

  /** The same by the words, for keys that begin [[isAlike alike]]. Of sorted entries. */
  def compareAlike(key: UTF8String, entry: Int): Int = {
    val word = StringBytes.word(key.getBaseObject, key.getBaseOffset, key.numBytes, prefix)
    if (word != words(entry)) java.lang.Long.compareUnsigned(word, words(entry)) else compare(key, entry)
  }

  /** Whether a key begins with the bytes that all sorted entries share. */
  def isAlike(key: UTF8String): Boolean = count > 0 && prefix ==
    StringBytes.shared(key.getBaseObject, key.getBaseOffset, key.numBytes, bases(0), offsets(0), prefix)

  private def compareEntries(one: Int, other: Int): Int =
    if (words(one) != words(other)) java.lang.Long.compareUnsigned(words(one), words(other))
    else StringBytes.compare(bases(one), offsets(one), lengths(one), bases(other), offsets(other), lengths(other))

  /** Each version, oldest first. */
  def foreach(f: Version => Unit): Unit = {
    var i = 0
    while (i < count) {
      f(records(i))
      i += 1
    }
  }

  /**
   * Sorts the entries by the unsigned bytes of their keys. The versions of one key become one entry.
   *
   * @param combine adds a version to the older ones of its key; the result has a row of its own
   */
  def sort(combine: (Version, Version) => Version): Unit = if (!isDone) {
    setWords()
    val order = sortedEntries()
    val old   = new KeyArrays(bases, offsets, lengths, records, words)
    bases = new Array[AnyRef](records.length)
    offsets = new Array[Long](records.length)
    lengths = new Array[Int](records.length)
    records = new Array[Version](records.length)
    words = new Array[Long](count)
    val versions = count
    count = 0
    var i = 0
    while (i < versions) {
      val entry = order(i)
      if (
        count > 0 && old.words(entry) == words(count - 1) &&
        old.isKey(entry, bases(count - 1), offsets(count - 1), lengths(count - 1))
      ) {
        val combined = combine(records(count - 1), old.records(entry))
        if (combined ne records(count - 1)) put(count - 1, layout.key(combined.row), combined)
      } else {
        bases(count) = old.bases(entry)
        offsets(count) = old.offsets(entry)
        lengths(count) = old.lengths(entry)
        records(count) = old.records(entry)
        words(count) = old.words(entry)
        count += 1
      }
      i += 1
    }
    isDone = true
  }

  /** A run's first and last keys share what all of its keys share. */
  private def setWords(): Unit = {
    prefix = lengths(0)
    starts(runs) = count
    var run = 0
    while (run < runs) {
      prefix = Math.min(prefix, Math.min(sharedWithFirst(starts(run)), sharedWithFirst(starts(run + 1) - 1)))
      run += 1
    }
    words = new Array[Long](count)
    var i = 0
    while (i < count) {
      words(i) = StringBytes.word(bases(i), offsets(i), lengths(i), prefix)
      i += 1
    }
  }

  private def sharedWithFirst(entry: Int): Int =
    StringBytes.shared(bases(0), offsets(0), lengths(0), bases(entry), offsets(entry), lengths(entry))

  /** The entries by their keys, those of one key in the order they came. */
  private def sortedEntries(): Array[Int] = {
    var from = Array.range(0, count)
    var to   = new Array[Int](if (runs > 1) count else 0)
    while (runs > 1) {
      starts(runs) = count
      var run = 0
      while (run < runs) {
        val middle = starts(run + 1)
        val end    = if (run + 1 < runs) starts(run + 2) else middle
        merge(from, to, starts(run), middle, end)
        starts(run / 2) = starts(run)
        run += 2
      }
      runs = (runs + 1) / 2
      val merged = to
      to = from
      from = merged
    }
    from
  }

  private def merge(from: Array[Int], to: Array[Int], start: Int, middle: Int, end: Int): Unit = {
    var one   = start
    var other = middle
    var i     = start
    while (one < middle && other < end) {
      if (compareEntries(from(other), from(one)) < 0) {
        to(i) = from(other)
        other += 1
      } else {
        to(i) = from(one)
        one += 1
      }
      i += 1
    }
    System.arraycopy(from, one, to, i, middle - one)
    System.arraycopy(from, other, to, i + middle - one, end - other)
  }
}

private object KeyRuns {

  /** Versions in more runs are found by their hashes in less time. */
  private final val MaxRuns = 16

  private final class KeyArrays(
      val bases: Array[AnyRef],
      val offsets: Array[Long],
      val lengths: Array[Int],
      val records: Array[Version],
      val words: Array[Long]
  ) {
    def isKey(entry: Int, base: AnyRef, offset: Long, bytes: Int): Boolean =
      StringBytes.areEqual(bases(entry), offsets(entry), lengths(entry), base, offset, bytes)
  }
}
