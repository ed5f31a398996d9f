package io.merganser.table.change

import io.merganser.Extensive
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.Cleaning
import io.merganser.table.settings.{CleaningConfig, CleaningPolicy}
import io.merganser.table.timeline.OperationType

@Extensive
final class ArchivedWindowsSuite extends ArchivedWindows {
  import ArchivedWindows._

  test("archiving around savepoints changes no result") {
    requireSameAnswers(created(version = 9, mergeOnRead = true, bucketed = true),
      table => {
        savepoint(table, table.timeline.completed.map(_.requested): _*)
        Seq("k1@31=u k3@32=u", "k1@32=t", "k2@30=z").foreach(upsert(table, _))
      })
  }

  test("archiving a write that completed after a later one changes no result") {
    requireSameAnswers(created(version = 9, mergeOnRead = true, bucketed = true),
      table => {
        overlapping(table)
        upsert(table, "k1@40=after k2@30=z")
      })
  }

  test("rows of archived commits are read where all others have savepoints") {
    val table = created(version = 9, mergeOnRead = true, bucketed = false)
    upsert(table, "k1@10=a")
    savepoint(table, table.timeline.completed.last.requested)
    Seq("k2@10=b", "k3@10=c").foreach(upsert(table, _))
    val rows = table.rows
    assert(archive(minCommits = 1) > 0)
    savepoint(table, table.timeline.completed.last.requested)
    assert(table.rows == rows && table.rowsAsOf(table.timeline.completed.last.requested) == rows)
    upsert(table, "k4@10=d")
    assert(table.rows.size == 4)
  }

  for (version <- Seq(6, 9))
    test(s"version $version: a window reads slices that the first retained commit replaced") {
      val table = created(version, mergeOnRead = true, bucketed = true)
      upsert(table, "k1@10=a k2@10=x")
      upsert(table, "k1@20=b k2@11=x")
      table.compact()
      upsert(table, "k1@30=c")
      val last = table.timeline.completed.last
      table.overwrite(OperationType.DeletePartition, Set("p1"))
      (1 to 3).foreach(i => upsert(table, s"k2@2$i=y"))
      val how = CleaningConfig(automatic = true, CleaningPolicy.Commits(4), triggerCommits = 1, isIncremental = true)
      assert(new Cleaning(storage, TableConfig.load(storage), how).automatic().map(_.filesDeleted).sum > 0)
      val changes = shown(table.imagesIn(last.completed.getOrElse(last.requested), None))
      assert(changes.contains("k1@30=c > -"))
      assert(archive(minCommits = 4) > 0 && table.timeline.completed.size == 4)
      assert(shown(table.imagesIn(last.completed.getOrElse(last.requested), None)) == changes)
    }
}
