package io.merganser.spark.write

import java.nio.file.{Files, Path => NioPath}

import io.merganser.Extensive
import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, Leftovers, TableSuite}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

/**
 * A file system that fails at operation n of a write through Spark, inside tasks too: readers see the table before the
 * write or after it, and the next write repairs the table.
 *
 * Every n is run without Spark by the table module's suite. Here some of them are, all with the environment variable
 * MERGANSER_FULL=1; see [[FaultPoints]]. Other kinds of writes are in [[WriteFaultsByActionSuite]].
 */
@Extensive
final class SparkFaultsSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  override protected def pointsOfAction: Int = 12

  private val before  = Seq("k1@10=a", "k2@10=b", "k3@10=c", "k4@10=d")
  private val batch   = "k1@20=A k2@20- k5@20=e k6@20=f"
  private val after   = Seq("k1@20=A", "k3@10=c", "k4@10=d", "k5@20=e", "k6@20=f")
  private val nextRow = "k3@30=C"

  for (mergeOnRead <- Seq(false, true); bucketed <- Seq(false, true))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}, ${if (bucketed) "BUCKET" else "SIMPLE"}: a " +
        "failed operation of an upsert leaves the old table or the new one, and the next write repairs it") {
      val options  = this.options(mergeOnRead, bucketed)
      val prepared = prepare(options)
      points(prepared)(upsert(_, Notation.changes(batch), options)) { (storage, isDone, failed) =>
        val seen = direct(storage)
        assert(if (isDone) seen == after else seen == before || seen == after, failed)
        Leftovers.age(storage)
        upsert(storage, Notation.changes(nextRow), options)
        assert(rows(storage) == withNextRow(seen), failed)
        assert(Leftovers.of(storage).isEmpty, failed)
      }
    }

  test("a failed operation of a compaction leaves the rows unchanged, and the next run completes it") {
    val options  = this.options(mergeOnRead = true, bucketed = true)
    val prepared = prepare(options, batch)
    def compact(storage: Storage): Unit = {
      spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$storage')").collect()
      ()
    }
    points(prepared)(compact) { (storage, _, failed) =>
      assert(direct(storage) == after, failed)
      Leftovers.age(storage)
      upsert(storage, Notation.changes(nextRow), options)
      compact(storage)
      assert(rows(storage) == withNextRow(after), failed)
      assert(Leftovers.of(storage).isEmpty, failed)
    }
  }

  test("a failed operation of a first write leaves no, an empty or the whole table, and the write can be repeated") {
    val options = this.options(mergeOnRead = false, bucketed = false)
    def write(storage: Storage): Unit =
      frame(Notation.changes(before.mkString(" "))).write.format("merganser").options(options).save(storage.toString)
    val nothing = Files.createDirectory(folder.resolve("nothing"))
    points(nothing)(write) { (storage, isDone, failed) =>
      val seen = if (TableConfig.exists(storage)) direct(storage) else Nil
      assert(if (isDone) seen == before else seen.isEmpty || seen == before, failed)
      Leftovers.age(storage)
      if (seen.isEmpty) write(storage)
      assert(conditionOf(write(storage)) == "TABLE_EXISTS", failed)
      assert(!OpenTable.load(storage).isUnfinished)
      upsert(storage, Notation.changes(nextRow), options)
      assert(rows(storage) == withNextRow(before), failed)
      assert(Leftovers.of(storage).isEmpty, failed)
    }
  }

  private def withNextRow(rows: Seq[String]): Seq[String] = (rows.filterNot(_.startsWith("k3")) :+ nextRow).sorted

  private def prepare(options: Map[String, String], more: String*): NioPath = {
    val storage = faulty("prepared")
    (before.mkString(" ") +: more).foreach(batch => upsert(storage, Notation.changes(batch), options))
    folder.resolve("prepared")
  }

  private def direct(storage: Storage): Seq[String] =
    new DirectTable(storage, bucketed = false).rows.map(_.toString).sorted
}
