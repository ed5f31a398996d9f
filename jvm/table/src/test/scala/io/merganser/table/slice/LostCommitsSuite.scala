package io.merganser.table.slice

import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.Restoring
import io.merganser.table.timeline.{Instant, InstantState, OperationType, Timeline, WriteStat}

// Guarantee (Reads): A lost commit onto whose files later commits wrote is an error that names both; no completed write
//   is rolled back because its file is in another folder. Also:
//   test_a_table_of_an_earlier_writer_works_in_each_use_or_is_refused
/** Completed commits whose file is gone, or is something else. */
final class LostCommitsSuite extends TableSuite {

  private def created(version: Int, mergeOnRead: Boolean, name: String = "t"): DirectTable = {
    val s = faulty(name)
    Creation.create(s,
      DirectTable.properties(mergeOnRead) ++ Map(
        "hoodie.table.version" -> version.toString,
        "hoodie.table.initial.version" -> version.toString,
        "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1")))
    new DirectTable(s, bucketed = false)
  }

  private def upsert(table: DirectTable, changes: String): Instant = {
    table.upsert(Notation.changes(changes))
    table.timeline.completed.last
  }

  /** A read has the newest commit, for its schema. */
  private def read(table: DirectTable): Any = {
    val now = table.timeline
    now.metadata(now.completed.last)
    new TableView(table.storage, TableConfig.load(table.storage), now).slices
  }

  private def lose(table: DirectTable, write: Instant, states: InstantState*): Unit =
    table.timeline.filesIn(write, states: _*).foreach(table.storage.delete(_))

  for {
    version     <- Seq(6, 8, 9)
    mergeOnRead <- Seq(false, true)
    kind        <- Seq("clustering", "overwrite")
  } test(s"version $version, merge on read $mergeOnRead: a lost $kind with later writes onto it is an error") {
    val table = created(version, mergeOnRead)
    val first = upsert(table, "k1@10=a k2@10=b").requested
    val rows  = table.rows
    if (kind == "clustering") table.cluster()
    else table.overwrite(OperationType.InsertOverwrite, Set("p1"), Notation.changes("k1@1=o k3@1=p"))
    val lost = table.timeline.completed.last
    upsert(table, "k1@20=c")
    lose(table, lost, InstantState.Completed)
    assert(conditionOf(read(table)) == "COMMIT_LOST")
    assert(conditionOf(table.upsert(Notation.changes("k1@30=d"))) == "COMMIT_LOST")
    assert(conditionOf(read(table)) == "COMMIT_LOST")
    new Restoring(table.storage, TableConfig.load(table.storage)).restore(first)
    assert(table.rows == rows)
  }

  test("a lost write of a new file group is an error, even if none of its files is left") {
    val all = Seq(InstantState.Requested, InstantState.Inflight, InstantState.Completed)
    for (mergeOnRead <- Seq(false, true); states <- Seq(all.takeRight(1), all)) {
      val table = created(version = 9, mergeOnRead, s"$mergeOnRead-${states.size}")
      upsert(table, "k2@10=b")
      val lost = upsert(table, "k1@10=a")
      upsert(table, "k1@20=c")
      lose(table, lost, states: _*)
      assert(conditionOf(read(table)) == "COMMIT_LOST", s"$mergeOnRead $states")
    }
  }

  test("the newest commit is not rolled back if its file is in the folder of the other layout") {
    for (version <- Seq(6, 8); mergeOnRead <- Seq(false, true)) {
      val table = created(version, mergeOnRead, s"misplaced-$version-$mergeOnRead")
      upsert(table, "k1@10=a")
      val newest       = upsert(table, "k1@20=b k2@20=b")
      val rows         = table.rows
      val file         = table.timeline.filesIn(newest, InstantState.Completed).head
      val (old, other) = (".hoodie/", ".hoodie/timeline/")
      val moved        = if (version < 8) file.replace(old, other) else file.replace(other, old)
      table.storage.createNew(moved, table.storage.read(file))
      table.storage.delete(file)
      assert(conditionOf(table.upsert(Notation.changes("k1@30=d"))) == "COMMIT_MISPLACED", s"$version $mergeOnRead")
      table.storage.createNew(file, table.storage.read(moved))
      assert(table.rows == rows)
    }
  }

  test("a pending write, clustering or compaction without later writes onto it is not reported as lost") {
    val table = created(version = 9, mergeOnRead = true)
    upsert(table, "k1@10=a k2@10=b")
    upsert(table, "k1@20=c")
    val begun = table.begun(Notation.changes("k3@10=x"))
    assert(table.scheduleCompaction().isDefined)
    upsert(table, "k1@30=d")
    assert(begun.parts.nonEmpty && table.rows.size == 2)
    table.runCompactions()
    upsert(table, "k1@40=e")
    table.cluster()
    lose(table, table.timeline.completed.last, InstantState.Completed)
    assert(table.rows.size == 2)
  }

  test("a folder in place of a commit's file is an error, as is the file of another commit") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"))
    instantFile(s, "100_110.commit", upserted(WriteStat("a", s"p/${base("a", "090")}")))
    val config = TableConfig.load(s)
    def read() = {
      val now = Timeline.load(s, config)
      now.metadata(now.completed.last)
    }
    assert(conditionOf(read()) == "TIMELINE_FILE_UNREADABLE")
    s.createNew(".hoodie/timeline/120_130.commit/file", Array[Byte](1))
    assert(conditionOf(read()) == "TIMELINE_FILE_UNREADABLE")
  }
}
