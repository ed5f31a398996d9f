package io.merganser.table.index

import io.merganser.merge.Histories
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

class BucketIndexSuite extends AnyFunSuite {

  private def bucket(key: String, hashFields: String, buckets: Int): Int = {
    val ofText  = BucketIndex.bucket(key, hashFields.split(',').toSeq, buckets)
    val ofBytes = BucketIndex.bucket(UTF8String.fromString(key), hashFields.split(',').toSeq, buckets)
    assert(ofText == ofBytes, key)
    ofText
  }

  test("key 3 is in bucket 2 of 4") {
    assert(bucket("3", "id", 4) == 2)
  }

  test("keys with odd values are in the buckets of the reference") {
    // (key, hash fields, bucket of 1000003), computed by the reference's release 1.2.0
    val recorded = Seq(
      ("id:1", "id", 226024), ("a:1,b:2", "a,b", 2530), ("a:1,b:2", "b", 81), ("a:__null__,b:__empty__", "a,b", 961),
      ("a:x:y,b:2", "a,b", 635411), ("a:x,y,b:2", "a,b", 621957), ("12:30", "id", 799339), ("12:30,x", "id", 590089),
      ("a,b", "id", 94710), ("a:x,c:3,b:2", "a,b", 4731), ("a:,b:2", "a,b", 1011), ("id:", "id", 104094),
      ("id:a:b", "id", 749473), ("a:1,b:2,", "a,b", 4074), ("http://x", "id", 561134)
    )
    recorded.foreach { case (key, hashFields, expected) => assert(bucket(key, hashFields, 1000003) == expected, key) }
  }

  test("keys of any script have the same bucket as text and as bytes, and it is never negative") {
    (0 until 2000).foreach { i =>
      assert((0 until 7).contains(bucket(s"key-$i", "id", 7)))
      assert((0 until 7).contains(bucket(s"schlüssel-$i-€😀", "id", 7)))
    }
  }

  test("composite keys with any values have the same bucket as text and as bytes") {
    val seed   = Histories.seed
    val random = new Random(seed)
    val parts  = Seq("a", "b", "c", ":", ":", ",", ",", "1", "__null__", "__empty__", "é", "a:", ",b:")
    withClue(s"seed $seed: ")((0 until 20000).foreach { _ =>
      val key = Seq.fill(random.nextInt(10))(parts(random.nextInt(parts.size))).mkString
      bucket(key, Seq("a", "b", "a,b", "x", "é")(random.nextInt(5)), 1000003)
    })
  }
}
