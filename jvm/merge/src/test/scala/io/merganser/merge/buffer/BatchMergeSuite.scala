package io.merganser.merge.buffer

import io.merganser.merge._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Stored rows in batches, sorted by key or not, and versions in runs of ascending keys or not. */
final class BatchMergeSuite extends AnyFunSuite {
  private val rule   = MergeRule.eventTime(Notation.layout)
  private val random = new Random(Histories.seed)

  private def sorted(changes: Seq[Change]): Seq[Change] = changes.sortBy(change => UTF8String.fromString(change.key))

  private def rows(keys: Seq[String], count: Int, at: Long): Seq[Change] =
    Seq.fill(count)(keys(random.nextInt(keys.size))).zipWithIndex.map { case (key, i) =>
      Change(key, Some(at + random.nextInt(5)), Seq(Some(s"v$at-$i"), None))
    }

  private def lines(base: Seq[Change], buffer: VersionBuffer, baseSorted: Boolean, batchRows: Int): Seq[String] =
    MergePaths.lines(new BatchedRows(base, batchRows, buffer.mergeBatches(baseSorted))).sorted

  private val forms = Seq[(String, Int => String)](
    "the same beginning" -> (i => f"order:$i%07d,line:${i % 7}"),
    "several beginnings" -> (i => if (i % 3 == 0) s"a$i" else if (i % 3 == 1) s"order:$i" else s"\u00e9$i"),
    "beginnings of others" -> (i => "x" * (i % 50) + (if (i % 2 == 0) "\u0000" else "")),
    "equal words" -> (i => s"aaaaaaaaaaaaaaaaaaaa${i % 2}${"b" * (i % 20)}${i % 300}")
  )

  for ((name, key) <- forms; runs <- Seq(1, 3, 16, 40))
    test(s"rows that are sorted are merged as others, keys with $name, in $runs runs") {
      val keys     = (0 until 900).map(key).distinct
      val stored   = rows(keys.filter(_.hashCode % 3 != 0), 700, at = 1)
      val versions = (0 until runs).flatMap(_ => sorted(rows(keys.filter(_.hashCode % 5 != 0), 300 / runs, at = 2)))
      val expected =
        MergePaths.lines(MergePaths.buffer(versions, rule).merge(new StoredRows(stored), baseSorted = false)).sorted
      for (batchRows <- Seq(1, 64, 5000)) {
        assert(lines(sorted(stored), MergePaths.buffer(versions, rule), baseSorted = true, batchRows) == expected)
        assert(lines(stored, MergePaths.buffer(versions, rule), baseSorted = false, batchRows) == expected)
      }
    }

  test("counts of versions do not depend on how they are found") {
    val versions = Notation.changes("k1@5=a k2@1=b k1@4=c k1@6=d k3@1=e k2@1-")
    val counts = Seq(true, false).map { baseSorted =>
      val buffer = MergePaths.buffer(versions, rule)
      lines(Nil, buffer, baseSorted, batchRows = 4)
      (buffer.keyCount, buffer.lateCount, buffer.duplicateCount, buffer.versionCount)
    }
    assert(counts == Seq.fill(2)((3, 1L, 2L, 6L)))
  }

  test("versions that come after the keys were counted are merged too") {
    val buffer = MergePaths.buffer(Notation.changes("k1@1=a k3@1=c k1@2=b"), rule)
    assert(buffer.keyCount == 2)
    val cursor = new Versions(Notation.changes("k3@2=d k4@1=e k2@1=f"))
    while (cursor.next()) buffer.add(cursor.record)
    assert(lines(Nil, buffer, baseSorted = true, batchRows = 4) ==
      Seq("Inserted k1@2=b", "Inserted k2@1=f", "Inserted k3@2=d", "Inserted k4@1=e"))
  }
}
