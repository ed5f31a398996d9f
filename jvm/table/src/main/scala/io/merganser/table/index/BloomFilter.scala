package io.merganser.table.index

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

/**
 * A bloom filter of a base file's record keys, in the form of the reference's BLOOM index (type SIMPLE).
 *
 * @param capacity number of keys that it is sized for; 0 if unknown
 */
final class BloomFilter private (bitCount: Int, hashCount: Int, bytes: Array[Byte], capacity: Long) {

  /** @param key UTF-8 bytes of the record key */
  def add(key: Array[Byte]): Unit = {
    var hash = 0
    var i    = 0
    while (i < hashCount) {
      hash = BloomFilter.murmur2(key, hash)
      val bit = Math.abs(hash % bitCount)
      bytes(bit >> 3) = (bytes(bit >> 3) | 1 << (bit & 7)).toByte
      i += 1
    }
  }

  /** False if the key was never added. */
  def mayContain(key: Array[Byte]): Boolean = {
    var hash  = 0
    var i     = 0
    var found = true
    while (found && i < hashCount) {
      hash = BloomFilter.murmur2(key, hash)
      val bit = Math.abs(hash % bitCount)
      found = (bytes(bit >> 3) & 1 << (bit & 7)) != 0
      i += 1
    }
    found
  }

  def mayContain(key: String): Boolean = mayContain(key.getBytes(UTF_8))

  /**
   * The filter of the same keys in fewer bits: halved while half of its capacity is enough for them, if its bits can be
   * halved ([[BloomFilter.divisible]]).
   *
   * @param keys number of keys that were added
   */
  def shrunk(keys: Long): BloomFilter =
    if (capacity / 2 < Math.max(1L, keys) || bitCount % 16 != 0) this
    else {
      // A key's bits are the remainders of its hashes: half of the divisor has the remainders of these.
      val half = bytes.length / 2
      val less = new Array[Byte](half)
      var i    = 0
      while (i < half) {
        less(i) = (bytes(i) | bytes(i + half)).toByte
        i += 1
      }
      new BloomFilter(bitCount / 2, hashCount, less, capacity / 2).shrunk(keys)
    }

  /** The filter as a string for the footer. */
  def encode: String = {
    val out = ByteBuffer.allocate(13 + bytes.length)
    out.putInt(BloomFilter.Version).putInt(hashCount).put(BloomFilter.Murmur).putInt(bitCount).put(bytes)
    Base64.getEncoder.encodeToString(out.array)
  }
}

object BloomFilter {
  private val Version      = -1
  private val Murmur: Byte = 1

  /**
   * An empty filter.
   *
   * @param expectedKeys      number of keys it is sized for
   * @param falsePositiveRate share of other keys that it reports as contained when it has that many
   */
  def sized(expectedKeys: Long, falsePositiveRate: Double): BloomFilter = sized(expectedKeys, falsePositiveRate, 1)

  /** [[sized]], with slightly more bits, so that the filter of fewer keys can be shrunk. */
  def divisible(expectedKeys: Long, falsePositiveRate: Double): BloomFilter =
    sized(expectedKeys, falsePositiveRate, BitStep)

  /** The number of bits is a multiple of this, where a filter can be shrunk: ten times. */
  private val BitStep = 8192

  private def sized(expectedKeys: Long, falsePositiveRate: Double, step: Int): BloomFilter = {
    val keys   = Math.max(1L, expectedKeys).toDouble
    val exact  = Math.ceil(keys * -Math.log(falsePositiveRate) / (Math.log(2) * Math.log(2)))
    val bits   = (Math.min(Math.ceil(exact / step), (Int.MaxValue / step).toDouble) * step).toInt
    val hashes = Math.max(1, Math.ceil(Math.log(2) * Math.min(exact, bits.toDouble) / keys).toInt)
    new BloomFilter(bits, hashes, new Array[Byte]((bits >> 3) + (if ((bits & 7) == 0) 0 else 1)), expectedKeys)
  }

  /** @throws IllegalArgumentException if the string is not a filter of type SIMPLE */
  def decode(text: String): BloomFilter = {
    val in     = ByteBuffer.wrap(Base64.getDecoder.decode(text))
    val filter = read(in)
    if (in.hasRemaining) throw new IllegalArgumentException(s"a bloom filter with ${in.remaining} more bytes")
    filter
  }

  /** Reads one filter with its header. @throws IllegalArgumentException, java.nio.BufferUnderflowException */
  private[index] def read(in: ByteBuffer): BloomFilter = {
    val (hashes, bits) = header(in)
    val size           = (bits.toLong + 7) / 8
    if (in.remaining < size)
      throw new IllegalArgumentException(s"a bloom filter of $bits bits in ${in.remaining} bytes")
    val bytes = new Array[Byte](size.toInt)
    in.get(bytes)
    new BloomFilter(bits, hashes, bytes, capacity = 0L)
  }

  /** Number of hashes and of bits. */
  private[index] def header(in: ByteBuffer): (Int, Int) = {
    val (version, hashes, hash, bits) = (in.getInt, in.getInt, in.get, in.getInt)
    if (version != Version || hash != Murmur || hashes <= 0 || bits <= 0)
      throw new IllegalArgumentException(s"a bloom filter of version $version, $hashes hashes $hash, $bits bits")
    (hashes, bits)
  }

  /** 32-bit MurmurHash 2, where the last byte of every chunk and the tail are signed. */
  private[index] def murmur2(data: Array[Byte], seed: Int): Int = {
    val m    = 0x5bd1e995
    var h    = seed ^ data.length
    val full = data.length & ~3
    var i    = 0
    while (i < full) {
      var k = (data(i) & 0xff) | (data(i + 1) & 0xff) << 8 | (data(i + 2) & 0xff) << 16 | data(i + 3).toInt << 24
      k *= m
      k ^= k >>> 24
      k *= m
      h *= m
      h ^= k
      i += 4
    }
    val left = data.length - full
    if (left != 0) {
      if (left >= 3) h ^= data(data.length - 3).toInt << 16
      if (left >= 2) h ^= data(data.length - 2).toInt << 8
      h ^= data(data.length - 1).toInt
      h *= m
    }
    h ^= h >>> 13
    h *= m
    h ^ h >>> 15
  }
}
