package io.merganser.table.service

import io.merganser.Extensive
import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, DrawnPoints, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.FaultyFileSystem.{After, Before, Dead, Fault, Hung, Lost}
import io.merganser.table.commit.Creation
import io.merganser.table.options.HistorySettings
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import org.apache.commons.io.FileUtils

/**
 * A file system that fails at operation n of an archiving: at any time every write is on the timeline or
 * in the history, rows stay, and the next archiving does the rest.
 *
 * One n of six for an operation that fails and for a death, in version 9, and of fourteen for the other kinds of
 * faults and places: [[DrawnPoints]].
 */
@Extensive
final class ArchiveFaultsSuite extends TableSuite with ArchivingFixture {

  private val settings =
    ArchiveConfig(minCommits = 2, maxCommits = 3, history = HistorySettings(batch = 2, retained = 1))
  private val rows = Seq("k1@17=v7", "k2@10=b")

  private val faults = Seq(Before -> "fails once", Dead -> "is dead from then on",
    After -> "takes effect and fails once", Lost -> "loses half of what is written once",
    Hung(takesEffect = true) -> "hangs once and takes effect when it is interrupted")

  for (version <- Seq(9, 6); (fault, how) <- faults)
    test(s"version $version: archiving loses no instant if a file system $how at any operation") {
      check(version, fault, faulty)
    }

  for ((fault, how) <- faults.take(3))
    test(s"archiving loses no instant if an object store $how at any operation") {
      check(9, fault, name => Storage(s"gs://${folder.resolve(name)}", FaultyFileSystem.configuration))
    }

  private def check(version: Int, fault: Fault, place: String => Storage): Unit = {
    val prepared = faulty("prepared")
    Creation.create(prepared, propertiesOf(version))
    val table = new DirectTable(prepared, bucketed = false)
    table.upsert(Notation.changes("k1@10=a k2@10=b"))
    // One archiving before, so that this one merges files of the history.
    (1 to 7).foreach { n =>
      table.upsert(Notation.changes(s"k1@1$n=v$n"))
      if (n == 5) archive(prepared, settings)
    }
    val all = archived(prepared) ++ active(prepared)
    assert(all.size == 8)
    val isMain = version == 9 && prepared.fs.getUri == place("n0").fs.getUri && (fault == Before || fault == Dead)
    val points = DrawnPoints.numbers(s"$version $fault $isMain", if (isMain) 6 else 14)
    val end    = points.find(n => !fails(all, n, fault, place(s"n$n"))).get
    info(s"at most $end operations")
    assert(end > 20)
  }

  private def fails(all: Seq[String], n: Int, fault: Fault, storage: Storage): Boolean = {
    FileUtils.copyDirectory(folder.resolve("prepared").toFile, new java.io.File(storage.basePath.toUri.getPath))
    val failed = failing(n, fault)(archive(storage, settings))
    assert((archived(storage) ++ active(storage)).distinct.sorted == all, failed)
    assert(rowsOf(storage) == rows, failed)
    Leftovers.age(storage)
    // The next write repairs what is left of the lock and of temporary files.
    new DirectTable(storage, bucketed = false).upsert(Notation.changes("k2@10=b"))
    archive(storage, settings.copy(maxCommits = 2))
    assert(active(storage).size == 2, failed)
    assert(archived(storage) == all.take(7), failed)
    assert(historyOf(storage).writes.size == 7, failed)
    assert(rowsOf(storage) == rows, failed)
    val files = names(storage, TableConfig.load(storage).timelineFolder).filter(_.head.isDigit)
    assert(files.size == 6, s"$failed: $files")
    assert(names(storage, ".hoodie/.temp").isEmpty && !storage.exists(".hoodie/lock"), failed)
    failed.isDefined
  }

  private def failing(n: Int, fault: Fault)(work: => Any): Option[String] = fault match {
    case hung: Hung => FaultyFileSystem.hanging(n, hung)(_.interrupt())(work)._2
    case _          => FaultyFileSystem.failing(n, fault)(work)._2
  }

  private def rowsOf(storage: Storage): Seq[String] =
    new DirectTable(storage, bucketed = false).rows.map(_.toString).sorted

  private def propertiesOf(version: Int): Map[String, String] =
    DirectTable.properties(mergeOnRead = false) ++
      (if (version < 8) Map("hoodie.table.version" -> "6", "hoodie.timeline.layout.version" -> "1") else Map.empty)
}
