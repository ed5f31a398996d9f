package io.merganser.spark.write.tag

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.sketch.BloomFilter

/**
 * Hashes of a batch's keys, by which tasks skip stored rows: all of them while they are few, else a Bloom filter.
 *
 * @param few   sorted; null if there is a filter
 * @param bloom bytes of the filter, nearly a megabyte whatever the number of keys; or null
 */
private[write] final class KeyHashes private (few: Array[Long], bloom: Array[Byte]) extends Serializable {
  import KeyHashes._

  def ++(other: KeyHashes): KeyHashes = {
    val all = new Builder
    Seq(this, other).foreach(_.addTo(all))
    all.result()
  }

  /** A function that is false only for keys that the batch does not have. */
  def test: UTF8String => Boolean =
    if (few != null) key => Arrays.binarySearch(few, hash(key)) >= 0
    else {
      val filter = read(bloom)
      key => filter.mightContainLong(hash(key))
    }

  private def addTo(all: Builder): Unit = if (few != null) few.foreach(all.addHash) else all.addFilter(read(bloom))
}

private[write] object KeyHashes {

  /** Keys for which a filter is made: one of four times as many still passes only half of the keys it does not have. */
  final val FilterKeys = 1000000L

  private[tag] final val Few = 4096

  final class Builder {
    private[this] var few                = new Array[Long](16)
    private[this] var count              = 0
    private[this] var bloom: BloomFilter = _

    def add(key: UTF8String): Unit = addHash(hash(key))

    private[KeyHashes] def addHash(value: Long): Unit =
      if (bloom != null) { bloom.putLong(value); () }
      else if (count == Few) {
        toFilter()
        addHash(value)
      } else {
        if (count == few.length) few = Arrays.copyOf(few, 2 * count)
        few(count) = value
        count += 1
      }

    private[KeyHashes] def addFilter(filter: BloomFilter): Unit = {
      if (bloom == null) toFilter()
      bloom.mergeInPlace(filter)
      ()
    }

    private def toFilter(): Unit = {
      bloom = BloomFilter.create(FilterKeys, 0.03)
      var i = 0
      while (i < count) { bloom.putLong(few(i)); i += 1 }
    }

    def result(): KeyHashes =
      if (bloom == null) {
        val sorted = Arrays.copyOf(few, count)
        Arrays.sort(sorted)
        new KeyHashes(sorted, null)
      } else {
        val out = new ByteArrayOutputStream
        bloom.writeTo(out)
        new KeyHashes(null, out.toByteArray)
      }
  }

  private def hash(key: UTF8String): Long =
    XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)

  private def read(bloom: Array[Byte]): BloomFilter = BloomFilter.readFrom(new ByteArrayInputStream(bloom))
}
