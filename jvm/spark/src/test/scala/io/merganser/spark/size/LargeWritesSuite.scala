package io.merganser.spark.size

import io.merganser.table.{LargeTableFileSystem, TableSuite}

/** What it costs to write to one partition of a table of many. */
final class LargeWritesSuite extends TableSuite with LargeTables {
  import LargeTableFileSystem.{counted, Counted}

  override protected def master: String = "local[2]"

  private def upsert(path: String, key: String, more: (String, String)*): Counted[Unit] = {
    val rows = spark.sql(s"SELECT '$key' AS k, 2L AS ts, 'w' AS v, 'p0007' AS part")
    counted(callMs)(rows.write.format("merganser").options(
        options(mergeOnRead = false, bucketed = false) + ("hoodie.archive.automatic" -> "false") ++ more).mode("append")
        .save(path))
  }

  /** The calls without those of the timeline's listings, which have a page for each thousand instants. */
  private def rest(calls: Counted[_]): Seq[String] =
    calls.calls.filterNot(c => c.kind == "list" && c.path == ".hoodie/timeline").map(c =>
      s"${c.kind} ${c.path.split('/').head}").sorted

  test("the calls of an upsert are those of the files of its partition, however large the table is") {
    def written(name: String, partitions: Int, commits: Int): (Counted[Unit], Counted[Unit]) = {
      val (path, _) = large(name, even(partitions, 100), commits)
      val first     = upsert(path, "n1")
      val second    = upsert(path, "n2")
      info(f"$partitions partitions, $commits commits: first ${first.shown}, ${first.seconds}%.1f s; then " +
        f"${second.shown}, ${second.seconds}%.1f s; at most ${second.mostAtOnce} at once")
      (first, second)
    }
    def byKind(calls: Counted[_]) = rest(calls).groupBy(kind => kind).map { case (kind, all) => kind -> all.size }
    val (_, ofSmall)              = written("small", 10, 200)
    val (first, ofLarge)          = written("large", 100 * scale, 1000 * scale)
    val locked                    = ofLarge.locked
    info(s"under the lock: ${locked.map(c => s"${c.kind} ${c.path}").mkString(", ")}")
    assert(locked.forall(_.path.startsWith(".hoodie")), locked)
    assert(byKind(ofLarge) == byKind(ofSmall))
    // The first write searches the commits of other engines for columns that were added, and its clean those that are
    // not retained for files that they superseded.
    assert(rest(first).size <= rest(ofLarge).size + 2 * 1000 * scale + 300)
  }

  test("a table of another engine, which stores no index, is not listed to find out which one it has") {
    val (path, _) = large("t", even(20, 100), 200, without = Set("hoodie.index.type"))
    val calls     = upsert(path, "n1")
    val listed    = calls.calls.filter(c => c.kind == "list" && c.path.matches("p\\d+")).map(_.path)
    assert(listed.toSet == Set("p0000", "p0007") && listed.size <= 3)
  }
}
