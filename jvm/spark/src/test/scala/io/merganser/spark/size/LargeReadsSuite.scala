package io.merganser.spark.size

import io.merganser.Extensive
import io.merganser.spark.MerganserCatalog
import io.merganser.table.{LargeTableFileSystem, TableSuite}
import org.apache.spark.sql.DataFrame

// Guarantee (Size): A read, and a `MERGE` by join, lists only partitions that its filters or source values name, level
//   by level, and reads only commits of their files. Also: FolderPruningSuite, LargeWritesSuite
// Guarantee (Size): A read of a whole table lists each partition and reads each unarchived commit of its files once, in
//   parallel; of the large table with `--full`, its plan takes at most 10 seconds in a heap of 2 GB.
/** What it costs to plan reads of a table of many partitions, file groups and commits. */
@Extensive
final class LargeReadsSuite extends TableSuite with LargeTables {
  import LargeTableFileSystem.{counted, Counted}

  override protected def master: String = "local[2]"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set("spark.sql.catalog.spark_catalog", classOf[MerganserCatalog].getName)
  }

  private def read(path: String): DataFrame = spark.read.format("merganser").load(path)

  /** The folders of partitions, and above partitions, that the calls list. */
  private def folders(calls: Counted[_]): Seq[String] =
    calls.calls.filter(c => c.kind == "list" && !c.path.startsWith(".hoodie")).map(_.path)

  private def commits(calls: Counted[_]): Int = calls.count("open", "\\.hoodie/timeline/.*")

  private def show(what: String, calls: Counted[_]): Unit =
    info(f"$what: ${calls.shown}; at most ${calls.mostAtOnce} at once; ${calls.seconds}%.1f s at $callMs ms a call, " +
      f"${calls.cpuSeconds}%.1f s of processors")

  test("a read of one partition lists that partition and reads only the commits of its files") {
    val (path, _) = large("t", even(100 * scale, 100), 1000 * scale)
    spark.sql(s"CREATE TABLE big USING merganser LOCATION '$path'")
    val reads = Seq[(String, () => DataFrame)]("by path" -> (() => read(path)),
      "by its catalog's name" -> (() => spark.table("big")),
      "in SQL by path" -> (() =>
        spark.table(s"merganser.`$path`")))
    try for ((how, table) <- reads) {
        val calls = counted(callMs)(table().where("part = 'p0007'").rdd.getNumPartitions)
        show(how, calls)
        assert(calls.result > 0)
        assert(folders(calls) == Seq("p0007"), how)
        // The files of the partition are from a hundred commits; one more has the schema.
        assert(commits(calls) <= 101, how)
        assert(calls.calls.size < 101 + 1 + 30 * scale + 20, calls.shown)
      }
    finally spark.sql("DROP TABLE big")
    val several = counted(callMs)(read(path).where("part >= 'p0003' AND part < 'p0006'").rdd.getNumPartitions)
    assert(folders(several).distinct.toSet == Set("", "p0003", "p0004", "p0005"))
    val none = counted(callMs)(read(path).where("part = 'nowhere'").rdd.getNumPartitions)
    assert(folders(none) == Seq("nowhere") && none.result == 0)
  }

  test("planning a read of the whole table takes ten seconds at most, with parallel calls") {
    val (path, table) = large("t", even(100 * scale, 100), 1000 * scale)
    table.prepare()
    val calls = counted(callMs)(read(path).rdd.getNumPartitions)
    show("whole table", calls)
    assert(commits(calls) <= 1000 * scale + 1)
    assert(folders(calls).distinct.size == 100 * scale + 1)
    assert(folders(calls).count(_.nonEmpty) == 100 * scale)
    assert(calls.mostAtOnce >= atOnce)
    if (isFull) assert(calls.seconds < 10)
    info(s"${megabytesInUse()} MB in use after it")
  }

  test("commits with more files than the cache holds are read once") {
    val (path, table) = large("t", even(100 * scale, 100), 1000 * scale, replaced = 220 / scale)
    table.prepare()
    val calls = counted(callMs)(read(path).rdd.getNumPartitions)
    show("whole table, whose commits name three files for each that is left", calls)
    assert(commits(calls) <= 1000 * scale + 1)
    assert(calls.mostAtOnce >= atOnce)
    info(s"${megabytesInUse()} MB in use after it")
  }

  test("a read of one partition does not list a huge other one, which is read in parallel") {
    val (path, table) = large("t", ("big" -> 5000 * scale) +: even(50 * scale, 100), 1000 * scale)
    table.prepare()
    val other = counted(callMs)(read(path).where("part = 'p0007'").rdd.getNumPartitions)
    assert(folders(other) == Seq("p0007"))
    val big = counted(callMs)(read(path).where("part = 'big'").rdd.getNumPartitions)
    show("half of the table", big)
    assert(folders(big).distinct == Seq("big"))
    if (isFull) assert(big.seconds < 10)
  }

  test("a read opens no archived commits") {
    val (path, table) = large("t", even(100 * scale, 100), 10, archived = 1000 * scale - 10)
    Archives.write(table.root, table.archivedTimes)
    val calls = counted(callMs)(read(path).rdd.getNumPartitions)
    show("whole table, most of it archived", calls)
    assert(commits(calls) <= 11)
    assert(calls.count("open", ".*history.*") == 0)
  }

  test("a read lists path levels top down and only those that match its filter") {
    val tree                      = for (region <- 0 until 10; city <- 0 until 10) yield s"r$region/c$city" -> 10
    val (path, _)                 = large("t", tree, 100, columns = Seq("region", "city"))
    def listed(condition: String) = folders(counted(0)(read(path).where(condition).rdd.getNumPartitions)).toSet
    assert(listed("region = 'r3' AND city = 'c4'") == Set("r3/c4"))
    assert(listed("region = 'r3'") == Set("", "r3") ++ (0 to 9).map(c => s"r3/c$c"))
    assert(listed("region = 'r3' AND city >= 'c8'") == Set("", "r3", "r3/c8", "r3/c9"))
  }

  test("an explanation opens footers and only the files that may have the key") {
    val (path, _) = large("t", even(100, 10), 100)
    def explained(key: String, more: String = "") =
      counted(callMs)(spark.sql(s"CALL explain_record(path => '$path', key => '$key'$more)").collect())
    def opened(calls: Counted[_]) = calls.calls.filter(c => c.kind == "open" && c.path.endsWith(".parquet")).map(_.path)
    val nowhere                   = explained("zz")
    show("a key that no range of a footer has", nowhere)
    assert(nowhere.result.map(_.getAs[String]("decision")).toSeq == Seq("not found"))
    assert(opened(nowhere).size == 1000 && opened(nowhere).distinct.size == 1000)
    val there = explained("k3", ", partition => 'p0007'")
    show("a key of a partition", there)
    assert(there.result.length >= 10)
    assert(opened(there).distinct.size == 10 && opened(there).forall(_.startsWith("p0007/")))
    assert(folders(there).distinct == Seq("p0007"))
  }
}
