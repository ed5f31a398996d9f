package io.merganser.table.service

import io.merganser.Extensive
import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.{DirectTable, DrawnPoints, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.slice.TableView
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.commons.io.FileUtils

import scala.util.Try

// Guarantee (Repairs and restores): If a restore or a rollback fails or is killed at any file-system operation, readers
//   see the table before or after it (those that began before may fail), and writes are refused until the same call has
//   finished it.
/**
 * A file system that fails at an operation of a restore and of a rollback: readers see the table before it or after
 * it, also those that began before, writes are refused until it is finished, and the next call finishes it.
 *
 * Of twelve pairs of an operation that changes something and a kind of fault one is drawn, and of fifteen operations
 * one that fails without effect: [[DrawnPoints]].
 */
@Extensive
final class RestoreFaultsSuite extends TableSuite with RestoreFixture {

  /** @return the second write and the last one */
  private def prepare(version: Int, mergeOnRead: Boolean): (String, String) = {
    val table = created(faulty("prepared"), version, mergeOnRead)
    upsert(table, "k1@1=a k2@1=b k3@1=c")
    val kept = upsert(table, "k1@2=A k2@2=B")
    upsert(table, "k1@3=AA k4@1=d")
    if (mergeOnRead) table.compact()
    val last = upsert(table, "k2@4=BB k3- k5@1=e")
    if (mergeOnRead) table.scheduleCompaction()
    (kept, last)
  }

  private def copied(name: String): Storage = {
    FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile, true)
    faulty(name)
  }

  private def pruned(s: Storage, read: Timeline): Seq[String] = {
    val view = new TableView(s, config(s), read)
    val some = view.slicesOf(Seq("p0", "p1"))
    some.flatMap(slice => slice.base.map(_.name) ++ slice.logs.map(_.name)).sorted
  }

  for ((version, mergeOnRead) <- Seq(9 -> true, 9 -> false, 6 -> true); isRollback <- Seq(false, true))
    test(
      s"version $version, merge on read $mergeOnRead: a fault at any operation of a " +
        s"${if (isRollback) "rollback" else "restore"} leaves the table before or after, and the next call ends it") {
      val (kept, last) = prepare(version, mergeOnRead)
      def act(s: Storage): RestoreReport =
        if (isRollback) restoring(s).rollback(Some(last)) else restoring(s).restore(kept)
      val whole      = copied("whole")
      val old        = rowsOf(whole)
      val operations = FaultyFileSystem.recorded(act(whole))
      val restored   = rowsOf(whole)
      assert(restored != old && Leftovers.of(whole).isEmpty && operations.size > 20)
      val files   = { val s = copied("files"); (pruned(s, timelineOf(s)), { act(s); pruned(s, timelineOf(s)) }) }
      val changes = operations.zipWithIndex.filter(o => isChange(o._1)).map(_._2 + 1)
      val kinds   = Seq[Fault](Dead, After, DeadAfter, Lost)
      val points = DrawnPoints.of(operations.indices.map(i => i + 1 -> (Before: Fault)), share = 15) ++
        DrawnPoints.of(changes.flatMap(n => kinds.map(n -> _)), share = 12)
      for (((n, fault), i) <- points.zipWithIndex) {
        val s            = copied(s"point-$i")
        val early        = timelineOf(s)
        val (result, at) = FaultyFileSystem.failing(n, fault)(act(s))
        val clue         = s"$fault at $at"
        val seen         = rowsOf(s)
        assert(seen == restored || (seen == old && result.isLeft), clue)
        // A reader that loaded the timeline before the restore.
        Try(sorted(new DirectTable(s, bucketed = false).rows(early))).fold(
          e => assert(e.isInstanceOf[MerganserException], clue), rows => assert(rows == old, clue))
        Try(pruned(s, early)).fold(e => assert(e.isInstanceOf[MerganserException], clue),
          found => assert(found == files._1, clue))
        val table = new DirectTable(s, bucketed = false)
        Leftovers.age(s)
        if (result.isLeft) {
          val unfinished = timelineOf(s).unfinished
          if (unfinished.nonEmpty) {
            val refused = intercept[MerganserException](table.upsert(Notation.changes("k9@1=z")))
            assert(refused.condition == "TABLE_FEATURE_READ_ONLY" && refused.getMessage.contains(
                if (isRollback) "CALL rollback_to_instant" else "CALL restore_to_instant"), clue)
          }
          // Where it completed and failed afterwards, the write is gone.
          if (unfinished.nonEmpty || seen == old) act(s)
        }
        assert(rowsOf(s) == restored, clue)
        table.upsert(Notation.changes("k9@1=z"))
        assert(rowsOf(s) == (restored :+ "k9@1=z").sorted, clue)
        assert(Leftovers.of(s).isEmpty && timelineOf(s).unfinished.isEmpty, clue)
        val now = timelineOf(s)
        assert((if (isRollback) now.rollbacks else now.restores).size == 1, clue)
        FileUtils.deleteDirectory(folder.resolve(s"point-$i").toFile)
      }
      info(s"${operations.size} operations, ${points.size} points")
    }
}
