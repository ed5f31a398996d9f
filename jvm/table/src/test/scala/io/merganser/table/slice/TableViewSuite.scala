package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.file.{BaseFile, FileNames, LogFile, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadata, OperationType, Timeline, WriteStat}

// Guarantee (Reads): A missing data file that its commit or a log shows to be needed is an error with its name, commit
//   and a remedy ([limits](#not-promised)). Also:
//   test_a_read_of_a_deleted_file_fails_with_its_name_and_commit
final class TableViewSuite extends TableSuite {

  test("names of base and log files are parsed, and change files and others are ignored") {
    assert(FileNames.parseBase("p", "f-0_1-0-1_100.parquet", 5).contains(BaseFile("p", "f-0", "100",
          "f-0_1-0-1_100.parquet", 5)))
    assert(FileNames.parseLog("p", ".f-0_100.log.12_1-0-1", 5).contains(LogFile("p", "f-0", "100", 12, Some("1-0-1"),
          ".f-0_100.log.12_1-0-1", 5)))
    assert(FileNames.parseLog("p", ".f-0_100.log.1", 5).exists(_.writeToken.isEmpty))
    assert(FileNames.parseLog("p", ".f-0_100.log.1_1-0-1.cdc", 5).isEmpty)
    assert(FileNames.parseBase("p", "_SUCCESS", 0).isEmpty)
    assert(FileNames.parseLog("p", ".f-0_1-0-1_100.parquet.crc", 0).isEmpty)
    assert(FileNames.base("f-0", "1-0-1", "100") == "f-0_1-0-1_100.parquet")
    assert(FileNames.log("f-0", "100", 2, "1-0-1") == ".f-0_100.log.2_1-0-1")
    val bucket = FileNames.bucketFileId(7, "003", "p")
    assert(FileNames.bucketOf(bucket).contains(7) && bucket.startsWith("00000007-"))
    assert(FileNames.newFileId().matches("[0-9a-f-]{36}-0"))
    val ids = (0 until 1000).map(FileNames.fileIdOf("20260101000000000", "p", _))
    assert(ids.toSet.size == 1000 && ids.forall(FileNames.bucketOf(_).isEmpty))
  }

  test("log files are read by instant, then by version as a number, then by token") {
    val names =
      Seq(".f_200.log.1_0-0-0", ".f_100.log.10_0-0-0", ".f_100.log.2_0-0-1", ".f_100.log.2_0-0-0", ".f_100.log.2")
    val read = names.flatMap(FileNames.parseLog("p", _, 1)).sorted.map(_.name)
    assert(read == Seq(".f_100.log.2", ".f_100.log.2_0-0-0", ".f_100.log.2_0-0-1", ".f_100.log.10_0-0-0",
      ".f_200.log.1_0-0-0"))
  }

  test("the newest completed base file and its logs form a slice, without files of pending writes") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), base("a", "400"), log("a", "150"), log("a", "300"),
      log("a", "500"), log("b", "500"))
    instantFiles(s, "100_110.deltacommit", "150_160.deltacommit", "200_210.commit", "300_310.deltacommit",
      "400.inflight", "500.deltacommit.inflight")
    assert(show(view(s).slices) == Seq("a@200:300"))
    assert(show(view(s).allSlices("p")) == Seq("a@100:150", "a@200:300"))
  }

  test("an orphan base file starts no slice, and later logs stay with the slice before") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), log("a", "300"))
    instantFiles(s, "100_110.deltacommit", "300_310.deltacommit")
    assert(show(view(s).slices) == Seq("a@100:300"))
    assert(view(s).orphans("p").map(_.instant) == Seq("200"))
  }

  test("a log belongs to the slice that had started when its delta commit completed, not when it was requested") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), log("a", "150"), log("a", "160"))
    instantFiles(s, "100_110.deltacommit", "150_300.deltacommit", "160_170.deltacommit", "200_250.commit")
    assert(show(view(s).allSlices("p")) == Seq("a@100:160", "a@200:150"))
  }

  test("a group without a base file forms one slice from its first log on") {
    val s = storage
    table(storage = s)
    partition(s, log("a", "100"), log("a", "200"))
    instantFiles(s, "100_110.deltacommit", "200_210.deltacommit")
    assert(show(view(s).slices) == Seq("a@-:100,200"))
    assert(view(s).slices.head.baseInstant == "100")
    assert(view(s).readOptimizedSlices.isEmpty)
  }

  test("a pending compaction, with or without its base file, leaves all logs with the previous slice") {
    for (halfWritten <- Seq(false, true)) {
      val s = faulty(s"t$halfWritten")
      table(storage = s)
      partition(s, base("a", "100"), log("a", "150"), log("a", "300"), base("b", "100"), log("b", "300"))
      if (halfWritten) partition(s, base("a", "200"))
      instantFiles(s, "100_110.deltacommit", "150_160.deltacommit", "300_310.deltacommit")
      compactionFile(s, "200", "a")
      assert(show(view(s).slices) == Seq("a@100:150,300", "b@100:300"))
      assert(show(view(s).readOptimizedSlices) == Seq("a@100:", "b@100:"))
      assert(view(s).orphans("p").isEmpty)
    }
  }

  test("a completed compaction starts a slice without the logs before it") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), log("a", "150"), base("a", "200"), log("a", "300"))
    instantFiles(s, "100_110.deltacommit", "150_160.deltacommit", "300_310.deltacommit", "200_350.commit")
    compactionFile(s, "200", "a")
    assert(show(view(s).slices) == Seq("a@200:300"))
  }

  test("version 6: logs belong to the slice in their names, even while its compaction is pending") {
    val s = storage
    table(6, s)
    partition(s, base("a", "100"), log("a", "100", 1), log("a", "100", 2), log("a", "200", 1), log("b", "300"))
    instantFiles(s, "100.deltacommit", "150.deltacommit")
    assert(show(view(s).slices) == Seq("a@100:100,100"))
    compactionFile(s, "200", "a")
    assert(show(view(s).slices) == Seq("a@100:100,100,200"))
    partition(s, base("a", "200"))
    instantFile(s, "200.commit")
    assert(show(view(s).slices) == Seq("a@200:200"))
  }

  test("replaced groups are visible before the replacing instant only") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("b", "100"), base("c", "200"))
    instantFile(s, "100_110.deltacommit")
    instantFile(s, "200_210.replacecommit",
      CommitMetadata(OperationType.InsertOverwrite, Map.empty, Map.empty, Map("p" -> Seq("a"), "other" -> Seq("b"))))
    assert(show(view(s).slices) == Seq("b@100:", "c@200:"))
    assert(show(view(s).slicesOf(Seq("p", "nowhere"))) == Seq("b@100:", "c@200:"))
    val config = TableConfig.load(s)
    assert(show(new TableView(s, config, Timeline.load(s, config).asOf("150")).slices) == Seq("a@100:", "b@100:"))
  }

  test("a view as of an instant has the slices of that time") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), log("a", "150"), base("a", "200"), log("a", "300"))
    instantFiles(s, "100_110.deltacommit", "150_160.deltacommit", "200_210.commit", "300_310.deltacommit")
    val config          = TableConfig.load(s)
    val timeline        = Timeline.load(s, config)
    def asOf(t: String) = show(new TableView(s, config, timeline.asOf(t)).slices)
    assert(asOf("099") == Nil && asOf("100") == Seq("a@100:") && asOf("150") == Seq("a@100:150") && asOf("200") == Seq(
      "a@200:") && asOf(
      "999") == Seq("a@200:300"))
  }

  test("the committed one of two base files of an instant and group is used") {
    val s = storage
    table(storage = s)
    val first = FileNames.base("a", "0-0-0", "100")
    val again = FileNames.base("a", "0-0-9", "100")
    partition(s, first, again)
    instantFile(s, "100_110.commit", upserted(io.merganser.table.timeline.WriteStat("a", s"p/$first")))
    assert(view(s).slices.flatMap(_.base).map(_.name) == Seq(first))
  }

  test("partitions are all folders with metadata of either form, at any depth, nested or beginning with a dot") {
    val s = storage
    table(storage = s)
    PartitionMetadata.write(s, "2024/01/02", "100")
    PartitionMetadata.write(s, "2024/01/02/b", "100")
    s.createNew("2024/01/03/.hoodie_partition_metadata.parquet", Array[Byte](1))
    s.createNew("2024/01/04/x", Array[Byte](1))
    s.createNew(".5/p/.hoodie_partition_metadata", Array[Byte](1))
    s.createNew(".hoodie/metadata/p/.hoodie_partition_metadata", Array[Byte](1))
    s.createNew(".snapshot/p/.hoodie_partition_metadata", Array[Byte](1))
    s.createNew("a b%3A:c/.hoodie_partition_metadata", Array[Byte](1))
    assert(view(s).partitions == Seq(".5/p", "2024/01/02", "2024/01/02/b", "2024/01/03", "a b%3A:c"))
    assert(s.readText("2024/01/02/.hoodie_partition_metadata").contains("commitTime=100\npartitionDepth=3"))
  }

  test("an unpartitioned table has one partition with an empty name") {
    val s = storage
    table(storage = s)
    assert(view(s).partitions.isEmpty && view(s).slices.isEmpty)
    PartitionMetadata.write(s, "", "100")
    s.createNew(base("a", "100"), Array[Byte](1))
    PartitionMetadata.write(s, "another/table", "100")
    instantFile(s, "100_110.commit")
    assert(view(s).partitions == Seq("") && show(view(s).slices) == Seq("a@100:"))
    assert(view(s).slices.head.base.get.path == base("a", "100"))
  }

  private def madeInLayout2(s: Storage): TableConfig =
    Creation.create(s, properties() + ("hoodie.table.initial.version" -> "9"))

  private def stat(name: String, sizeBytes: Long = 1): WriteStat =
    WriteStat(FileNames.fileId(name).get, s"p/$name", fileSizeInBytes = sizeBytes, partitionPath = "p")

  test("a file that its completed commit does not name is ignored: a new group, a second log or a newest base") {
    val s = storage
    madeInLayout2(s)
    val again = FileNames.log("a", "200", 1, "9-0-9")
    partition(s, base("a", "100"), base("x", "100"), log("a", "200"), again, log("y", "200"), base("a", "300"),
      base("b", "300"))
    instantFile(s, "100_110.deltacommit", upserted(stat(base("a", "100"))))
    instantFile(s, "200_210.deltacommit", upserted(stat(log("a", "200"), 7)))
    instantFile(s, "300_310.deltacommit", upserted(stat(base("b", "300"))))
    assert(show(view(s).slices) == Seq("a@100:200", "b@300:"))
    assert(view(s).slices.head.logs.map(f => (f.name, f.committedBytes)) == Seq((log("a", "200"), Some(7L))))
    assert(show(view(s).readOptimizedSlices) == Seq("a@100:", "b@300:"))
    assert(show(view(s).allSlices("p")) == Seq("a@100:200", "b@300:"))
    val config = TableConfig.load(s)
    assert(show(new TableView(s, config, Timeline.load(s, config).asOf("200")).slices) == Seq("a@100:200"))
    val planned = FileSlice("p", "a", "100", None, Seq(log("a", "200"), again).flatMap(FileNames.parseLog("p", _, 1)))
    assert(view(s).committed(Seq(planned)).head.logs.map(_.name) == Seq(log("a", "200")))
  }

  test("files of an archived instant and of a commit without file names are used as they are") {
    val s = storage
    madeInLayout2(s)
    s.createNew(".hoodie/timeline/history/_version_", "1".getBytes)
    partition(s, base("a", "050"), log("a", "100"), log("a", "200"))
    instantFile(s, "100_110.deltacommit")
    instantFile(s, "200_210.deltacommit", upserted(stat(log("a", "200"))))
    assert(show(view(s).slices) == Seq("a@050:100,200"))
    assert(view(s).slices.head.logs.map(_.committedBytes) == Seq(None, Some(1L)))
  }

  test("version 6: base files are filtered by their commit's names, and all logs are used") {
    val s = storage
    table(6, s)
    partition(s, base("a", "100"), base("x", "100"), log("a", "100"), log("a", "100", 2))
    instantFile(s, "100.deltacommit", upserted(stat(base("a", "100"))))
    assert(show(view(s).slices) == Seq("a@100:100,100"))
  }

  test("a missing file of a newest slice is an error that names it, a missing file of an older slice is not") {
    for ((gone, isMissed) <- Seq("log" -> true, "base" -> true, "old" -> false)) {
      val s = faulty(gone)
      madeInLayout2(s)
      val all = Map("old" -> base("a", "100"), "base" -> base("a", "200"), "log" -> log("b", "200"))
      partition(s, (all - gone).values.toSeq :+ base("b", "100") :+ base("c", "200"): _*)
      instantFile(s, "100_110.deltacommit", upserted(stat(base("a", "100")), stat(base("b", "100"))))
      instantFile(s, "200_210.deltacommit",
        upserted(stat(base("a", "200")), stat(log("b", "200")), stat(base("c", "200"))))
      if (isMissed) {
        val error = intercept[MerganserException](view(s).slices)
        assert(error.condition == "SLICE_FILE_MISSING" && error.parameters("file") == s"p/${all(gone)}")
      } else assert(show(view(s).slices) == Seq("a@200:", "b@100:200", "c@200:"))
      if (gone == "log") assert(show(view(s).readOptimizedSlices) == Seq("a@200:", "b@100:", "c@200:"))
    }
  }

  test("only commits of files to be read are opened, once per process") {
    val s = faulty("opened")
    madeInLayout2(s)
    partition(s, (100 to 120).map(i => base("a", i.toString)) :+ log("a", "130"): _*)
    (100 to 120).foreach(i => instantFile(s, s"${i}_${i}5.commit", upserted(stat(base("a", i.toString)))))
    instantFile(s, "130_135.deltacommit", upserted(stat(log("a", "130"))))
    def calls: Int = FaultyFileSystem.operations(view(s).slices)
    val first      = calls
    assert(first - calls == 2)
  }

  private def logStat(name: String, baseFile: String): WriteStat = stat(name).copy(logVersion = Some(1),
    baseFile =
      Some(baseFile))

  private def missed(read: => Any): String = {
    val error = intercept[MerganserException](read)
    assert(error.condition == "SLICE_FILE_MISSING")
    s"${error.parameters("file")} by ${error.parameters("by")}"
  }

  /** Reads one partition by its name, so that the files of the table are not known to be all listed. */
  private def one(s: Storage): Seq[FileSlice] = view(s).slices("p")

  test("a missing base file that only a log's commit names is an error, even if its own commit was archived") {
    for (isArchived <- Seq(false, true)) {
      val s = faulty(s"gone$isArchived")
      madeInLayout2(s)
      partition(s, log("a", "200"), log("a", "300"))
      if (isArchived) s.createNew(".hoodie/timeline/history/_version_", "1".getBytes)
      else instantFile(s, "100_110.deltacommit", upserted(stat(base("a", "100"))))
      instantFile(s, "200_210.deltacommit", upserted(logStat(log("a", "200"), base("a", "100"))))
      instantFile(s, "300_310.deltacommit", upserted(logStat(log("a", "300"), s"p/${base("a", "100")}")))
      assert(missed(one(s)).startsWith(s"p/${base("a", "100")} by commit "))
      assert(missed(view(s).slices).startsWith(s"p/${base("a", "100")} by commit "))
      s.createNew(s"p/${base("a", "100")}", Array[Byte](1))
      assert(show(one(s)) == Seq("a@100:200,300") && show(view(s).slices) == show(one(s)))
    }
  }

  test("a log's older base file does not replace a missing newer one, and a newer compacted one does") {
    val s = storage
    madeInLayout2(s)
    partition(s, base("a", "100"), log("a", "300"), base("b", "100"), base("b", "350"), log("b", "300"))
    instantFile(s, "100_110.deltacommit", upserted(stat(base("a", "100")), stat(base("b", "100"))))
    instantFile(s, "200_210.commit", upserted(stat(base("a", "200"))))
    instantFile(s, "300_360.deltacommit",
      upserted(logStat(log("a", "300"), base("a", "200")),
        logStat(log("b", "300"), base("b", "100"))))
    instantFile(s, "350_355.commit", upserted(stat(base("b", "350"))))
    assert(missed(one(s)) == s"p/${base("a", "200")} by commit 300")
    s.createNew(s"p/${base("a", "200")}", Array[Byte](1))
    assert(show(one(s)) == Seq("a@200:300", "b@350:300"))
  }

  test("a log's missing base file is no error if no completed commit names it or its group was replaced") {
    val s = storage
    madeInLayout2(s)
    partition(s, log("a", "200"), base("a", "090"), log("b", "200"), log("c", "200"), base("d", "090"))
    instantFile(s, "090_095.deltacommit", upserted(stat(base("a", "090")), stat(base("d", "090"))))
    instantFile(s, "100_110.deltacommit", upserted(stat(base("c", "100"))))
    instantFile(s, "200_210.deltacommit",
      upserted(logStat(log("a", "200"), base("a", "100")),
        logStat(log("b", "200"), base("b", "150")), logStat(log("c", "200"), base("c", "100"))))
    instantFile(s, "300_310.replacecommit",
      CommitMetadata(OperationType.Cluster, Map("p" -> Nil), Map.empty,
        Map("p" -> Seq("c"))))
    assert(show(view(s).slices) == Seq("a@090:200", "b@-:200", "d@090:"))
  }

  test(
    "a commit without any remaining file is an error unless its slices were replaced, if the whole table is listed") {
    for ((gone, isMissed) <- Seq(base("a", "200") -> true, log("b", "300") -> true, base("c", "400") -> false)) {
      val s = faulty(gone)
      madeInLayout2(s)
      val files = Seq(base("a", "100"), base("a", "200"), base("b", "100"), log("b", "300"), base("c", "100"),
        base("c", "400"), base("c", "500"), log("b", "500"))
      partition(s, files.filterNot(_ == gone): _*)
      instantFile(s, "100_110.deltacommit",
        upserted(stat(base("a", "100")), stat(base("b", "100")),
          stat(base("c", "100"))))
      instantFile(s, "200_210.commit", upserted(stat(base("a", "200"))))
      instantFile(s, "300_310.deltacommit", upserted(logStat(log("b", "300"), base("b", "100"))))
      instantFile(s, "400_410.commit", upserted(stat(base("c", "400"))))
      instantFile(s, "500_510.deltacommit",
        upserted(stat(base("c", "500")), logStat(log("b", "500"), base("b", "100"))))
      if (isMissed) assert(missed(view(s).slices) == s"p/$gone by commit ${FileNames.instant(gone).get}")
      else assert(show(view(s).slices) == Seq("a@200:", "b@100:300,500", "c@500:"))
    }
  }

  test("a missing file of the newest commit is an error in a read of one partition too") {
    val s = storage
    madeInLayout2(s)
    partition(s, base("a", "100"))
    instantFile(s, "100_110.deltacommit", upserted(stat(base("a", "100"))))
    instantFile(s, "200_210.deltacommit", upserted(logStat(log("a", "200"), base("a", "100"))))
    val config   = TableConfig.load(s)
    val timeline = Timeline.load(s, config)
    assert(timeline.tableSchemaJson.nonEmpty)
    assert(missed(new TableView(s, config, timeline).slices("p")) == s"p/${log("a", "200")} by commit 200")
    assert(missed(view(s).slices) == s"p/${log("a", "200")} by commit 200")
    assert(show(new TableView(s, config, timeline.asOf("150")).slices) == Seq("a@100:"))
  }

  test("version 6: a missing base file is an error if a log is named after it") {
    val s = storage
    table(6, s)
    partition(s, log("a", "100"), log("b", "100"))
    instantFile(s, "100.deltacommit", upserted(stat(base("a", "100")), stat(log("b", "100"))))
    instantFile(s, "200.deltacommit", upserted(stat(log("a", "100"))))
    assert(missed(one(s)) == s"p/${base("a", "100")} by commit 100")
    s.createNew(s"p/${base("a", "100")}", Array[Byte](1))
    assert(show(one(s)) == Seq("a@100:100", "b@-:100"))
  }
}
