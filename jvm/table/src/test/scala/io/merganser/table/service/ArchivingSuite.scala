package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.options.HistorySettings
import io.merganser.table.commit.{Rollback, TableUpgrade, Transaction}
import io.merganser.table.file.{Marker, MarkerKind, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{ArchiveConfig, WriteConfig}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._
import org.apache.spark.sql.types.StructType

/** Which instants are archived, and that nothing of them is lost. */
final class ArchivingSuite extends TableSuite with ArchivingFixture {

  private def copyOnWrite(version: Int = 9): Storage = {
    val s = storage
    io.merganser.table.commit.Creation.create(s, properties(version, mergeOnRead = false))
    s
  }

  for (version <- Seq(6, 8, 9))
    test(s"version $version: archiving leaves 20 of more than 30 completed writes, and the history serves the others") {
      val s = copyOnWrite(version)
      commits(s, 1 to 30)
      assert(archive(s) == Archived(0, None, None, 30))
      commits(s, Seq(31))
      val before = timelineOf(s)
      assert(archive(s) == Archived(11, Some(commitAt(1)), Some(commitAt(11)), 20))
      assert(active(s) == numbers(12 to 31) && archived(s) == numbers(1 to 11))
      assert(names(s, TableConfig.load(s).timelineFolder).count(_.head.isDigit) == 60)
      assert(historyOf(s).writes.map(_._2) == (1 to 11).map(plain))
      if (version > 6) assert(historyOf(s).writes.map(_._1.completed.get) == (1 to 11).map(n => at(n * 10 + 1)))
      // A process that loaded the timeline before finds what it has.
      assert(before.metadata(before.completed.head) == plain(1))
      // All instants of the history count as completed.
      assert((1 to 31).forall(n => timelineOf(s).isCompleted(commitAt(n))))
      assert(archive(s).instants == 0)
    }

  test("a file of the history has the name and the columns of Hudi's") {
    val s = copyOnWrite()
    commits(s, 1 to 31)
    archive(s)
    val folder = TableConfig.load(s).historyFolder
    val file   = s"${commitAt(1)}_${commitAt(11)}_0.parquet"
    assert(names(s, folder) == Set("_version_", "manifest_1", file))
    assert(s.readText(s"$folder/_version_") == "1")
    assert(s.readText(s"$folder/manifest_1") ==
      s"""{"files":[{"fileName":"$file","fileLen":${s.status(s"$folder/$file").get.getLen}}]}""")
    val footer = org.apache.parquet.hadoop.ParquetFileReader.open(
      org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(s.path(s"$folder/$file"), s.conf))
    try {
      assert(footer.getFileMetaData.getSchema.toString.replaceAll("\\s+", " ") ==
        "message org.apache.hudi.avro.model.HoodieLSMTimelineInstant { optional binary instantTime (STRING); " +
        "optional binary completionTime (STRING); optional binary action (STRING); optional binary metadata; " +
        "optional binary plan; required int32 version; } ")
      assert(footer.getFileMetaData.getKeyValueMetaData.get("parquet.avro.schema").contains("HoodieLSMTimelineInstant"))
    } finally footer.close()
  }

  test("archiving keeps a pending write or compaction and the completed write before it") {
    for (action <- Seq(Action.Commit, Action.ReplaceCommit, Action.Compaction)) {
      val s = Storage(folder.resolve(action.name).toUri.toString, new org.apache.hadoop.conf.Configuration())
      io.merganser.table.commit.Creation.create(s, properties(mergeOnRead = false))
      commits(s, 1 to 40)
      pending(s, 55, action)
      archive(s)
      assert(active(s).head == commitAt(5) && archived(s) == numbers(1 to 4), action)
    }
  }

  test("archiving keeps a write that completed while a pending one was running") {
    val s = copyOnWrite()
    commits(s, 1 to 40)
    val folder = TableConfig.load(s).timelineFolder
    s.delete(s"$folder/${InstantFile.completed(commitAt(3), Some(at(31)), Action.Commit)}")
    s.createNew(s"$folder/${InstantFile.completed(commitAt(3), Some(at(56)), Action.Commit)}",
      CommitMetadata.encodeAvro(plain(3), isReplace = false))
    pending(s, 55, Action.Commit)
    archive(s)
    assert(archived(s).forall(_ < commitAt(3)) && active(s).head == commitAt(3))
  }

  test(
    "archiving keeps instants from the first savepoint on, or with hoodie.archive.beyond.savepoint only saved ones") {
    val s = copyOnWrite()
    commits(s, 1 to 40)
    s.createNew(s"${TableConfig.load(s).timelineFolder}/${commitAt(4)}_${at(45)}.savepoint", Array[Byte](1))
    archive(s)
    assert(archived(s) == numbers(1 to 3))
    archive(s, ArchiveConfig(beyondSavepoint = true))
    assert(archived(s) == numbers(1 to 20).filterNot(_ == commitAt(4)))
    assert(active(s) == commitAt(4) +: numbers(21 to 40))
    assert((1 to 40).forall(n => timelineOf(s).isCompleted(commitAt(n))))
    // Without the savepoint the timeline would begin with its write, and those archived after it would not count.
    new Savepoints(s, TableConfig.load(s)).delete(None)
    assert((1 to 40).forall(n => timelineOf(s).isCompleted(commitAt(n))))
    assert(archived(s) == numbers(1 to 20) && active(s) == numbers(21 to 40))
  }

  test("archiving keeps the last compaction if time makes the next one due, else enough delta commits to count") {
    for (isByTime <- Seq(false, true)) {
      val s = faulty(s"t$isByTime")
      table(storage = s)
      commits(s, 1 to 5, Action.DeltaCommit)
      commits(s, 6 to 6)
      commits(s, 7 to 40, Action.DeltaCommit)
      archive(s, ArchiveConfig(compactsByTime = isByTime))
      assert(active(s).head == commitAt(if (isByTime) 6 else 21))
    }
  }

  test("files written after the rollback of their write are removed before the timeline starts after them") {
    for (isLate <- Seq(false, true)) {
      val s      = faulty(s"t$isLate")
      val config = table(storage = s)
      commits(s, 1 to 40)
      partition(s)
      val failed = at(55)
      def write(): Unit = {
        val name = base("b", failed)
        new Markers(s, failed).create(Marker("p", name, MarkerKind.Create))
        s.createNew(s"p/$name", Array[Byte](1))
      }
      if (isLate) archive(s)
      write()
      if (isLate) Rollback.failed(s, config, Transaction.Options()) else archive(s)
      assert(!s.exists(s"p/${base("b", failed)}") && !s.exists(s".hoodie/.temp/$failed"), isLate)
    }
  }

  test("archiving keeps instants that the last clean retains, and archives older services but this clean") {
    val s = copyOnWrite()
    commits(s, 1 to 40)
    service(s, 22, Action.Clean, CleanFixture.completed(Some(commitAt(1))))
    service(s, 24, Action.Rollback, RollbackMetadata.encode(RollbackMetadata(at(24), 1L, Nil, Map.empty)))
    service(s, 95, Action.Clean, CleanFixture.completed(Some(commitAt(8))))
    archive(s, ArchiveConfig(cleans = true))
    assert(archived(s) == numbers(1 to 7))
    assert(timelineOf(s).instants.filterNot(_.action.isWrite).map(_.requested) == Seq(at(95)))
    assert(historyOf(s).cleans.map(_.earliest) == Seq(Some(commitAt(1))))
    archive(s)
    assert(archived(s) == numbers(1 to 20))
    assert(timelineOf(s).instants.filterNot(_.action.isWrite).map(_.requested) == Seq(at(95)))
  }

  test("a replacecommit stays until a clean has deleted the files that it replaced") {
    val s        = copyOnWrite()
    def replaced = plain(3).copy(replacedFileIds = Map("p" -> Seq("old-0")))
    commits(s, Seq(1, 2))
    commits(s, Seq(3), Action.ReplaceCommit, _ => replaced)
    commits(s, 4 to 40)
    partition(s, base("old-0", commitAt(1)))
    archive(s)
    assert(archived(s) == numbers(1 to 2))
    service(s, 405, Action.Clean, CleanFixture.completed(Some(commitAt(30))))
    archive(s)
    assert(archived(s) == numbers(1 to 2))
    s.delete(s"p/${base("old-0", commitAt(1))}")
    archive(s)
    assert(archived(s) == numbers(1 to 20))
    assert(historyOf(s).writes.map(_._2.replacedFileIds).filter(_.nonEmpty) == Seq(Map("p" -> Seq("old-0"))))
  }

  test("the savepoint of a replacecommit between archived writes stays until the replaced files are gone") {
    val s        = copyOnWrite()
    def replaced = plain(4).copy(replacedFileIds = Map("p" -> Seq("old-0")))
    commits(s, 1 to 3)
    commits(s, Seq(4), Action.ReplaceCommit, _ => replaced)
    commits(s, 5 to 40)
    partition(s, base("old-0", commitAt(1)))
    s.createNew(s"${TableConfig.load(s).timelineFolder}/${commitAt(4)}_${at(45)}.savepoint", Array[Byte](1))
    archive(s, ArchiveConfig(beyondSavepoint = true))
    assert(active(s) == commitAt(4) +: numbers(21 to 40))
    def delete() = new Savepoints(s, TableConfig.load(s)).delete(None)
    assert(conditionOf(delete()) == "SAVEPOINT_NEEDED")
    assert(timelineOf(s).replacedGroups.map(_.fileId) == Set("old-0") && timelineOf(s).savepoints.size == 1)
    s.delete(s"p/${base("old-0", commitAt(1))}")
    assert(delete() == commitAt(4))
    assert(archived(s) == numbers(1 to 20) && active(s) == numbers(21 to 40))
  }

  test("archiving keeps the last compaction and the delta commits that are counted for the next one") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 10, Action.DeltaCommit)
    commits(s, Seq(11))
    commits(s, 12 to 40, Action.DeltaCommit)
    archive(s, ArchiveConfig(deltaCommits = 35))
    assert(archived(s) == numbers(1 to 10))
    archive(s, ArchiveConfig(deltaCommits = 25, maxCommits = 25))
    assert(archived(s) == numbers(1 to 15))
    archive(s, ArchiveConfig(minCommits = 3, maxCommits = 4))
    assert(active(s) == numbers(36 to 40))
  }

  test("archiving keeps the commit with the schema and the one with transactions of applications") {
    val s = copyOnWrite()
    commits(s, 1 to 5)
    commits(s, 6 to 40, metadata = n => plain(n).copy(extra = Map.empty))
    archive(s)
    assert(active(s).head == commitAt(5))
    val other = Storage(folder.resolve("other").toUri.toString, new org.apache.hadoop.conf.Configuration())
    io.merganser.table.commit.Creation.create(other, properties(mergeOnRead = false))
    commits(other, 1 to 5)
    commits(other, Seq(6), metadata = n => plain(n).copy(extra = plain(n).extra + ("merganser.transactions" -> "{}")))
    commits(other, 7 to 40)
    archive(other)
    assert(active(other).head == commitAt(6))
  }

  test("layers of the history are merged, and files that no retained version has are deleted") {
    val s        = copyOnWrite()
    val settings = ArchiveConfig(minCommits = 1, maxCommits = 2, history = HistorySettings(batch = 3, retained = 2))
    commits(s, Seq(1))
    for (n <- 2 to 30) {
      commits(s, Seq(n))
      archive(s, settings)
      assert((archived(s) ++ active(s)).distinct == numbers(1 to n))
    }
    assert(historyOf(s).writes.map(_._2) == (1 to archived(s).size).map(plain))
    val files  = names(s, TableConfig.load(s).historyFolder)
    val layers = files.filter(_.endsWith(".parquet")).groupBy(_.stripSuffix(".parquet").split('_').last).map(_._1).toSet
    assert(layers.contains("2"), files)
    assert(files.size < 20, files)
    assert(historyOf(s).completionTime(commitAt(7)).contains(at(71)))
  }

  test("files of the history above the configured size are not merged") {
    val s        = copyOnWrite()
    val settings = ArchiveConfig(minCommits = 1, maxCommits = 2, history = HistorySettings(batch = 2, maxBytes = 10))
    for (n <- 1 to 12) { commits(s, Seq(n)); archive(s, settings) }
    assert(names(s, TableConfig.load(s).historyFolder).filter(_.endsWith(".parquet")).forall(_.endsWith("_0.parquet")))
  }

  test("a block of the archive of version 6 has as many records as configured") {
    for ((batch, blocks) <- Seq(1000 -> 2, 1 -> 33)) {
      val s = Storage(folder.resolve(s"b$batch").toUri.toString, new org.apache.hadoop.conf.Configuration())
      io.merganser.table.commit.Creation.create(s, properties(6, mergeOnRead = false))
      commits(s, 1 to 31)
      archive(s, ArchiveConfig(batch = batch))
      val file = names(s, TableConfig.load(s).historyFolder).toSeq
      assert(file == Seq(".commits_.archive.1_1-0-1"))
      val bytes = new String(s.read(s"${TableConfig.load(s).historyFolder}/${file.head}"), "ISO-8859-1")
      assert(bytes.sliding(6).count(_ == "#HUDI#") == blocks, batch)
    }
  }

  test("a long timeline is archived in parts, and completely by a call") {
    val s = copyOnWrite()
    commits(s, 1 to 230)
    val service = new Archiving(s, TableConfig.load(s), ArchiveConfig())
    assert(service.runOnce().remaining == 30)
    assert(service.run().remaining == 30) // no more than allowed
    commits(s, 231 to 450)
    assert(service.run() == Archived(230, Some(commitAt(201)), Some(commitAt(430)), 20))
    assert(archived(s) == numbers(1 to 430))
  }

  test("a table upgraded after it was opened is archived in its new layout, with any leftovers of the upgrade") {
    val s = copyOnWrite(6)
    commits(s, 1 to 31)
    val opened = TableConfig.load(s)
    val left   = names(s, opened.timelineFolder).filter(_.head.isDigit).map(n => s"${opened.timelineFolder}/$n")
    val files  = left.map(file => file -> s.read(file))
    TableUpgrade.run(s, new StructType().add("id", "int"))
    files.foreach { case (file, content) => s.createNew(file, content) }
    assert(new Archiving(s, opened, ArchiveConfig()).run() == Archived(11, Some(commitAt(1)), Some(commitAt(11)), 20))
    assert(active(s) == numbers(12 to 31) && archived(s) == numbers(1 to 11))
    assert(left.forall(s.exists) && names(s, opened.historyFolder).isEmpty)
  }

  test("a write detects conflicts with commits that were archived since it read the table") {
    val s = copyOnWrite()
    commits(s, 1 to 5)
    val read = timelineOf(s)
    commits(s, 6 to 40)
    archive(s)
    val seen = timelineOf(s).withArchivedSince(read)
    assert(numbers(6 to 40).forall(i => seen.completed.exists(_.requested == i)))
    assert(seen.metadata(commitAt(7)).contains(plain(7)))
    val now = timelineOf(s)
    assert(now.withArchivedSince(now) eq now)
  }

  test("contradicting limits of archiving are refused by name, and limits below cleaning's are raised") {
    val error = intercept[MerganserException](WriteConfig.parse(Map("hoodie.keep.min.commits" -> "30"), Map.empty,
        table()))
    assert(error.condition == "OPTION_CONFLICT")
    assert(error.getMessage.contains("hoodie.keep.min.commits") && error.getMessage.contains("hoodie.keep.max.commits"))
    val raised = ArchiveConfig().keeping(Some(5), Some(8), Some(10))
    assert((raised.minCommits, raised.maxCommits) == ((12, 15)))
  }
}
