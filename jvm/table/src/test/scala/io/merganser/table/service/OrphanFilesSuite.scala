package io.merganser.table.service

import io.merganser.ExtensiveTest
import io.merganser.table.{DrawnPoints, FaultyFileSystem, Rows, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.commit.{Creation, Heartbeat, Rollback}
import io.merganser.table.file.{Marker, MarkerKind, Markers, PartitionMetadata}
import io.merganser.table.log.{LogDelete, LogNames, LogWriter}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

// Guarantee (Repairs and restores): Removing orphan files deletes no file of a commit, a savepoint, a pending instant
//   or a running write, nor one of unknown origin; the next removal completes one that failed. Also:
//   test_remove_orphan_files_lists_orphans_by_age_and_removes_them
/** Only files are removed of which it is certain that no commit names them. */
final class OrphanFilesSuite extends TableSuite with CleaningFixture {

  private def service(s: Storage) = new OrphanFiles(s, TableConfig.load(s))

  private def found(s: Storage, olderThanMs: Long = Long.MaxValue): Set[String] =
    service(s).find(olderThanMs).map(_.path).toSet

  private def file(s: Storage, path: String): String = {
    s.createNew(path, Array[Byte](1, 2, 3))
    path
  }

  /** Writes of two groups, 100 to 300, a savepoint of 200, and a pending write 350. */
  private def written(name: String, version: Int): Storage = {
    val s = faulty(name)
    table(version, s)
    Seq("100", "200", "300").foreach(write(s, _, Seq("a", "b"), changes = Seq("a")))
    if (version < 8) completeInOrder(s)
    new Savepoints(s, TableConfig.load(s)).create(Some(t("200")), "", "")
    val folder = TableConfig.load(s).timelineFolder
    s.createNew(s"$folder/${t("350")}.commit.requested", Array.emptyByteArray)
    s.createNew(s"$folder/${t("350")}.${if (version < 8) "commit.inflight" else "inflight"}", Array.emptyByteArray)
    s
  }

  private def orphans(s: Storage): Set[String] = Set(
    file(s, s"p/${base("a", "150")}"), // no commit
    file(s, s"p/${base("x", "200")}"), // of a commit that does not name it
    file(s, changeFile("a", "150")),
    file(s, changeFile("b", "200")),
    file(s, s"p/${base("a", "400")}"), // later than all commits
    file(s, s"copy/of/p/${base("a", "200")}"), // of a commit, in another folder
    file(s, s"${Rollback.OrphansFolder}/p/${base("b", "250")}") // moved away by a write
  )

  private def others(s: Storage): Set[String] = {
    new Markers(s, t("360")).create(Marker("p", base("c", "360"), MarkerKind.Create))
    s.touch(Heartbeat.file(t("370")))
    Set(
      file(s, s"p/${base("a", "350")}"), // pending
      file(s, s"p/${base("c", "360")}"), // announced by a marker
      file(s, s"p/${base("c", "370")}"), // of a writer that lives
      file(s, s"p/${base("a", "050")}"), // older than the timeline
      file(s, "p/notes.parquet"),
      file(s, s"p/._${base("a", "150")}")
    )
  }

  for (version <- Seq(6, 8, 9)) test(s"version $version: exactly the files that no commit names are removed") {
    val s       = written("t", version)
    val live    = show(view(s).slices)
    val unknown = orphans(s)
    val kept    = others(s)
    assert(found(s) == unknown)
    assert(service(s).find(Long.MaxValue).forall(f => f.sizeBytes == 3 && f.reason.nonEmpty))
    assert(found(s, System.currentTimeMillis() - 3600000L).isEmpty, "they are younger")
    assert(unknown.forall(s.exists), "find changes nothing")
    assert(service(s).remove(Long.MaxValue).map(_.path).toSet == unknown)
    assert(!unknown.exists(s.exists) && kept.forall(s.exists))
    assert(show(view(s).slices) == live && found(s).isEmpty && service(s).remove(Long.MaxValue).isEmpty)
    assert(Seq("100", "200", "300").forall(i => data(s)(base("a", i)) && s.exists(changeFile("a", i))),
      "files of commits and savepoints")
  }

  for (version <- Seq(6, 9)) test(s"version $version: files of archived instants are found in the history and kept") {
    val s = faulty("t")
    table(version, s)
    (100 to 900 by 100).foreach(i => write(s, i.toString, Seq("a")))
    if (version < 8) completeInOrder(s)
    new Archiving(s, TableConfig.load(s), ArchiveConfig(minCommits = 2, maxCommits = 3)).run()
    assert(timeline(s).completed.size < 5)
    val unknown = Set(file(s, s"p/${base("a", "150")}"), file(s, s"p/${base("x", "200")}"))
    val old     = file(s, s"p/${base("a", "050")}")
    assert(found(s) == unknown)
    service(s).remove(Long.MaxValue)
    assert(!unknown.exists(s.exists) && s.exists(old) && (100 to 900 by 100).forall(i => data(s)(base("a", s"$i"))))
  }

  test("files of archived commits are kept if a saved write starts the timeline before them") {
    val s = faulty("t")
    table(9, s)
    (100 to 900 by 100).foreach(i => write(s, i.toString, Seq("a")))
    savepoint(s, "200", Map("p" -> Seq(base("a", "200"))))
    new Archiving(s, TableConfig.load(s), ArchiveConfig(minCommits = 2, maxCommits = 3, beyondSavepoint = true)).run()
    assert(timeline(s).completed.head.requested == t("200"))
    s.delete(s".hoodie/timeline/${t("200")}_${t("990")}.savepoint") // by another engine
    val unknown = file(s, s"p/${base("a", "350")}")
    assert(found(s) == Set(unknown))
  }

  test("version 6: a log is kept because its name does not identify the writes of its blocks") {
    val s = faulty("t")
    table(6, s)
    write(s, "100", Seq("a"))
    completeInOrder(s)
    val logs = Seq(file(s, s"p/${log("a", t("100"))}"), file(s, s"p/${log("a", t("150"), 2)}"))
    assert(found(s).isEmpty)
    service(s).remove(Long.MaxValue)
    assert(logs.forall(s.exists))
  }

  test("version 6: a log whose blocks a rollback has revoked is no orphan") {
    val s = faulty("t")
    table(6, s)
    write(s, "100", Seq("a"))
    completeInOrder(s)
    def written(instant: String, version: Int)(write: LogWriter => Unit): Unit = {
      val writer =
        new LogWriter(s, "t", LogNames("p", "a", t("100"), version, "0-0-0"), t(instant), Rows.withMeta())
      try write(writer)
      finally writer.close()
    }
    val deletes = Iterator(LogDelete(UTF8String.fromString("k"), UTF8String.fromString("p"), null))
    written("150", version = 1)(_.deleteBlock(deletes, new StructType))
    assert(found(s) == Set(s"p/${log("a", t("100"))}"))
    written("160", version = 2)(_.rollbackBlock(t("150")))
    assert(found(s).isEmpty)
  }

  test("version 9: a log without a commit is removed, unless buckets are being split or merged") {
    val s = faulty("t")
    Creation.create(s, properties() + ("hoodie.table.initial.version" -> "9"))
    write(s, "100", Seq("a"), logs = Seq("b"))
    val unknown = file(s, s"p/${log("a", t("150"))}")
    assert(found(s) == Set(unknown))
    s.createNew(".hoodie/.bucket_index/consistent_hashing_metadata/p/x", Array[Byte](1))
    assert(found(s).isEmpty)
  }

  test("a commit without file names protects the files of its instant") {
    val s = faulty("t")
    table(9, s)
    write(s, "100", Seq("a"))
    write(s, "200")
    file(s, s"p/${base("a", "200")}")
    assert(found(s).isEmpty)
  }

  test("a table without a commit, or with other file names only, has no orphans") {
    val s = faulty("t")
    table(9, s)
    PartitionMetadata.write(s, "p", t("100"))
    file(s, s"p/${base("a", "100")}")
    assert(found(s).isEmpty)
  }

  test("a write that begins between listing and removing keeps its files") {
    val s = faulty("t")
    table(9, s)
    write(s, "100", Seq("a"))
    val path = file(s, s"p/${base("a", "150")}")
    val left = FaultyFileSystem.interrupting("(create|rename) .*lock.*")(
      s.createNew(s".hoodie/timeline/${t("150")}.commit.requested", Array.emptyByteArray))(
      service(s).remove(Long.MaxValue))
    assert(left.isEmpty && s.exists(path))
  }

  test("a file that has grown between listing and removing is kept") {
    val s = faulty("t")
    table(9, s)
    write(s, "100", Seq("a"))
    val path = file(s, s"p/${base("a", "150")}")
    val left = FaultyFileSystem.interrupting("(create|rename) .*lock.*") {
      s.delete(path)
      s.createNew(path, Array[Byte](1, 2, 3, 4))
    }(service(s).remove(Long.MaxValue))
    assert(left.isEmpty && s.exists(path))
  }

  test("files of a table inside the table's folder are not orphans") {
    val s = faulty("t")
    table(9, s)
    write(s, "100", Seq("a"))
    s.makeFolder("other/.hoodie")
    val path = file(s, s"other/p/${base("a", "150")}")
    assert(found(s).isEmpty && service(s).remove(Long.MaxValue).isEmpty && s.exists(path))
  }

  test("a moved file is kept if it is the only copy of a commit's file") {
    val s = faulty("t")
    table(9, s)
    Seq("100", "200").foreach(write(s, _, Seq("a")))
    val aside = file(s, s"${Rollback.OrphansFolder}/p/${base("a", "200")}")
    assert(found(s) == Set(aside))
    s.delete(s"p/${base("a", "200")}")
    assert(found(s).isEmpty && service(s).remove(Long.MaxValue).isEmpty && s.exists(aside))
  }

  test("each orphan is copied to the backup folder before its removal, and the folder must be outside the table") {
    val s       = written("t", 9)
    val unknown = orphans(s)
    val backup  = folder.resolve("backup")
    val inside  = Seq(s.basePath, new Path(s.basePath, "p"))
    inside.foreach(path =>
      assert(conditionOf(service(s).remove(Long.MaxValue, Some(path))) == "BACKUP_INSIDE_TABLE"))
    assert(found(s) == unknown)
    service(s).remove(Long.MaxValue, Some(new Path(s"faulty://$backup")))
    unknown.foreach(path => assert(java.nio.file.Files.size(backup.resolve(path)) == 3, path))
  }

  test("a failed removal deletes nothing but orphans, and the next one removes the rest", ExtensiveTest) {
    val prepared = written("prepared", 9)
    val unknown  = orphans(prepared)
    val kept     = others(prepared) + s"p/${base("a", "100")}" + s"p/${base("a", "300")}"
    def copied(name: String): Storage = {
      FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile, true)
      faulty(name)
    }
    def remove(s: Storage, name: String) =
      service(s).remove(Long.MaxValue, Some(new Path(s"faulty://${folder.resolve(name)}-backup")))
    val operations = FaultyFileSystem.recorded(remove(copied("whole"), "whole"))
    val points = DrawnPoints.of(operations.indices.flatMap { i =>
      if (isChange(operations(i))) Seq(Before, After, Dead, Lost).map(i + 1 -> _) else Seq(i + 1 -> (Before: Fault))
    })
    for (((n, fault), i) <- points.zipWithIndex) {
      val s       = copied(s"point-$i")
      val (_, at) = FaultyFileSystem.failing(n, fault)(remove(s, s"point-$i"))
      val clue    = s"$fault at $at"
      assert(kept.forall(s.exists), clue)
      assert(unknown.forall(p =>
          s.exists(p) || java.nio.file.Files.size(folder.resolve(s"point-$i-backup").resolve(
              p)) == 3), clue)
      remove(s, s"point-$i")
      assert(!unknown.exists(s.exists) && kept.forall(s.exists), clue)
      Seq(s"point-$i", s"point-$i-backup").foreach(p => FileUtils.deleteDirectory(folder.resolve(p).toFile))
    }
    info(s"${operations.size} operations, ${points.size} points")
  }
}
