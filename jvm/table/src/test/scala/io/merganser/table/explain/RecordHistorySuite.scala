package io.merganser.table.explain

import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, FaultyFileSystem, TableSuite}
import io.merganser.table.commit.Creation

/** What became of the versions of a key, and the files that are opened to find them. */
class RecordHistorySuite extends TableSuite {

  private def create(mergeOnRead: Boolean, more: Map[String, String] = Map.empty, bucketed: Boolean = true) = {
    Creation.create(storage, DirectTable.properties(mergeOnRead) ++ more)
    new DirectTable(storage, bucketed)
  }

  private def steps(table: DirectTable, key: String): Seq[RecordStep] = {
    val groups = table.explained(key)
    assert(groups.size == 1)
    groups.head.steps
  }

  private def decisions(table: DirectTable, key: String): String = steps(table, key).map { step =>
    s"${if (step.isInLog) "log" else "base"} ${step.decision}${if (step.isCurrent) "*" else ""}"
  }.mkString(", ")

  private def upsert(table: DirectTable, words: String*): Unit =
    words.foreach(word => table.upsert(Notation.changes(word)))

  test("merge on read: each version in the logs has its decision and the compared ordering values") {
    val table = create(mergeOnRead = true)
    upsert(table, "k1@5=a,x k3@1=z", "k1@4=late", "k1@5=tie,y", "k1@_=_,part", "k1@9-", "k1@8=gone", "k1@12=back")
    assert(decisions(table, "k1") ==
      "base won, log lost, log tie, log tie, log deleted, log lost, log won*")
    val found = steps(table, "k1")
    assert(found(1).ordering.contains("""{"ts":4}""") && found(1).against.contains("""{"ts":5}"""))
    assert(found(1).reason.contains("""{"ts":4} against {"ts":5}, by EVENT_TIME_ORDERING"""))
    assert(found(3).kind == VersionKind.PartialRow && !found(3).values.get.contains("tie"))
    assert(found(4).kind == VersionKind.Delete && found(4).result.isEmpty)
    assert(found.map(_.commit) == found.map(_.commit).sorted && found.map(_.commit).distinct.size == 7)
  }

  test("each column has the commit and file of the version that provided it") {
    val table = create(mergeOnRead = true)
    upsert(table, "k1@5=a,x", "k1@_=_,y")
    val found           = steps(table, "k1")
    val (first, second) = (found.head, found(1))
    val origins         = second.origins.get
    assert(origins.contains(s""""w":{"commit":"${second.commit}","file":"${second.file}"}"""))
    assert(origins.contains(s""""v":{"commit":"${first.commit}","file":"${first.file}"}"""))
    assert(first.file.endsWith(".parquet") && second.file.contains(".log."))
  }

  test("filled columns are a decision of their own, on both types of tables") {
    val fills = Map("hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS")
    for (mergeOnRead <- Seq(true, false)) {
      val table = create(mergeOnRead, fills)
      upsert(table, "k1@5=a,null", "k1@3=b,c")
      val kind = if (mergeOnRead) "log" else "base"
      assert(decisions(table, "k1") == s"base won, $kind filled*")
      val last = steps(table, "k1").last
      assert(last.result.get.contains(""""v":"a","w":"c""""))
      assert(last.origins.get.contains(s""""w":{"commit":"${last.commit}""""))
      assert(!last.origins.get.contains(s""""v":{"commit":"${last.commit}""""))
      org.apache.hadoop.fs.FileUtil.fullyDelete(folder.resolve("t").toFile)
    }
  }

  test("the history of a key includes slices from before a compaction") {
    val table = create(mergeOnRead = true)
    upsert(table, "k1@5=a", "k1@6=b")
    assert(table.explained("k1").head.nextCompaction.contains("replaces the one in the base file; the version"))
    table.compact()
    assert(table.explained("k1").head.nextCompaction == "nothing: the file slice has no logs")
    upsert(table, "k1@2=late")
    assert(decisions(table, "k1") == "base won, log won, base stored*, log lost")
    assert(table.explained("k1").head.nextCompaction.startsWith("the row stays as it is"))
    upsert(table, "k1-")
    assert(table.explained("k1").head.nextCompaction.contains("a late-arriving version would then be a row again"))
    assert(steps(table, "k1").last.kind == VersionKind.UnconditionalDelete)
    table.scheduleCompaction()
    upsert(table, "k1@1=after")
    assert(decisions(table, "k1") == "base won, log won, base stored, log lost, log deleted, log won*")
  }

  test("copy on write: each file slice shows whether the row was written or carried over") {
    val table = create(mergeOnRead = false)
    upsert(table, "k1@5=a k3@5=x", "k1@6=b", "k3@6=y", "k1@7-")
    assert(decisions(table, "k1") == "base won, base won, base stored, base deleted")
    assert(decisions(table, "k3") == "base won, base stored, base won, base stored*")
  }

  test("other file groups have only their footers opened, and opened files are counted") {
    val local = faulty("groups")
    Creation.create(local, DirectTable.properties(mergeOnRead = true))
    val table = new DirectTable(local, bucketed = false)
    // A group with logs takes no new keys.
    upsert(table, "a1@1=a a3@1=a", "a1@2=b", "m1@1=a m3@1=a", "m1@2=b", "z1@1=a z3@1=a", "z1@2=b")
    var opened = OpenedFiles(0, 0, 0)
    val files = FaultyFileSystem.recorded {
      opened = table.histories("m1").map(_.opened).reduce(_ + _)
    }.filter(_.startsWith("open ")).map(what => what.substring(what.lastIndexOf('/') + 1))
    assert(opened == OpenedFiles(footers = 3, baseFiles = 1, logFiles = 1))
    assert(files.filter(_.contains(".log.")).distinct.size == 1)
    val ofBases = files.filter(_.endsWith(".parquet")).groupBy(identity).values.map(_.size).toSeq.sorted
    assert(ofBases.size == 3 && ofBases.take(2) == Seq(1, 1) && ofBases.last > 1)
    assert(decisions(table, "m1") == "base won, log won*")
  }
}
