package io.merganser.spark.prune

import io.merganser.merge.Histories
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

final class KeyRangesSuite extends AnyFunSuite {

  private def ranges(keys: Seq[String]): KeyRanges = {
    val builder = new KeyRanges.Builder
    keys.foreach(k => builder.add(UTF8String.fromString(k)))
    builder.result()
  }

  private def overlaps(ranges: KeyRanges, min: String, max: String): Boolean = ranges.overlaps(Some(min), Some(max))

  test("a small set of keys is matched exactly") {
    val found = ranges(Seq("b", "d", "d", "é"))
    assert(Seq("b" -> "b", "a" -> "c", "d" -> "e", "z" -> "ê").forall { case (min, max) => overlaps(found, min, max) })
    assert(Seq("a" -> "a", "bb" -> "cz", "da" -> "z", "ê" -> "ö").forall { case (min, max) =>
      !overlaps(found, min, max)
    })
  }

  test("a file without a smallest or largest key overlaps everything on that side") {
    val found = ranges(Seq("b", "d"))
    assert(found.overlaps(None, None) && found.overlaps(None, Some("c")) && found.overlaps(Some("c"), None))
    assert(!found.overlaps(None, Some("a")) && !found.overlaps(Some("e"), None))
  }

  test("many keys in three clusters do not overlap files between the clusters") {
    for (name <- Seq("", "id:", "customer:7,number:")) {
      def key(n: Int) = f"$name$n%08d"
      val keys  = new Random(1).shuffle(Seq(50000, 2000000, 2990000).flatMap(from => from until from + 10000 by 5))
      val parts = keys.map(key).grouped(1700).map(ranges).toSeq
      val found = parts.reduce(_ ++ _)
      val hit   = (0 until 300).filter(file => overlaps(found, key(file * 10000), key(file * 10000 + 9999)))
      assert(hit == Seq(5, 200, 299))
    }
  }

  test("every key overlaps the ranges made of random keys") {
    val seed   = Histories.seed
    val random = new Random(seed)
    for (_ <- 1 to 8) {
      val keys  = Seq.fill(random.nextInt(5000) + 1)(random.nextString(random.nextInt(4)) + random.nextInt(100000))
      val found = keys.grouped(random.nextInt(3000) + 1).map(ranges).reduce(_ ++ _)
      assert(keys.forall(k => overlaps(found, k, k)), s"seed $seed")
    }
  }
}
