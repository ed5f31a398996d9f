package io.merganser.merge.buffer

import io.merganser.merge._
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

// Guarantee (Size): Log versions that exceed the memory spill, within memory that the tasks of a process share: 300 MB
//   of logs are merged in a heap of 512 MB, 10 GB in 1 GB with `--full`. Also: BigSlicesSuite
class SpillSuite extends AnyFunSuite with InTask {
  private val rules = Seq[(Oracle.Mode, MergeRule)](
    Oracle.EventTime -> MergeRule.eventTime(Notation.layout),
    Oracle.CommitTime -> MergeRule.commitTime(Notation.layout)
  )
  private val eventTime = rules.head._2

  private def manyChanges(count: Int): Seq[Change] = {
    val histories = new Histories(partials = true)
    val random    = new Random(Histories.seed)
    Seq.fill(count)(histories.change(random, keys = count / 3))
  }

  for ((mode, rule) <- rules; (claim, tested) <- Seq("" -> rule, ", apart" -> new MergePaths.Apart(rule)))
    test(s"$mode$claim: beyond few bytes or none, stored rows sorted or not, any history matches the oracle") {
      inTask {
        Histories.forAll(partials = true) { (h, random) =>
          val baseSorted = random.nextBoolean()
          val base       = if (baseSorted) MergePaths.inKeyOrder(h.base) else h.base
          val buffer     = MergePaths.buffer(h.versions, tested, bufferBytes = 500L * random.nextInt(4))
          MergePaths.lines(buffer.merge(new StoredRows(base), baseSorted)) -> Oracle.merge(mode, h.base, h.versions)
        }
      }
    }

  for ((mode, rule) <- rules; (claim, tested) <- Seq("" -> rule, ", apart" -> new MergePaths.Apart(rule)))
    test(s"$mode$claim: in key order, in memory or spilled, any history matches the oracle, with the same counts") {
      inTask {
        Histories.forAll(partials = true) { (h, random) =>
          val bytes = Seq(0L, 500L, Long.MaxValue)(random.nextInt(3))
          val base  = MergePaths.inKeyOrder(h.base)
          def run(merging: VersionBuffer => MergeIterator) = {
            val buffer = MergePaths.buffer(h.versions, tested, bytes)
            val merge  = merging(buffer)
            (MergePaths.lines(merge), buffer.lateCount, buffer.duplicateCount)
          }
          val isInTable = random.nextBoolean()
          val (lines, late, duplicates) = run { buffer =>
            if (isInTable && buffer.isInMemory) buffer.get(UTF8String.fromString("k1"))
            buffer.mergeSorted(new StoredRows(base), buffer.cursor())
          }
          val (unordered, sameLate, sameDuplicates) = run(_.merge(new StoredRows(base), baseSorted = false))
          val keys                                  = lines.map(_.split("[ @]")(1))
          assert(keys == keys.sorted && lines.sorted == unordered.sorted)
          assert((late, duplicates) == ((sameLate, sameDuplicates)))
          lines -> Oracle.merge(mode, h.base, h.versions)
        }
      }
    }

  for ((mode, rule) <- rules; (claim, tested) <- Seq("" -> rule, ", apart" -> new MergePaths.Apart(rule)))
    test(s"$mode$claim: versions that were emitted for another log, spilled or not, merge as the oracle has them") {
      inTask {
        Histories.forAll(partials = true) { (h, random) =>
          val (first, rest) = h.versions.splitAt(random.nextInt(h.versions.size + 1))
          val emitted       = MergePaths.buffer(first, tested, bufferBytes = 500L * random.nextInt(4)).emitted()
          val again         = new VersionBuffer(Notation.layout, MergePaths.fold(tested), Long.MaxValue)
          while (emitted.next()) {
            val version = emitted.winner
            // A log has the end of a history as an unconditional delete of its own.
            if (version.endsHistory && !version.isUnconditional)
              again.add(new Version().set(version.row, isDelete = true, isUnconditional = true))
            again.add(version)
          }
          rest.foreach(change => again.add(Notation.record(change)))
          MergePaths.lines(again.merge(new StoredRows(h.base), baseSorted = false)) -> Oracle.merge(mode, h.base,
            h.versions)
        }
      }
    }

  /** Late versions and duplicates of a key, in memory and in sorted runs: these are the same. */
  private def replaced(words: String, rule: MergeRule, retained: Int = 0, emits: Boolean = false): (Long, Long) = {
    def counts(): (Long, Long) = {
      val buffer = new VersionBuffer(Notation.layout, MergePaths.fold(rule), bufferBytes = 0)
      Notation.changes(words).zipWithIndex.foreach { case (change, i) =>
        val version = Notation.record(change)
        version.isRetained = i < retained
        buffer.add(version)
      }
      val merge = if (emits) buffer.emitted() else buffer.merge()
      while (merge.next()) {}
      (buffer.lateCount, buffer.duplicateCount)
    }
    val spilled = inTask(counts())
    assert(counts() == spilled)
    spilled
  }

  test("a version that loses to an earlier one of the logs is late, and one that a later one replaces is a duplicate") {
    for (emits <- Seq(false, true)) {
      assert(replaced("k1@5=a k1@3=b k1@4=c k1@7=d k1@6=e k2@1=x k2@2=y", eventTime, emits = emits) == ((3, 2)))
      assert(replaced("k1@5=a k1@null=b k1@null- k1@3-", eventTime, emits = emits) == ((3, 0)))
      assert(replaced("k1@5- k1@4=a k1- k1@1=b", eventTime, emits = emits) == ((1, 2)))
    }
  }

  test("all but one version of a key are duplicates if they cannot be combined, none if emitted") {
    val apart = new MergePaths.Apart(eventTime)
    assert(replaced("k1@5=a k1@3=b k1@4=c k2@1=x", apart) == ((0, 2)))
    assert(replaced("k1@5=a k1@3=b k1@4=c k2@1=x", apart, emits = true) == ((0, 0)))
    assert(replaced("k1@5=a k1@3=b k1@6=x,_ k1@4=c", eventTime) == ((1, 2)))
  }

  test("a delete retained in the base file is no duplicate, and versions that lose to it are late") {
    val apart = new MergePaths.Apart(eventTime)
    assert(replaced("k1@5- k2@5-", eventTime, retained = 2) == ((0, 0)))
    assert(replaced("k1@5- k2@5- k1@3=a k1@4=b", eventTime, retained = 2) == ((2, 0)))
    assert(replaced("k1@5- k2@5- k1@3=a k1@7=b k1@6=c k1@8=d k2@5=e", eventTime, retained = 2) == ((2, 1)))
    assert(replaced("k1@5- k2@5- k1@3=a k1@7=b k2@6=c", apart, retained = 2) == ((0, 1)))
  }

  for (rule <- Seq(eventTime, rules(1)._2, new MergePaths.Apart(eventTime)))
    test(s"${rule.getClass.getSimpleName}, ${rule.laws}: each version has one outcome, is late or is a duplicate") {
      inTask {
        Histories.forAll(partials = true) { (h, random) =>
          val buffer = MergePaths.buffer(h.versions, rule, bufferBytes = 500L * random.nextInt(4))
          val merge  = buffer.merge(new StoredRows(h.base), baseSorted = false)
          while (merge.next()) {}
          val outcomes = buffer.versionCount - buffer.lateCount - buffer.duplicateCount
          Seq(outcomes.toString) -> Seq(h.versions.map(_.key).distinct.size.toString)
        }
      }
    }

  test("spilled runs are merged, and no file is left when the task ends") {
    val changes = manyChanges(400)
    val base =
      MergePaths.inKeyOrder(changes.filter(c => !c.isDelete && !c.isPartial).groupBy(_.key).values.map(_.head).toSeq)
    val (lines, spilled, files) = inTask {
      val buffer = MergePaths.buffer(changes, eventTime, bufferBytes = 2000)
      val files  = spillFiles.size
      val lines =
        MergePaths.lines(buffer.merge(new StoredRows(new Random(Histories.seed).shuffle(base)), baseSorted = false))
      (lines, InTask.diskBytesSpilled, files)
    }
    assert(spilled > 0 && files > 0)
    assert(lines.sorted == Oracle.merge(Oracle.EventTime, base, changes).sorted)
    assert(spillFiles.isEmpty)
  }

  test("a merge that is abandoned halfway frees its memory and its files when the task ends") {
    inTask {
      val buffer  = MergePaths.buffer(manyChanges(200), eventTime, bufferBytes = 2000)
      val merging = buffer.merge(new StoredRows(Notation.changes("k5@1=a k3@1=b")), baseSorted = false)
      assert(merging.next() && merging.next())
      assert(spillFiles.nonEmpty)
    }
    assert(spillFiles.isEmpty)
  }

  test("a buffer that is never merged frees its memory and its files when the task ends") {
    inTask {
      MergePaths.buffer(manyChanges(200), eventTime, bufferBytes = 2000)
      assert(spillFiles.nonEmpty)
    }
    assert(spillFiles.isEmpty)
  }

  test("a spilled buffer holds no key in memory, and is not empty") {
    inTask {
      val buffer = MergePaths.buffer(Notation.changes("k1@1=a k2@1=b"), eventTime, bufferBytes = 0)
      assert(TaskContext.get() != null)
      assert(buffer.keyCount == 0 && !buffer.isEmpty)
      assert(MergePaths.lines(buffer.merge()) == Seq("Inserted k1@1=a", "Inserted k2@1=b"))
    }
  }

  test("spilled and stored rows have only the table's columns") {
    inTask {
      val buffer  = MergePaths.buffer(Notation.changes("k1@1=a k2@2=b"), eventTime, bufferBytes = 0)
      val merging = buffer.merge(new StoredRows(Notation.changes("k3@1=c k2@1=x")), baseSorted = false)
      var rows    = Seq.empty[UnsafeRow]
      while (merging.next()) rows :+= merging.row.copy().asInstanceOf[UnsafeRow]
      assert(rows == Notation.changes("k1@1=a k2@2=b k3@1=c").map(Notation.row))
    }
  }

  test("stored rows are put into key order, in a task and outside one; rows of one key keep their order") {
    val rows = Notation.changes((0 until 100).map(i => s"k${i * 37 % 20}@$i=a").mkString(" "))
    def sorted(): Seq[String] =
      SortedRows.byKey(new StoredRows(rows), Notation.layout).map(Notation.read(_).toString).toList
    val expected = rows.sortBy(_.key).map(_.toString)
    assert(sorted() == expected)
    assert(inTask(sorted()) == expected)
  }

  test("a delete without data is preserved where the columns of the table are declared not null") {
    val schema = StructType(Notation.schema.map(_.copy(nullable = false))).add("n", IntegerType, nullable = false)
    val layout = RowLayout(schema, "k", Seq("ts"), None)
    def row(key: String, values: Any*): InternalRow =
      new GenericInternalRow(Array[Any](UTF8String.fromString(key) +: values: _*))
    inTask {
      val buffer = new VersionBuffer(layout, MergePaths.fold(MergeRule.eventTime(layout)), 0)
      buffer.add(new Version().set(row("k1", 5L, null, null, null), isDelete = true, isUnconditional = false))
      buffer.add(new Version().set(row("k2", null, null, null, null), isDelete = true, isUnconditional = true))
      val text    = UTF8String.fromString("a")
      val base    = Iterator(row("k1", 6L, text, text, 1), row("k2", 6L, text, text, 1))
      val merging = buffer.merge(base, baseSorted = true)
      assert(merging.next() && merging.outcome == Outcome.Late)
      assert(merging.next() && merging.outcome == Outcome.Deleted && merging.winner.isUnconditional)
      assert(!merging.next())
    }
  }
}
