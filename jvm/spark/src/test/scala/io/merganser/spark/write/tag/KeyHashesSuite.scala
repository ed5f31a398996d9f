package io.merganser.spark.write.tag

import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

final class KeyHashesSuite extends AnyFunSuite {

  private def hashes(keys: Range): KeyHashes = {
    val builder = new KeyHashes.Builder
    keys.foreach(key => builder.add(UTF8String.fromString(s"key-$key")))
    builder.result()
  }

  private def passed(hashes: KeyHashes, keys: Range): Int = {
    val test = hashes.test
    keys.count(key => test(UTF8String.fromString(s"key-$key")))
  }

  private val most = KeyHashes.Few

  for (
    (what, sum, keys) <- Seq(
      ("a few keys", hashes(0 until 10), 0 until 10), ("the most that are few", hashes(0 until most), 0 until most),
      ("one more", hashes(0 until most + 1), 0 until most + 1),
      ("few of each of two tasks", hashes(0 until 10) ++ hashes(10 until 20), 0 until 20),
      ("few of each of two tasks, many together", hashes(0 until most) ++ hashes(most until most + 9),
        0 until most + 9),
      ("few of one task and many of another", hashes(0 until 9) ++ hashes(9 until 2 * most), 0 until 2 * most),
      ("many of one task and few of another", hashes(9 until 2 * most) ++ hashes(0 until 9), 0 until 2 * most),
      ("many of each of two tasks", hashes(0 until 2 * most) ++ hashes(2 * most until 4 * most), 0 until 4 * most)
    )
  )
    test(s"the hashes of a batch match all of its keys and few others: $what") {
      assert(passed(sum, keys) == keys.length)
      val others = passed(sum, keys.length until keys.length + 10000)
      if (keys.length <= most) assert(others == 0) else assert(others < 400)
    }

  test("the hashes of an empty batch match no key") {
    assert(passed(hashes(0 until 0), 0 until 100) == 0)
  }
}
