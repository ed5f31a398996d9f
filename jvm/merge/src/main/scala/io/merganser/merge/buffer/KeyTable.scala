// Hot path: one lookup per stored row.
package io.merganser.merge.buffer

import io.merganser.merge.{StringBytes, Version}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.vectorized.ColumnarBatchRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Keys, each with its newest version. Entries are numbered as they come, and found by open addressing with linear
 * probing on a key's bytes and hash. Most lookups are of keys without an entry: a bit for each hash, in a sixteenth of
 * the slots' memory, ends all but a few of these before a slot is read.
 */
private[buffer] final class KeyTable extends KeyedVersions {
  private[this] final val slotsPerWord = 16 // of bits

  // The upper half of a slot is a hash; the lower is an entry's number plus one, or zero where the slot is free.
  private[this] var slots   = new Array[Long](1024)
  private[this] var hashes  = new Array[Long](1024 / slotsPerWord)
  private[this] var bases   = new Array[AnyRef](512)
  private[this] var offsets = new Array[Long](512)
  private[this] var lengths = new Array[Int](512)
  private[this] var records = new Array[Version](512)
  private[this] var count   = 0

  /** Number of entries; their numbers are below it. */
  override def size: Int = count

  /** Number of slots; never more than half of them are used. */
  def capacity: Int = slots.length

  /** The entry of a row's key, or -1. */
  def find(row: InternalRow, keyOrdinal: Int): Int = row match {
    case packed: UnsafeRow =>
      val at = packed.getLong(keyOrdinal) // offset and size, as getUTF8String decodes them
      find(packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt)
    case columnar: ColumnarBatchRow => find(columnar.getUTF8String(keyOrdinal))
    case other                      => find(other.getUTF8String(keyOrdinal))
  }

  /** The entry of a key, or -1. */
  def find(key: UTF8String): Int = find(key.getBaseObject, key.getBaseOffset, key.numBytes)

  private def find(base: AnyRef, offset: Long, bytes: Int): Int = {
    val hash = StringBytes.hash(base, offset, bytes)
    if (mayHave(hash)) find(hash, base, offset, bytes) else -1
  }

  private def find(hash: Int, base: AnyRef, offset: Long, bytes: Int): Int = {
    val mask  = slots.length - 1
    var i     = hash & mask
    var entry = -1
    var slot  = slots(i)
    while (slot != 0 && entry < 0) {
      val candidate = slot.toInt - 1
      if (
        (slot >>> 32).toInt == hash && StringBytes.areEqual(base, offset, bytes, bases(candidate), offsets(candidate),
          lengths(candidate))
      )
        entry = candidate
      else {
        i = (i + 1) & mask
        slot = slots(i)
      }
    }
    entry
  }

  override def record(entry: Int): Version = records(entry)

  /** Puts a key that [[find]] did not find. The key must not be overwritten by its reader later. */
  def put(key: UTF8String, record: Version): Unit = {
    if (count == records.length) {
      bases = java.util.Arrays.copyOf(bases, count * 2)
      offsets = java.util.Arrays.copyOf(offsets, count * 2)
      lengths = java.util.Arrays.copyOf(lengths, count * 2)
      records = java.util.Arrays.copyOf(records, count * 2)
    }
    replace(count, key, record)
    count += 1
    if (count * 2 > slots.length) grow()
    take((StringBytes.hash(key.getBaseObject, key.getBaseOffset, key.numBytes).toLong << 32) | count)
  }

  /** Replaces an entry's version; the key's bytes are those of the new one, so that the old row can be freed. */
  def replace(entry: Int, key: UTF8String, record: Version): Unit = {
    bases(entry) = key.getBaseObject
    offsets(entry) = key.getBaseOffset
    lengths(entry) = key.numBytes
    records(entry) = record
  }

  def foreach(f: Version => Unit): Unit = {
    var i = 0
    while (i < count) {
      f(records(i))
      i += 1
    }
  }

  def clear(): Unit = {
    slots = new Array[Long](1024)
    hashes = new Array[Long](1024 / slotsPerWord)
    bases = new Array[AnyRef](512)
    offsets = new Array[Long](512)
    lengths = new Array[Int](512)
    records = new Array[Version](512)
    count = 0
  }

  /** Whether a key may have this hash; bits are numbered by the hash, four times as many as slots. */
  private def mayHave(hash: Int): Boolean = (hashes((hash >>> 6) & (hashes.length - 1)) & (1L << hash)) != 0

  private def take(slot: Long): Unit = {
    val mask = slots.length - 1
    val hash = (slot >>> 32).toInt
    var i    = hash & mask
    hashes((hash >>> 6) & (hashes.length - 1)) |= 1L << hash
    while (slots(i) != 0) i = (i + 1) & mask
    slots(i) = slot
  }

  private def grow(): Unit = {
    val old = slots
    slots = new Array[Long](old.length * 2)
    hashes = new Array[Long](slots.length / slotsPerWord)
    var i = 0
    while (i < old.length) {
      if (old(i) != 0) take(old(i))
      i += 1
    }
  }
}
