package io.merganser.table.change

import io.merganser.Extensive
import io.merganser.merge.{BuiltInRules, Change, Histories, Notation}
import io.merganser.table.{DirectTable, FaultyFileSystem, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.file.FileNames
import io.merganser.table.log.ChangeLogReader
import io.merganser.table.storage.Storage
import org.apache.hadoop.conf.Configuration

import scala.util.Random

// Guarantee (Change data): Change data of appended logs reads the base file once, whatever the number of keys; an end
//   that was restored or rolled back is an error. Also: test_a_window_that_ends_at_a_rolled_back_commit_is_refused
/** Changes by file group, without an engine: of slices that are compared, and of change files. */
@Extensive
final class GroupChangesSuite extends TableSuite {

  private def create(name: String, mergeOnRead: Boolean, more: Map[String, String]): DirectTable = {
    val storage = Storage(folder.resolve(name).toUri.toString, new Configuration())
    Creation.create(storage, DirectTable.properties(mergeOnRead) ++ more)
    new DirectTable(storage, bucketed = false)
  }

  private def recorded(mode: String = "DATA_BEFORE_AFTER") =
    Map("hoodie.table.cdc.enabled" -> "true", "hoodie.table.cdc.supplemental.logging.mode" -> mode)

  private def shown(table: DirectTable): Seq[String] = table.imagesByCommit.map(_._2.map { case (before, after) =>
    s"${before.getOrElse("-")} > ${after.getOrElse("-")}"
  }.sorted.mkString(", "))

  for (mergeOnRead <- Seq(false, true); stored <- Seq(false, true))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}, ${if (stored) "with" else "without"} change " +
        "files: only inserted, updated and deleted rows are changes") {
      val table = create("t", mergeOnRead, if (stored) recorded() else Map.empty)
      table.upsert(Notation.changes("k1@1=a k3@5=b"))
      table.upsert(Notation.changes("k1@2=c k3@4=late k5@1=d"))
      table.compact()
      table.upsert(Notation.changes("k1@3- k3@5=b k5@2=e"))
      table.upsert(Notation.changes("k9@3-"))
      assert(shown(table).filter(_.nonEmpty) == Seq("- > k1@1=a, - > k3@5=b", "- > k5@1=d, k1@1=a > k1@2=c",
        "k1@2=c > -, k5@1=d > k5@2=e"))
      assert(table.changesAreStored.contains(true) == stored)
    }

  test("every mode of change files gives the same changes") {
    val tables = Seq("OP_KEY_ONLY", "DATA_BEFORE", "data_before_after").map { mode =>
      val table = create(mode, mergeOnRead = false, recorded(mode))
      table.upsert(Notation.changes("k1@1=a k3@5=b"))
      table.upsert(Notation.changes("k1@2=c k3@6- k5@1=d"))
      table
    }
    assert(tables.map(shown).distinct.size == 1)
    assert(tables.map(_.changesAreStored.count(identity)) == Seq(0, 0, 1))
  }

  /** Change files of each mode, and none. Compactions write none, so that one mode suffices for merge on read. */
  private val modes = Seq(None, Some("DATA_BEFORE_AFTER"), Some("DATA_BEFORE"), Some("OP_KEY_ONLY"))

  for (
    mergeOnRead <- Seq(false, true); mode <- modes.take(if (mergeOnRead) 2 else 4);
    name        <- Seq("EventTime", "CommitTime")
  )
    test(
      s"$name, ${if (mergeOnRead) "merge on read" else "copy on write"}, ${mode.fold("without")("with " + _)} " +
        "change files: each commit's changes applied to the rows before give those after") {
      for (i <- 0 until 6) {
        val random = new Random(Histories.seed + i)
        val rule =
          if (name == "EventTime") Map.empty[String, String] else DirectTable.properties(mergeOnRead, eventTime = false)
        val table = create(s"t$i", mergeOnRead, rule ++ mode.fold(Map.empty[String, String])(recorded))
        var rows  = Seq(Seq.empty[Change])
        val batches = Seq.fill(4)(Seq.fill(1 + random.nextInt(6))(
            new Histories(partials = true, BuiltInRules.Unavailable).change(random, keys = 6)))
        batches.foreach { batch =>
          table.upsert(batch)
          rows :+= table.rows
          if (mergeOnRead && random.nextInt(3) == 0) table.compact()
        }
        val writes = table.timeline.completed.filterNot(i => table.timeline.metadata(i).operationType.isService)
        val images = table.imagesByCommit.toMap
        if (mergeOnRead) {
          def sorted(readerOf: ChangeImages => ImageReader) =
            table.imagesByCommitOf(readerOf).map { case (instant, found) => instant -> found.map(_.toString).sorted }
          val inMemory = sorted(_.reader())
          assert(sorted(new ImageReader(_, maxKeys = 1)) == inMemory)
          assert(sorted(new ImageReader(_, maxBytes = 150)) == inMemory)
        }
        val clue = s"history $i of seed ${Histories.seed}: ${batches.map(_.mkString(" ")).mkString(" | ")}"
        writes.map(_.requested).zipWithIndex.foreach { case (instant, n) =>
          val applied = images.getOrElse(instant, Nil).foldLeft(rows(n)) { case (state, (before, after)) =>
            before.foreach(row => assert(state.contains(row), s"$row is not stored; $clue"))
            state.diff(before.toSeq) ++ after
          }
          assert(applied.map(_.toString).sorted == rows(n + 1).map(_.toString).sorted, clue)
        }
      }
    }

  test("a rewritten base file gets a change file even without changes, a new one does not") {
    val table = create("t", mergeOnRead = false, recorded())
    table.upsert(Notation.changes("k1@5=a"))
    table.upsert(Notation.changes("k1@4=late"))
    val stats = table.timeline.completed.map(i => table.timeline.metadata(i).allStats)
    assert(stats.head.forall(_.cdcStats.isEmpty))
    assert(stats(1).flatMap(_.cdcStats).size == 1)
    val (path, size) = stats(1).flatMap(_.cdcStats).head
    assert(path.endsWith(".cdc") && table.storage.fs.getFileStatus(table.storage.path(path)).getLen == size)
    val reader =
      new ChangeLogReader(table.storage, FileNames.parseChanges(path, size).toSeq, DirectTable.schema, _ => None)
    assert(reader.isEmpty)
  }

  test("changes of appended logs read the base file once for all keys") {
    val storage = faulty("t")
    Creation.create(storage, DirectTable.properties(mergeOnRead = true))
    val table = new DirectTable(storage, bucketed = false)
    table.upsert(Notation.changes("k1@1=a k3@1=b k5@1=c"))
    table.upsert(Notation.changes("k1@2=d"))
    table.upsert(Notation.changes("k1@0=late k3@2=e k5@3-"))
    val opened = FaultyFileSystem.recorded(
      assert(shown(table).drop(1) == Seq("k1@1=a > k1@2=d", "k3@1=b > k3@2=e, k5@1=c > -"))
    ).filter(_.matches("open .*\\.parquet"))
    assert(opened.size == 6 && opened.distinct.size == 1, "its footer and its rows, of three commits")
  }

  test("changes of cleaned files are refused with the setting") {
    for (stored <- Seq(false, true)) {
      val table = create(stored.toString, mergeOnRead = false, if (stored) recorded() else Map.empty)
      (1 to 3).foreach(i => table.upsert(Notation.changes(s"k1@$i=a")))
      val second = table.timeline.completed(1).requested
      val files  = table.storage.list("p1").map(_.getPath.getName).filter(_.contains(second))
      files.foreach(name => table.storage.delete(s"p1/$name"))
      val e = intercept[io.merganser.merge.MerganserException](table.imagesByCommit)
      assert(e.condition == "CHANGE_DATA_CLEANED" && e.getMessage.contains("hoodie.clean.commits.retained"))
    }
  }
}
