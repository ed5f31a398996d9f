package io.merganser.table.index

import net.jpountz.xxhash.XXHashFactory
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

class HashRingSuite extends AnyFunSuite {

  private val reference = XXHashFactory.safeInstance().hash32()

  test("the hash is xxHash of 32 bits with seed 0, for keys of every length") {
    val random = new Random(1)
    for (length <- 0 to 70) {
      val bytes = Array.fill(length)(random.nextInt(256).toByte)
      assert(XxHash32.hash(UTF8String.fromBytes(bytes)) == reference.hash(bytes, 0, length, 0), s"length $length")
    }
  }

  test("values of several hash fields are concatenated and hashed, a single key as it is") {
    def hash(key: String, fields: String*) = HashRing.hash(UTF8String.fromString(key), fields)
    assert(hash("id:1,name:ü", "id", "name") == hash("1ü"))
    assert(hash("id:1,name:ü", "name") == hash("ü"))
    assert(hash("id:1,name:__empty__", "id", "name") == hash("1"))
    assert(hash("id:1,name:__null__", "id", "name") == hash("1null"))
    assert(hash("a,b", "id") == (reference.hash("a,b".getBytes("UTF-8"), 0, 3, 0) & Int.MaxValue))
  }

  test("the first ring of a partition follows from its path and its number of buckets") {
    val ring = HashRing.first("2024-01-01", 4)
    assert(ring.nodes.map(_.value) == Seq(536870912, 1073741824, 1610612736, Int.MaxValue))
    assert(ring.nodes.take(2).map(_.fileIdPrefix) == Seq("012bd7c4-915d-3f23-9370-29391a6c9f49",
      "2f3ed56d-4c3c-3bcd-ba02-a3e5629903e6"))
    assert(HashRing.parse(ring.toJson, "file") == ring)
  }

  test("a hash belongs to the first node that it does not exceed, and past the last node to the first one") {
    val nodes = Vector(HashNode(10, "a"), HashNode(20, "b"))
    val ring  = HashRing("", HashRing.First, 2, 0, nodes)
    assert(Seq(0, 10, 11, 20, 21).map(ring.bucket) == Seq(0, 0, 1, 1, 0))
    assert(ring.bucketOf("b-0").contains(1))
    assert(ring.bucketOf("c-0").isEmpty)
  }

  test("a renewed ring has new file groups for replaced ones and the same ranges") {
    val ring    = HashRing.first("p", 3)
    val renewed = ring.renewed("20240101000000000", _ == ring.nodes(1))
    assert(renewed.nodes.map(_.value) == ring.nodes.map(_.value))
    assert(renewed.nodes.zip(ring.nodes).map { case (a, b) => a == b } == Seq(true, false, true))
    assert((renewed.sequence, renewed.instant) == ((1, "20240101000000000")))
    assert(ring.renewed("20240101000000000", _ => false) eq ring)
  }

  test("the number of buckets is that of the first pattern that matches the whole partition path") {
    val rule = BucketRule.parse("2024-01-0[12],3; 2024.*,4;", "option")
    assert(Seq("2024-01-01", "2024-01-03", "2023", "x2024-01-01").map(rule.buckets(_, 7)) == Seq(3, 4, 7, 7))
    for (wrong <- Seq("a", "a,0", ",3", "(,3", "a,b"))
      assert(intercept[io.merganser.merge.MerganserException](
        BucketRule.parse(wrong, "option")).condition == "OPTION_VALUE_INVALID")
  }
}
