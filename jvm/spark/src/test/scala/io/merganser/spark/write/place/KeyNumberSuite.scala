package io.merganser.spark.write.place

import io.merganser.merge.Histories
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

class KeyNumberSuite extends AnyFunSuite {

  private def number(group: Int, key: String, start: String, isNumber: Boolean): Long =
    KeyNumber.number(group, UTF8String.fromString(key), UTF8String.fromString(start), isNumber)

  test("the number of a smaller group or key is never the larger one, whatever keys begin with") {
    val seed     = Histories.seed
    val random   = new Random(seed)
    val alphabet = Seq("0", "1", "9", "-", ",", ":", "a", "id:", "é", "€", "😀", "\u0000", "\u007f", " ")
    def text()   = Seq.fill(random.nextInt(9))(alphabet(random.nextInt(alphabet.size))).mkString
    val groups   = Seq(0, 0, 1, 2, 32766, 32767, 32768, Int.MaxValue)
    for (start <- Seq("", "id:", "i", "€", "9"); isNumber <- Seq(true, false)) {
      val rows = Seq.fill(400) {
        (groups(random.nextInt(groups.size)), (if (random.nextBoolean()) start else "") + text())
      }
      val sorted = rows.sortWith { case ((a, x), (b, y)) =>
        a < b || a == b && UTF8String.fromString(x).compareTo(UTF8String.fromString(y)) < 0
      }
      val numbers = sorted.map { case (group, key) => number(group, key, start, isNumber) }
      withClue(s"seed $seed, start '$start', number $isNumber: ")(assert(numbers == numbers.sorted))
    }
  }

  test("numbers differ where keys that begin alike differ in their first twelve digits or six bytes") {
    def ofId(key: String) = number(3, key, "id:", isNumber = true)
    assert(ofId("id:123456789012,n:1") > ofId("id:123456789011,n:9"))
    assert(ofId("id:12,n:1") < ofId("id:120,n:1") && ofId("id:12,n:1") == ofId("id:12,n:2"))
    assert(number(0, "abcdef1", "", isNumber = false) > number(0, "abcdee9", "", isNumber = false))
  }
}
