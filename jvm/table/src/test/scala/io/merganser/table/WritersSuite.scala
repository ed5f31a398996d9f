package io.merganser.table

import java.util.concurrent.TimeUnit

import io.merganser.Extensive
import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.commit.{Creation, Transaction}
import io.merganser.table.storage.{LockContender, Storage}

import scala.util.{Failure, Success, Try}

/** Several writers of one table at once: a write that lost reports it, and no row is lost or doubled. */
@Extensive
final class WritersSuite extends TableSuite {
  import Writer.{beating, upserting}

  private def create(mergeOnRead: Boolean): Storage = {
    Creation.create(storage, DirectTable.properties(mergeOnRead))
    storage
  }

  private def rows(storage: Storage): Seq[String] =
    new DirectTable(storage, bucketed = false).rows.map(_.toString).sorted

  private def expected(writers: Seq[String], times: Int): Seq[String] =
    (for (w <- writers; i <- 1 to times) yield s"$w$i@$i=$w").sorted

  for (mergeOnRead <- Seq(false, true); bucketed <- Seq(false, true); beats <- Seq(false, true))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}, ${if (bucketed) "BUCKET" else "SIMPLE"}, " +
        s"${if (beats) "with" else "without"} heartbeats: threads that retry after conflicts lose and duplicate no " +
        "row") {
      val table   = create(mergeOnRead)
      val options = if (beats) beating else Transaction.Options()
      val threads = Seq("a", "b").map(w => new Thread(() => upserting(new DirectTable(table, bucketed, options), w, 4)))
      threads.foreach(_.start())
      threads.foreach(_.join(120000))
      assert(rows(table) == expected(Seq("a", "b"), 4))
    }

  test("concurrent processes that retry after conflicts lose and duplicate no row") {
    val table = create(mergeOnRead = true)
    val other = LockContender.startMain(Writer, folder.resolve("t").toUri.toString, "b", "6")
    upserting(new DirectTable(table, bucketed = false, beating), "a", 6)
    assert(other.waitFor(120, TimeUnit.SECONDS) && other.exitValue == 0)
    assert(rows(table) == expected(Seq("a", "b"), 6))
  }

  test("concurrent upserts with heartbeats to different file groups both succeed") {
    val table = new DirectTable(create(mergeOnRead = false), bucketed = false, beating)
    val one   = table.begun(Notation.changes("k1@1=a k3@1=b"))
    val other = table.begun(Notation.changes("k2@1=c k4@1=d"))
    other.commit()
    one.commit()
    assert(rows(table.storage) == Seq("k1@1=a", "k2@1=c", "k3@1=b", "k4@1=d"))
  }

  for (bucketed <- Seq(false, true))
    test(s"${if (bucketed) "BUCKET" else "SIMPLE"}: the second of two concurrent upserts of one new key is refused") {
      val table = new DirectTable(create(mergeOnRead = false), bucketed, beating)
      val one   = table.begun(Notation.changes("k1@1=a k3@1=a"))
      val other = table.begun(Notation.changes("k3@2=b k5@2=b"))
      other.commit()
      assert(conditionOf(one.commit()) == "COMMIT_CONFLICT")
      assert(rows(table.storage) == Seq("k3@2=b", "k5@2=b"))
      table.upsert(Notation.changes("k1@1=a k3@1=a"))
      assert(rows(table.storage) == Seq("k1@1=a", "k3@2=b", "k5@2=b"))
    }

  test("SIMPLE: concurrent upserts of different keys with overlapping ranges both succeed") {
    val table = new DirectTable(create(mergeOnRead = false), bucketed = false, beating)
    val one   = table.begun(Notation.changes("k1@1=a k5@1=a"))
    val other = table.begun(Notation.changes("k3@2=b k7@2=b"))
    other.commit()
    one.commit()
    assert(rows(table.storage) == Seq("k1@1=a", "k3@2=b", "k5@1=a", "k7@2=b"))
  }

  test("a compaction and concurrent upserts both succeed without losing rows") {
    val table = new DirectTable(create(mergeOnRead = true), bucketed = true, beating)
    table.upsert(Notation.changes("k1@1=a k2@1=a k3@1=a k4@1=a"))
    table.upsert(Notation.changes("k1@2=b k2@2=b"))
    val early = table.begun(Notation.changes("k1@3=c k3-"))
    table.scheduleCompaction()
    val between = table.begun(Notation.changes("k2@3=c"))
    early.commit()
    table.runCompactions()
    between.commit()
    assert(rows(table.storage) == Seq("k1@3=c", "k2@3=c", "k4@1=a"))
    table.compact()
    assert(rows(table.storage) == Seq("k1@3=c", "k2@3=c", "k4@1=a"))
    assert(table.timeline.pending.isEmpty)
  }
}

/** A writer that does not give up; also the main class of another process. */
object Writer {

  val beating: Transaction.Options = Transaction.Options(heartbeatMs = Some(60000L))

  /** Writes `times` keys, one a commit and the last one's again, so that writers share file groups. */
  def upserting(table: DirectTable, name: String, times: Int): Unit =
    for (i <- 1 to times) insist(table.upsert(Notation.changes(s"$name$i@$i=$name ${name}1@1=$name")))

  private def insist(write: => Any): Unit = Try(write) match {
    case Success(_)                                                         => ()
    case Failure(e: MerganserException) if e.condition == "COMMIT_CONFLICT" => insist(write)
    case Failure(e)                                                         => throw e
  }

  def main(args: Array[String]): Unit =
    upserting(new DirectTable(Storage(args(0), HadoopDefaults.shared), bucketed = false, beating), args(1),
      args(2).toInt)
}
