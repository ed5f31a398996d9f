package io.merganser.table.index

import org.scalatest.funsuite.AnyFunSuite

import java.nio.charset.StandardCharsets.UTF_8

class BloomFilterSuite extends AnyFunSuite {

  test("a filter finds every added key and few others, also after encoding") {
    val filter = BloomFilter.sized(1000, 0.01)
    (0 until 1000).foreach(i => filter.add(s"schlüssel-$i".getBytes(UTF_8)))
    val read = BloomFilter.decode(filter.encode)
    assert((0 until 1000).forall(i => read.mayContain(s"schlüssel-$i")))
    assert((0 until 10000).count(i => read.mayContain(s"other-$i")) < 300)
  }

  test("a filter for 60,000 keys at 1e-9 has the reference's size and number of hashes") {
    val bytes = java.util.Base64.getDecoder.decode(BloomFilter.sized(60000, 1e-9).encode)
    val head  = java.nio.ByteBuffer.wrap(bytes)
    assert((head.getInt, head.getInt, head.get, head.getInt) == ((-1, 30, 1.toByte, 2587966)))
    assert(bytes.length == 13 + (2587966 + 7) / 8)
  }

  test("a filter with fewer keys than its size is halved without losing keys or precision") {
    val filter = BloomFilter.divisible(60000, 1e-3)
    (0 until 3000).foreach(i => filter.add(s"key-$i".getBytes(UTF_8)))
    val shrunk = BloomFilter.decode(filter.shrunk(3000).encode)
    assert((0 until 3000).forall(i => shrunk.mayContain(s"key-$i")))
    assert((0 until 10000).count(i => shrunk.mayContain(s"other-$i")) < 30)
    assert(Seq(60000, 30001, 30000, 3000, 0).map(filter.shrunk(_).encode.length * 100 / filter.encode.length) ==
      Seq(100, 100, 50, 6, 0))
    // As the reference sizes them, filters are not shrunk.
    val exact = BloomFilter.sized(60000, 1e-9)
    assert(exact.shrunk(10).encode == exact.encode)
  }

  test("a filter is encoded as the reference encodes the same keys") {
    val filter = BloomFilter.sized(3, 0.01)
    Seq("1", "schlüssel-é€", "abcdefgh😀").foreach(key => filter.add(key.getBytes(UTF_8)))
    assert(filter.encode == "/////wAAAAcBAAAAHYzc4wo=")
  }

  test("a malformed filter is refused, and as a file's filter excludes no key") {
    intercept[IllegalArgumentException](BloomFilter.decode("AAAAAAAAAAAAAAAAAAAAAAAA"))
    val whole = BloomFilter.sized(100, 0.01).encode
    assert(StoredBloomFilter.decode(whole).exists(filter => !filter.mayContain("a".getBytes(UTF_8))))
    for (
      text <-
        Seq("", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", whole.take(20), whole.take(whole.length - 8), "?", whole + whole)
    )
      assert(StoredBloomFilter.decode(text).isEmpty, text)
  }
}
