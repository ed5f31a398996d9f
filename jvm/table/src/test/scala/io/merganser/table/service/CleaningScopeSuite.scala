package io.merganser.table.service

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.CleaningConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/** What a clean reads and lists, pending cleans of both engines, and what happens while a clean is planned. */
final class CleaningScopeSuite extends TableSuite with CleaningFixture {

  /** Folders of partitions that the next clean lists. */
  private def listed(s: Storage, how: CleaningConfig): Seq[String] = {
    val counted = io.merganser.table.FaultyFileSystem.recorded(clean(s, how))
    counted.filter(_.startsWith("list ")).flatMap(call => Seq("p", "q", "r").filter(p => call.endsWith(s"/$p")))
      .distinct.sorted.toList
  }

  private def partitioned(name: String): Storage = {
    val s = faulty(name)
    io.merganser.table.commit.Creation.create(s, properties() + ("hoodie.table.initial.version" -> "9"))
    for (p <- Seq("p", "q", "r")) write(s, s"${p.head.toInt}", Seq(p), partition = p)
    s
  }

  test("a clean lists exactly the partitions in which files were superseded since the last clean") {
    val s = partitioned("t")
    assert(listed(s, commits(1)).isEmpty, "new groups supersede nothing")
    write(s, "200", Seq("p"))
    write(s, "300", Seq("q"), partition = "q")
    assert(listed(s, commits(1)) == Seq("p"))
    write(s, "400", Seq("r"), partition = "r")
    assert(listed(s, commits(1)) == Seq("q"))
    assert(listed(s, commits(1)).isEmpty)
    assert(listed(s, commits(1).copy(isIncremental = false)) == Nil, "too few commits since the last clean")
    write(s, "500", Seq("n"))
    assert(listed(s, commits(1).copy(isIncremental = false)) == Seq("p", "q", "r"))
  }

  test("a clean by file versions lists superseded partitions, and all if it retains fewer versions than before") {
    val s = partitioned("t")
    write(s, "200", Seq("p"))
    assert(listed(s, versions(2)) == Seq("p", "q", "r"))
    write(s, later("300"), Seq("q"), partition = "q")
    assert(listed(s, versions(2)) == Seq("q"))
    write(s, later("400"), Seq("q"), partition = "q")
    assert(listed(s, versions(1)) == Seq("p", "q", "r"))
  }

  test("a clean without deletions stores its progress, so that commits are examined once") {
    val s = faulty("t")
    table(storage = s)
    (100 until 121).foreach(i => write(s, i.toString, Seq(s"g$i")))
    val done = clean(s, commits(2))
    assert(done.map(_.filesDeleted) == Seq(0) && done.flatMap(_.earliest) == Seq(t("119")))
    assert(clean(s, commits(2)).isEmpty)
    write(s, "130", Seq("g130"))
    val calls = io.merganser.table.FaultyFileSystem.recorded(assert(clean(s, commits(2)).isEmpty))
    // The last clean, and the commit that is not retained any more.
    assert(calls.count(_.matches("open .*(commit|clean)")) == 2 && calls.count(_.startsWith("list ")) <= 2, calls)
  }

  test("a pending clean of any engine is run first and skips files that are gone") {
    for (state <- Seq("requested", "inflight"); version <- Seq(6, 9)) {
      val s = Storage(folder.resolve(s"$state$version").toUri.toString, storage.conf)
      table(version, s)
      Seq("20260101000000100", "20260101000000200", "20260101000000300").foreach(i => write(s, i, Seq("a")))
      val folderOf = TableConfig.load(s).timelineFolder
      val gone     = base("a", "20260101000000050")
      val planned  = Map("p" -> Seq(base("a", "20260101000000100"), gone))
      s.createNew(s"$folderOf/20260101000000400.clean.requested",
        CleanFixture.planned(Some("20260101000000200"), planned))
      if (state == "inflight") s.createNew(s"$folderOf/20260101000000400.clean.inflight", Array.emptyByteArray)
      val done = clean(s, commits(10))
      assert(done.map(d => (d.instant, d.filesDeleted, d.bytesDeleted)) == Seq(("20260101000000400", 1, 1L)))
      assert(data(s) == Set(base("a", "20260101000000200"), base("a", "20260101000000300")))
      val metadata = timeline(s).cleanMetadata(timeline(s).instants.filter(_.action == Action.Clean).head).get
      assert(metadata.partitions("p").deleted == planned("p") && metadata.earliest.contains("20260101000000200"))
    }
  }

  test("a pending plan spares files saved since by a savepoint, and newest slices") {
    val s = storage
    table(storage = s)
    Seq("100", "200", "300").foreach(i => write(s, i, Seq("a")))
    val planned = Map("p" -> Seq("100", "200", "300").map(base("a", _)))
    s.createNew(s".hoodie/timeline/${t("400")}.clean.requested", CleanFixture.planned(Some(t("300")), planned))
    savepoint(s, "100", Map("p" -> Seq(base("a", "100"))))
    clean(s, commits(10))
    assert(data(s) == Set(base("a", "100"), base("a", "300")))
    val clean400 = timeline(s).instants.find(_.action == Action.Clean).get
    assert(timeline(s).cleanMetadata(clean400).get.partitions("p").failed.toSet == data(s))
  }

  test("a clean whose process died before it wrote a plan is removed") {
    val s = storage
    table(storage = s)
    write(s, "100", Seq("a"))
    instantFile(s, t("200") + ".clean.requested")
    instantFile(s, t("200") + ".clean.inflight")
    assert(clean(s, commits(10)).isEmpty && timeline(s).pending.isEmpty && data(s).size == 1)
  }

  test("a savepoint made while a clean is planned retains its files, and a concurrent write does not disturb it") {
    for (what <- Seq("savepoint", "write")) {
      val s = faulty(what)
      table(storage = s)
      Seq("100", "200", "300").foreach(i => write(s, i, Seq("a")))
      val lock     = io.merganser.table.storage.TableLock.Settings()
      val held     = new java.util.concurrent.CountDownLatch(1)
      val done     = new java.util.concurrent.CountDownLatch(1)
      val cleaning = Thread.currentThread
      // Holds the lock until the clean has been planned, which needs none.
      val other = new Thread(() =>
        io.merganser.table.storage.TableLock.hold(s, lock) { _ =>
          held.countDown()
          while (!cleaning.getStackTrace.exists(_.getClassName.contains("TableLock"))) Thread.sleep(10)
          if (what == "savepoint") savepoint(s, "100", Map("p" -> Seq(base("a", "100"))))
          else write(s, "400", Seq("a"))
          done.countDown()
        })
      other.start()
      held.await()
      val reports = clean(s, commits(1))
      done.await()
      other.join()
      assert(data(s)(base("a", "100")) == (what == "savepoint"), what)
      if (what == "write") assert(reports.flatMap(_.earliest) == Seq(t("300")))
    }
  }

  test("a dry run of a clean lists files and bytes and changes nothing") {
    val s = storage
    table(storage = s)
    Seq("100", "200", "300").foreach(i => write(s, i, Seq("a")))
    val before  = names(s, ".hoodie/timeline") ++ data(s)
    val preview = new Cleaning(s, TableConfig.load(s), commits(1)).preview()
    assert(preview == CleanPreview(Seq(CleanFile("p", base("a", "100"), 1)), Nil, Some(t("300"))))
    assert(names(s, ".hoodie/timeline") ++ data(s) == before)
  }
}
