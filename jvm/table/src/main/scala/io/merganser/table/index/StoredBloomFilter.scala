package io.merganser.table.index

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util.Base64

/**
 * The filter of a base file's keys as any writer stores it: one of type SIMPLE, or of type DYNAMIC_V0, to which filters
 * are added as it fills.
 */
final class StoredBloomFilter private (filters: Seq[BloomFilter]) {

  /** False if the file does not have the key. @param key UTF-8 bytes of the record key */
  def mayContain(key: Array[Byte]): Boolean = filters.exists(_.mayContain(key))
}

object StoredBloomFilter {

  /** None if the text is not a filter of these types, which excludes no key. */
  def decode(text: String): Option[StoredBloomFilter] =
    try Some(new StoredBloomFilter(read(ByteBuffer.wrap(Base64.getDecoder.decode(text)))))
    catch { case _: IllegalArgumentException | _: BufferUnderflowException => None }

  private def read(in: ByteBuffer): Seq[BloomFilter] = {
    val (_, bits) = BloomFilter.header(in.duplicate())
    // After a header of equal form, DYNAMIC_V0 has two numbers of keys and the number of its filters.
    val filters =
      if (in.remaining == Header + (bits.toLong + 7) / 8) Seq(BloomFilter.read(in))
      else {
        BloomFilter.header(in)
        in.position(in.position() + 8)
        val count = in.getInt
        if (count <= 0 || count > in.remaining) throw new IllegalArgumentException(s"$count bloom filters")
        Seq.fill(count)(BloomFilter.read(in))
      }
    if (in.hasRemaining) throw new IllegalArgumentException(s"bloom filters with ${in.remaining} more bytes")
    filters
  }

  private val Header = 13
}
