package io.merganser.table.service

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.CleaningPolicy
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

// Guarantee (Services): A clean deletes what its policy does not retain, and no file that a savepoint, a pending
//   service, a running write or a retained read needs; change files (`.cdc`) go with their slice. Also:
//   CleaningServiceSuite, ChangeFilesSuite, OrphanFilesSuite
/** What each policy deletes, and what it retains for savepoints, plans and running writes. */
final class CleaningSuite extends TableSuite with CleaningFixture {

  /** A table with a base file of group `a` by each instant. */
  private def upserted(version: Int, instants: String*): Storage = {
    val s = storage
    table(version, s)
    instants.foreach(write(s, _, Seq("a")))
    s
  }

  private def bases(instants: String*): Set[String] = instants.map(base("a", _)).toSet

  test("a clean by commits keeps the slices since the oldest retained commit and the one before them") {
    val s = upserted(9, "100", "200", "300", "400", "500")
    assert(preview(s, commits(2)) == bases("100", "200") && data(s).size == 5)
    val done = clean(s, commits(2)).head
    assert((done.filesDeleted, done.bytesDeleted, done.earliest) == ((2, 2L, Some(t("400")))))
    assert(data(s) == bases("300", "400", "500"))
    assert(timeline(s).pending.isEmpty && short(show(view(s).slices)) == Seq("a@500:"))
    assert(clean(s, commits(2)).isEmpty && clean(s, commits(5)).isEmpty)
    write(s, "600", Seq("a"))
    assert(clean(s, commits(2)).map(_.filesDeleted) == Seq(1) && data(s) == bases("400", "500", "600"))
  }

  test("a clean does nothing if the table has no more commits than it retains") {
    val s = upserted(9, "100", "200", "300")
    assert(clean(s, commits(3)).isEmpty && clean(s, commits(10)).isEmpty && data(s).size == 3)
  }

  test("a clean by hours deletes files superseded before the first write within the hours") {
    def h(hour: Int) = f"202601${1 + hour / 24}%02d${hour % 24}%02d0000000"
    val s            = upserted(9, h(0), h(1), h(10), h(20), h(30))
    val how          = cleaning(CleaningPolicy.Hours(24))
    assert(clean(s, how, clockAt("2026-01-02T00:00:00Z")).isEmpty)
    assert(clean(s, how, clockAt("2026-01-02T08:00:00Z")).map(_.earliest) == Seq(Some(h(10))))
    assert(data(s) == bases(h(1), h(10), h(20), h(30)))
    assert(clean(s, how, clockAt("2026-03-01T00:00:00Z")).isEmpty, "no commit since the last clean")
    write(s, h(40), Seq("a"))
    clean(s, how, clockAt("2026-03-01T00:00:00Z"))
    assert(data(s) == bases(h(30), h(40)), "all are older: what the newest one superseded stays, as for a read of it")
  }

  test("a clean by file versions keeps the configured number of slices of each group and no replaced group") {
    val s = upserted(9, "100", "200", "300", "400")
    write(s, "500", Seq("b"))
    assert(clean(s, versions(3)).map(_.filesDeleted) == Seq(1) && data(s) == bases("200", "300", "400") + base("b",
      "500"))
    write(s, later("600"), Seq("c"), action = "replacecommit", replaced = Seq("b"))
    assert(clean(s, versions(3)).map(_.filesDeleted) == Seq(1))
    assert(data(s) == bases("200", "300", "400") + base("c", later("600")))
    assert(clean(s, versions(1)).isEmpty, "too few commits since the last clean")
    assert(new Cleaning(s, TableConfig.load(s), versions(1)).onRequest().map(_.filesDeleted) == Seq(2))
    assert(data(s) == bases("400") + base("c", later("600")))
  }

  test("files of replaced groups are deleted once the retention has passed the replacing commit") {
    val s = upserted(9, "100", "200")
    write(s, "300", Seq("b"), action = "replacecommit", replaced = Seq("a"))
    write(s, "400", Seq("b"))
    write(s, "500", Seq("b"))
    clean(s, commits(3))
    assert(data(s).intersect(bases("100", "200")) == bases("100", "200"), "a read of the newest before 300 needs them")
    write(s, "600", Seq("b"))
    clean(s, commits(3))
    assert(data(s) == Set("300", "400", "500", "600").map(base("b", _)))
  }

  test("an empty partition is removed with its folder unless a write is running") {
    for (running <- Seq(false, true)) {
      val s = Storage(folder.resolve(s"t$running").toUri.toString, storage.conf)
      table(storage = s)
      write(s, "100", Seq("a"), partition = "q")
      write(s, "200", action = "replacecommit", partition = "q", replaced = Seq("a"))
      write(s, "300", Seq("b"))
      write(s, "400", Seq("b"))
      if (running) instantFile(s, t("450") + ".commit.requested")
      val done = clean(s, commits(1))
      assert(done.map(_.partitionsRemoved) == Seq(if (running) Nil else Seq("q")))
      assert(data(s, "q").isEmpty && s.exists("q") == running)
      val metadata = timeline(s).cleanMetadata(timeline(s).instants.filter(_.action == Action.Clean).last).get
      assert(metadata.partitions("q") == CleanedPartition("KEEP_LATEST_COMMITS", Seq(base("a", "100")), Nil, !running))
    }
  }

  test("a clean deletes logs with their slice and keeps a late log of a newer slice") {
    val s = storage
    table(storage = s)
    write(s, "100", Seq("a"), action = "deltacommit")
    write(s, "200", logs = Seq("a"), action = "deltacommit")
    // Begun before the compaction, completed after it.
    write(s, "250", logs = Seq("a"), action = "deltacommit", completed = Some("350"))
    write(s, "300", Seq("a"), operation = OperationType.Compact, completed = Some("340"))
    write(s, "400", logs = Seq("a"), action = "deltacommit")
    write(s, "500", logs = Seq("a"), action = "deltacommit")
    val before = show(view(s).slices)
    assert(short(before) == Seq("a@300:250,400,500"))
    clean(s, commits(1))
    assert(data(s).count(_.contains(t("100"))) == 0 && data(s).count(_.contains(t("200"))) == 0)
    assert(show(view(s).slices) == before)
  }

  test("slices that a long compaction superseded stay for the reads that began before it completed") {
    val s = storage
    table(storage = s)
    write(s, "100", Seq("a"), action = "deltacommit")
    write(s, "300", logs = Seq("a"), action = "deltacommit")
    write(s, "400", logs = Seq("b"), action = "deltacommit")
    // Planned before these, completed after them.
    write(s, "200", Seq("a"), operation = OperationType.Compact, completed = Some("450"))
    write(s, "500", logs = Seq("b"), action = "deltacommit")
    clean(s, commits(2))
    assert(data(s)(base("a", "100")))
    write(s, "600", logs = Seq("b"), action = "deltacommit")
    write(s, "700", logs = Seq("b"), action = "deltacommit")
    clean(s, commits(2))
    assert(!data(s)(base("a", "100")) && data(s)(base("a", "200")))
  }

  test("logs of a replaced group that were requested after the overwrite, and completed before it, are deleted") {
    val s = faulty("t")
    table(storage = s)
    write(s, "100", Seq("a"))
    write(s, "200", Seq("b"), action = "replacecommit", completed = Some("250"), replaced = Seq("a"))
    write(s, "210", logs = Seq("a"), action = "deltacommit", completed = Some("220"))
    write(s, "300", Seq("b"))
    write(s, "400", Seq("b"))
    clean(s, commits(1))
    assert(data(s) == Set(base("b", "300"), base("b", "400")))
  }

  test("a group replaced while a write was running is deleted once the write has completed") {
    val s = faulty("t")
    table(storage = s)
    write(s, "050", Seq("a"))
    write(s, "100", Seq("b"), action = "replacecommit", completed = Some("400"), replaced = Seq("a"))
    write(s, "200", Seq("c"), completed = Some("600"))
    instantFile(s, t("300") + ".commit.requested")
    for (i <- 700 to 702) write(s, i.toString, Seq("c"))
    clean(s, commits(1))
    assert(data(s)(base("a", "050")), "the pending write reads it")
    s.delete(s".hoodie/timeline/${t("300")}.commit.requested")
    for (i <- 710 to 712) write(s, i.toString, Seq("c"))
    clean(s, commits(1))
    assert(!data(s)(base("a", "050")))
  }

  test("a clean keeps the files of a savepoint until it is removed") {
    val s = upserted(9, "100", "200", "300", "400", "500")
    savepoint(s, "200", Map("p" -> Seq(base("a", "200"))))
    clean(s, commits(1))
    assert(data(s) == bases("200", "400", "500"))
    write(s, "600", Seq("a"))
    clean(s, commits(1))
    assert(data(s) == bases("200", "500", "600"))
    s.delete(s".hoodie/timeline/${t("200")}_${t("990")}.savepoint")
    write(s, "700", Seq("a"))
    clean(s, commits(1))
    assert(data(s) == bases("600", "700"))
  }

  test("a savepoint that is being made retains the files of its commit") {
    val s = upserted(9, "100", "200", "300", "400")
    instantFile(s, t("200") + ".savepoint.inflight")
    clean(s, versions(1))
    assert(data(s) == bases("200", "400"))
  }

  test("a clean keeps slices that a pending compaction, log compaction or clustering needs, under each policy") {
    for (action <- Seq("compaction", "logcompaction", "clustering"); how <- Seq(commits(1), versions(1))) {
      val s = Storage(folder.resolve(s"$action${how.policy}").toUri.toString, storage.conf)
      table(storage = s)
      Seq("100", "200", "300").foreach(i => write(s, i, Seq("a")))
      if (action == "clustering")
        PlannedClustering.at(s, t("350"), view(s).slices)
      else plan(s, "350", action, "a", "300")
      Seq("400", "500").foreach(i => write(s, i, Seq("b")))
      clean(s, how)
      assert(data(s)(base("a", "300")), action)
      if (how.policy.isInstanceOf[CleaningPolicy.Commits])
        assert(
          timeline(s).instants.filter(_.action == Action.Clean).flatMap(timeline(s).cleanMetadata).flatMap(
            _.earliest) == Seq(t("300")), "not later than the last commit before the plan")
    }
  }

  test("a clean keeps slices that a pending write may read, under each policy") {
    for (how <- Seq(commits(1), versions(1))) {
      val s = Storage(folder.resolve(s"${how.policy}").toUri.toString, storage.conf)
      table(storage = s)
      Seq("100", "200").foreach(i => write(s, i, Seq("a")))
      instantFile(s, t("250") + ".commit.requested")
      Seq("300", "400", "500").foreach(i => write(s, i, Seq("a")))
      clean(s, how)
      assert(data(s)(base("a", "200")), how)
      s.delete(s".hoodie/timeline/${t("250")}.commit.requested")
      write(s, "600", Seq("a"))
      clean(s, how)
      assert(!data(s)(base("a", "200")), how)
    }
  }

  test("version 6: a clean has the names and bytes of its layout and deletes logs with their slice") {
    val s = storage
    table(6, s)
    val times = Seq("20260101000000000", "20260101000001000", "20260101000002000", "20260101000003000")
    write(s, times.head, Seq("a"), action = "deltacommit")
    write(s, times(1), logs = Seq("a"), action = "deltacommit")
    write(s, times(2), Seq("a"), operation = OperationType.Compact)
    write(s, times(3), logs = Seq("a"), action = "deltacommit")
    times.foreach(t =>
      s.list(".hoodie").filter(_.getPath.getName.startsWith(t)).foreach(f =>
        s.fs.setTimes(f.getPath, InstantTime.parse(t).get.toInstant(java.time.ZoneOffset.UTC).toEpochMilli + 500, -1)))
    val done = clean(s, commits(1))
    assert(done.map(_.filesDeleted) == Seq(2) && show(view(s).slices) == Seq(s"a@${times(2)}:${times(2)}"))
    val files = names(s, ".hoodie").filter(_.contains(".clean"))
    assert(files == Set(".requested", ".inflight", "").map(state => s"${done.head.instant}.clean$state"))
    assert(s.read(s".hoodie/${done.head.instant}.clean.inflight").isEmpty)
  }
}
