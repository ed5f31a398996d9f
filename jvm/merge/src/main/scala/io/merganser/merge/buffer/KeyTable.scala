// Hot path: one lookup per stored row.
package io.merganser.merge.buffer

import io.merganser.merge.Version
import org.apache.spark.unsafe.types.UTF8String

/** Open addressing with linear probing on a key's bytes and hash; a slot holds the key's newest version. */
private[buffer] final class KeyTable {
  private[this] var keys    = new Array[UTF8String](1024)
  private[this] var hashes  = new Array[Int](1024)
  private[this] var records = new Array[Version](1024)
  private[this] var count   = 0

  def size: Int = count

  def capacity: Int = keys.length

  /** The slot of a key: where it is, or where it would go. */
  def slot(key: UTF8String): Int = {
    val mask = keys.length - 1
    val hash = key.hashCode
    var i    = hash & mask
    while (keys(i) != null && !(hashes(i) == hash && keys(i).equals(key))) i = (i + 1) & mask
    i
  }

  /** The version in a slot, or null. */
  def record(slot: Int): Version = records(slot)

  /** Puts a new key into the slot that [[slot]] gave for it. The key must not be overwritten by its reader later. */
  def put(slot: Int, key: UTF8String, record: Version): Unit = {
    keys(slot) = key
    hashes(slot) = key.hashCode
    records(slot) = record
    count += 1
    if (count * 2 > keys.length) grow()
  }

  /** Gives a key that is there another version; the key's bytes are those of the new one, so that the old row can go. */
  def replace(slot: Int, key: UTF8String, record: Version): Unit = {
    keys(slot) = key
    records(slot) = record
  }

  def foreach(f: Version => Unit): Unit = {
    var i = 0
    while (i < records.length) {
      if (records(i) != null) f(records(i))
      i += 1
    }
  }

  def clear(): Unit = {
    keys = new Array[UTF8String](1024)
    hashes = new Array[Int](1024)
    records = new Array[Version](1024)
    count = 0
  }

  private def grow(): Unit = {
    val (oldKeys, oldHashes, oldRecords) = (keys, hashes, records)
    val size                             = oldKeys.length * 2
    keys = new Array[UTF8String](size)
    hashes = new Array[Int](size)
    records = new Array[Version](size)
    var i = 0
    while (i < oldKeys.length) {
      if (oldKeys(i) != null) {
        var j = oldHashes(i) & (size - 1)
        while (keys(j) != null) j = (j + 1) & (size - 1)
        keys(j) = oldKeys(i)
        hashes(j) = oldHashes(i)
        records(j) = oldRecords(i)
      }
      i += 1
    }
  }
}
