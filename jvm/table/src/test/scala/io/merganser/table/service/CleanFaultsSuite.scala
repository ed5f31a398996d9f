package io.merganser.table.service

import io.merganser.Extensive
import io.merganser.table.{DrawnPoints, FaultyFileSystem, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Action
import org.apache.commons.io.FileUtils

// Guarantee (Failures): If a file-system operation fails during a clean, nothing that is retained is deleted, and the
//   next clean deletes the rest. Also: CleaningServiceSuite
/**
 * A file system that fails at an operation of a clean: nothing that is retained goes, and the next one completes. At
 * [[DrawnPoints]].
 */
@Extensive
final class CleanFaultsSuite extends TableSuite with CleaningFixture {

  private val how = commits(1)

  private def prepared(version: Int): Unit = {
    val s = faulty("prepared")
    table(version, s)
    val t = (1 to 4).map(i => s"2026010100000$i" + "000")
    t.take(3).foreach(write(s, _, Seq("a", "b")))
    if (version >= 8) {
      write(s, t.head.dropRight(1) + "5", Seq("c"), partition = "q")
      write(s, t(1).dropRight(1) + "5", action = "replacecommit", partition = "q", replaced = Seq("c"))
    }
    write(s, t(3), Seq("a", "b"))
    if (version < 8) completeInOrder(s)
  }

  private def copied(name: String): Storage = {
    FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile, true)
    faulty(name)
  }

  for (version <- Seq(6, 9))
    test(
      s"version $version: a fault at any operation of a clean keeps the newest slices, and the next clean " +
        "deletes the rest") {
      prepared(version)
      val whole            = copied("whole")
      val operations       = FaultyFileSystem.recorded(clean(whole, how))
      val (expected, live) = (data(whole), show(view(whole).slices))
      assert(expected.size == 4 && operations.size > 10)
      val changes = operations.zipWithIndex.filter(o => isChange(o._1)).map(_._2 + 1)
      val points = DrawnPoints.of(operations.indices.map(i => i + 1 -> (Before: Fault)) ++ changes.flatMap(n =>
        Seq(n -> After, n -> Dead, n -> DeadAfter, n -> Lost)))
      for (((n, fault), i) <- points.zipWithIndex) {
        val s       = copied(s"point-$i")
        val (_, at) = FaultyFileSystem.failing(n, fault)(clean(s, how))
        val clue    = s"$fault at $at"
        assert(expected.subsetOf(data(s)) && show(view(s).slices) == live, clue)
        clean(s, how)
        assert(data(s) == expected && timeline(s).pending.isEmpty && !s.exists("q"), clue)
        assert(timeline(s).instants.count(_.action == Action.Clean) == 1, clue)
        FileUtils.deleteDirectory(folder.resolve(s"point-$i").toFile)
      }
      info(s"${operations.size} operations, ${points.size} points")
    }
}
