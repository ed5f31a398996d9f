package io.merganser.table

import java.nio.file.{Path => NioPath}

import io.merganser.Extensive
import io.merganser.merge.Notation
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.FaultyFileSystem.{After, Before, Dead, Fault, Hung, Lost}
import org.apache.commons.io.FileUtils

// Guarantee (Failures): If a file-system operation of a write or service, an `ALTER TABLE`, an upgrade or a rollback
//   fails, succeeds but reports failure, completes partly, hangs or is the last of its process, readers see the old
//   rows or the new ones, the next write succeeds, and no file of the failed action remains (temporary ones for up to
//   an hour). Also: SparkFaultsSuite, WriteFaultsByActionSuite, CompactionFaultsSuite, ClusteringFaultsSuite,
//   AlterFaultsSuite, UpgradeFaultsSuite, RollbackFaultsSuite
/**
 * A file system that fails at operation n of a write: readers see the table before it or after it, and the
 * next write repairs the table. Without an engine; the suites of the engine's module do this through Spark.
 *
 * One n of six for an operation that fails and for a death, of fourteen for the other kinds of faults: [[DrawnPoints]].
 */
@Extensive
final class WriteFaultsSuite extends TableSuite {

  private val before  = Seq("k1@10=a", "k2@10=b", "k3@10=c", "k4@10=d")
  private val batch   = "k1@20=A k2- k5@20=e k6@20=f"
  private val after   = Seq("k1@20=A", "k3@10=c", "k4@10=d", "k5@20=e", "k6@20=f")
  private val nextRow = "k3@30=C"

  private val faults = Seq(Before -> "fails once", Dead -> "is dead from then on",
    After -> "takes effect and fails once", Lost -> "loses half of what is written once",
    Hung(takesEffect = false) -> "hangs once until it is interrupted",
    Hung(takesEffect = true) -> "hangs once and takes effect when it is interrupted")

  private val kinds = for (mergeOnRead <- Seq(false, true); bucketed <- Seq(false, true)) yield (mergeOnRead, bucketed)

  private def name(mergeOnRead: Boolean, bucketed: Boolean): String =
    s"${if (mergeOnRead) "merge on read" else "copy on write"}, ${if (bucketed) "BUCKET" else "SIMPLE"}"

  for ((mergeOnRead, bucketed) <- kinds; (fault, how) <- faults)
    test(
      s"${name(mergeOnRead, bucketed)}: a file system that $how in an upsert leaves the old or the new table, " +
        "and the next write repairs it") {
      val prepared = prepare(mergeOnRead, bucketed)(_ => ())
      check(prepared, bucketed, fault, _.upsert(Notation.changes(batch)), Seq(before, after))
    }

  for ((fault, how) <- faults)
    test(
      s"an object store that $how in an upsert with compaction leaves the old or the new table, and the next " +
        "write repairs it") {
      val prepared                       = prepare(mergeOnRead = true, bucketed = true)(_ => ())
      def work(table: DirectTable): Unit = { table.upsert(Notation.changes(batch)); table.compact() }
      check(prepared, bucketed = true, fault, work, Seq(before, after), _.compact(), store)
    }

  for ((fault, how) <- faults)
    test(s"a file system that $how in a compaction leaves the rows unchanged, and the next run completes it") {
      val prepared = prepare(mergeOnRead = true, bucketed = true)(_.upsert(Notation.changes(batch)))
      check(prepared, bucketed = true, fault, _.compact(), Seq(after), _.compact())
    }

  for ((fault, how) <- faults)
    test(s"a file system that $how in a first write leaves no, an empty or the whole table, and the next write works") {
      everyOperation(fault) { (storage, failing) =>
        def write(): Unit = {
          if (!TableConfig.exists(storage)) Creation.create(storage, DirectTable.properties(mergeOnRead = true))
          new DirectTable(storage, bucketed = false).upsert(Notation.changes(before.mkString(" ")))
          ()
        }
        val failed = failing(write())
        if (TableConfig.exists(storage)) assert(Set(Seq.empty[String], before)(rowsOf(storage)), failed)
        else assert(conditionOf(rowsOf(storage)) == "PATH_IS_NO_TABLE", failed)
        Leftovers.age(storage)
        write()
        assertRepaired(storage, before, failed)
        failed.isDefined
      }
    }

  /** @param states the rows a reader may see after the failure */
  private def check(
      prepared: NioPath,
      bucketed: Boolean,
      fault: Fault,
      work: DirectTable => Any,
      states: Seq[Seq[String]],
      repeated: DirectTable => Any = _ => (),
      place: String => Storage = faulty
  ): Unit =
    everyOperation(fault, place) { (storage, failing) =>
      FileUtils.copyDirectory(prepared.toFile, new java.io.File(storage.basePath.toUri.getPath))
      val table  = new DirectTable(storage, bucketed)
      var isDone = false
      val failed = failing { work(table); isDone = true }
      val seen   = rowsOf(storage)
      assert(if (isDone) seen == states.last else states.contains(seen), failed)
      Leftovers.age(storage)
      table.upsert(Notation.changes(nextRow))
      repeated(table)
      assertRepaired(storage, (seen.filterNot(_.startsWith("k3")) :+ nextRow).sorted, failed)
      failed.isDefined
    }

  /** Runs the body with a table's place for numbers of operations until it reports that operation n was not reached. */
  private def everyOperation(
      fault: Fault,
      place: String => Storage = faulty
  )(body: (Storage, (=> Unit) => Option[String]) => Boolean): Unit = {
    def failing(n: Int)(work: => Unit): Option[String] = fault match {
      case hung: Hung => FaultyFileSystem.hanging(n, hung)(_.interrupt())(work)._2
      case _          => FaultyFileSystem.failing(n, fault)(work)._2
    }
    val share = if (fault == Before || fault == Dead) 6 else 14
    val end   = DrawnPoints.numbers(fault.toString, share).find(n => !body(place(s"n$n"), work => failing(n)(work))).get
    info(s"at most $end operations")
    assert(end > 30)
  }

  private def store(name: String): Storage =
    Storage(s"gs://${folder.resolve(name)}", FaultyFileSystem.configuration)

  private def prepare(mergeOnRead: Boolean, bucketed: Boolean)(more: DirectTable => Any): NioPath = {
    val storage = faulty("prepared")
    Creation.create(storage, DirectTable.properties(mergeOnRead))
    val table = new DirectTable(storage, bucketed)
    table.upsert(Notation.changes(before.mkString(" ")))
    more(table)
    folder.resolve("prepared")
  }

  private def rowsOf(storage: Storage): Seq[String] =
    new DirectTable(storage, bucketed = false).rows.map(_.toString).sorted

  private def assertRepaired(storage: Storage, rows: Seq[String], failed: Option[String]): Unit = {
    assert(rowsOf(storage) == rows, failed)
    assert(Leftovers.of(storage).isEmpty, failed)
  }
}
