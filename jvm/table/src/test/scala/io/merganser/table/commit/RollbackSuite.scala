package io.merganser.table.commit

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import io.merganser.table.{DrawnPoints, FaultyFileSystem, TableSuite}
import io.merganser.table.file.{FileGroupId, FileNames, Marker, MarkerKind, Markers}
import io.merganser.table.index.HashRing
import io.merganser.table.options.{FailedWrites, Heartbeats}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.{Action, CommitMetadata, CommitMetadataJson, Instant, OperationType, Timeline}
import io.merganser.table.FaultyFileSystem.{After, Before, Dead}

// Guarantee (Tables of other engines): No name in a table leads a write outside of it, and a class that a table names
//   runs no code before its interface is checked, and none if it is not allowed ([security](operating.md#security)).
//   Also: StorageSuite, UserMergersSuite, AllowedClassesSuite
final class RollbackSuite extends TableSuite {

  private def pending(storage: Storage): Seq[String] =
    Rollback.failed(storage, TableConfig.load(storage), Transaction.Options()).map(_.requested)

  private def leftovers(storage: Storage): Set[String] =
    names(storage, ".hoodie/.temp").filterNot(_.startsWith("unpublished-"))

  /** What a session does: repair, announce, write, commit; on failure roll back what it can. */
  private def write(storage: Storage, fileId: String, action: Action = Action.Commit): Unit = {
    pending(storage)
    val transaction = Transaction.begin(storage, TableConfig.load(storage), action)
    try { transaction.commit(upserted(writeBase(storage, transaction, fileId)), Set(FileGroupId("p", fileId))); () }
    catch {
      case e: Exception =>
        try transaction.rollback()
        catch { case second: Exception => e.addSuppressed(second) }
        throw e
    }
  }

  for ((how, version) <- Seq(Before -> 9, After -> 9, Dead -> 9, Before -> 6))
    test(
      s"version $version: a write that fails at any operation ($how) is visible as a whole or not, and the next " +
        "repairs") {
      val end = DrawnPoints.numbers(s"$how $version").find { n =>
        val s = faulty(s"t$n")
        Creation.create(s, properties(version) + (TableConfig.MetadataPartitions -> "files"))
        s.createNew(".hoodie/metadata/x", Array[Byte](1))
        write(s, "a")
        PropertiesUpdate.run(s, _ + (TableConfig.MetadataPartitions -> "files"))
        s.createNew(".hoodie/metadata/x", Array[Byte](1))
        val (result, failed) = FaultyFileSystem.failing(n, how)(write(s, "b"))
        val seen             = view(s).slices.map(_.fileId)
        assert(seen == (if (result.isRight) Seq("a", "b") else Seq("a")), failed)
        write(s, "c")
        val expected = seen :+ "c"
        assert(view(s).slices.map(_.fileId) == expected, failed)
        assert(Timeline.load(s, TableConfig.load(s)).pending.isEmpty, failed)
        assert(leftovers(s).isEmpty, failed)
        assert(names(s, "p").filter(_.endsWith(".parquet")) == view(s).slices.flatMap(_.base).map(_.name).toSet, failed)
        assert(!s.exists(".hoodie/metadata") && TableConfig.load(s).metadataPartitions.isEmpty, failed)
        failed.isEmpty
      }
      assert(end.get > 50)
    }

  for (how <- Seq(Before, After, Dead))
    test(s"a rollback interrupted at any operation ($how) is completed by the next") {
      val end = DrawnPoints.numbers(how.toString).find { n =>
        val s = faulty(s"t$n")
        table(storage = s)
        write(s, "a")
        val dead = Transaction.begin(s, TableConfig.load(s), Action.DeltaCommit)
        writeBase(s, dead, "b")
        writeBase(s, dead, "c")
        val (_, failed) = FaultyFileSystem.failing(n, how)(pending(s))
        assert(view(s).slices.map(_.fileId) == Seq("a"), failed)
        pending(s)
        assert(pending(s).isEmpty && leftovers(s).isEmpty, failed)
        assert(names(s, "p").count(_.endsWith(".parquet")) == 1, failed)
        failed.isEmpty
      }
      assert(end.get > 10)
    }

  test("a rollback removes the hash rings stored by an incomplete write, and no others") {
    val s = storage
    table(storage = s)
    val rings = ".hoodie/.bucket_index/consistent_hashing_metadata/p"
    val t     = Transaction.begin(s, TableConfig.load(s), Action.ReplaceCommit)
    val other = HashRing.First + HashRing.Suffix
    val ring  = HashRing.first("p", 2).toJson.getBytes(UTF_8)
    Seq(other, t.instant + HashRing.Suffix).foreach(name => s.createNew(s"$rings/$name", ring))
    assert(pending(s) == Seq(t.instant))
    assert(names(s, rings) == Set(other))
  }

  test("a rollback removes the column versions stored by an incomplete write, and no others") {
    val s = storage
    table(storage = s)
    val t     = Transaction.begin(s, TableConfig.load(s), Action.Commit)
    val other = "20200101000000000_20200101000000001.schemacommit"
    val own = Seq(".schemacommit.requested", ".schemacommit.inflight", s"_${t.instant}.schemacommit").map(t.instant + _)
    (other +: own).foreach(name => s.createNew(s".hoodie/.schema/$name", Array.emptyByteArray))
    assert(pending(s) == Seq(t.instant))
    assert(names(s, ".hoodie/.schema") == Set(other))
  }

  for ((version, folder) <- Seq(9 -> ".hoodie", 6 -> ".hoodie/timeline"))
    test(s"version $version: the next write removes copies of instants that a dead upgrade left in $folder") {
      val s = storage
      table(version, s)
      write(s, "a")
      val instant          = Timeline.load(s, TableConfig.load(s)).completed.head.requested
      def file(of: String) = s"$folder/$of${if (version == 9) "" else s"_$of"}.commit"
      val (copies, others) =
        (Seq(file(instant), s"$folder/$instant.inflight", s"$folder/$instant.commit.requested"),
          Seq(file("20200101000000000"), s"$folder/hoodie.properties.x"))
      (copies.filterNot(s.exists) ++ others).foreach(s.createNew(_, Array[Byte](1)))
      write(s, "b")
      assert(copies.filter(s.exists).isEmpty && others.forall(s.exists))
      assert(view(s).slices.map(_.fileId) == Seq("a", "b"))
    }

  test("the markers of a completed write are removed, its files stay") {
    val s = storage
    table(storage = s)
    val t    = Transaction.begin(s, TableConfig.load(s), Action.Commit)
    val stat = writeBase(s, t, "a")
    t.commit(upserted(stat), Set.empty)
    new Markers(s, t.instant).create(Marker("p", stat.fileName, MarkerKind.Create))
    assert(pending(s).isEmpty)
    assert(s.exists(stat.path) && leftovers(s).isEmpty)
  }

  for ((version, late) <- Seq(9 -> "base file", 9 -> "log", 6 -> "log"))
    test(s"version $version: the next write removes the $late of an attempt that came after its commit") {
      val s = storage
      table(version, s)
      write(s, "a")
      val t         = Transaction.begin(s, TableConfig.load(s), Action.DeltaCommit)
      val committed = writeBase(s, t, "b", token = "0-0-0")
      t.commit(upserted(committed), Set.empty)
      val name = if (late == "log") FileNames.log("a", if (version == 6) "050" else t.instant, 1, "0-0-1")
      else FileNames.base("b", "0-0-1", t.instant)
      t.markers.create(Marker("p", name, if (version == 6) MarkerKind.Append else MarkerKind.Create))
      s.createNew(s"p/$name", block(t.instant))
      assert(pending(s).isEmpty)
      assert(!s.exists(s"p/$name") && s.exists(committed.path) && leftovers(s).isEmpty)
    }

  test("version 6: a commit removes the log of a failed attempt unless it has blocks of others") {
    val s = storage
    table(6, s)
    write(s, "a")
    val t             = Transaction.begin(s, TableConfig.load(s), Action.DeltaCommit)
    val (own, shared) = (log("a", "050", 1), log("a", "050", 2))
    t.markers.create(Marker("p", own, MarkerKind.Append))
    s.createNew(s"p/$own", block(t.instant))
    t.markers.create(Marker("p", shared, MarkerKind.Append))
    s.createNew(s"p/$shared", block("050") ++ block(t.instant))
    t.commit(upserted(writeBase(s, t, "b")), Set.empty)
    assert(!s.exists(s"p/$own") && s.exists(s"p/$shared"))
  }

  test("files of a task that outlived its write's rollback are removed by the next write") {
    val s = storage
    table(storage = s)
    write(s, "a")
    val t = Transaction.begin(s, TableConfig.load(s), Action.Commit)
    pending(s)
    val late = writeBase(s, t, "b")
    assert(pending(s).isEmpty)
    assert(!s.exists(late.path) && leftovers(s).isEmpty)
  }

  test("markers in MARKERS files, one per line, are read") {
    val s = storage
    table(storage = s)
    instantFile(s, "100.deltacommit.requested")
    instantFile(s, "100.deltacommit.inflight")
    partition(s, base("a", "100"), base("b", "100"), log("c", "100"), base("d", "050"))
    s.createNew(".hoodie/.temp/100/MARKERS.type", "TIMELINE_SERVER_BASED".getBytes(UTF_8))
    s.createNew(".hoodie/.temp/100/MARKERS0", s"p/${base("a", "100")}.marker.CREATE\n".getBytes(UTF_8))
    s.createNew(".hoodie/.temp/100/MARKERS1",
      s"p/${base("b", "100")}.marker.MERGE\np/${log("c", "100")}.marker.CREATE\n".getBytes(UTF_8))
    assert(pending(s) == Seq("100"))
    assert(names(s, "p") == Set(".hoodie_partition_metadata", base("d", "050")))
    assert(Timeline.load(s, TableConfig.load(s)).instants.isEmpty)
  }

  test("without markers a rollback finds files by their instant, also in unregistered folders") {
    val s = storage
    table(storage = s)
    instantFile(s, "050_060.deltacommit")
    instantFile(s, "100.deltacommit.requested")
    instantFile(s, "100.deltacommit.inflight")
    partition(s, base("a", "050"), base("a", "100"), log("a", "100"))
    s.createNew(s"new/deep/${base("b", "100")}", Array[Byte](1))
    assert(pending(s) == Seq("100"))
    assert(names(s, "p") == Set(".hoodie_partition_metadata", base("a", "050")) && names(s, "new/deep").isEmpty)
  }

  test("version 6: a rollback removes a log file only if all its blocks are of the failed write") {
    val s = storage
    table(6, s)
    instantFile6(s, "050.deltacommit",
      CommitMetadataJson.encode(CommitMetadata(OperationType.Upsert, Map.empty, Map.empty), isReplace = false))
    instantFile6(s, "100.deltacommit.requested")
    instantFile6(s, "100.deltacommit.inflight")
    partition(s, base("a", "050"))
    s.createNew(s"p/${log("a", "050", 1)}", block("050"))
    s.createNew(s"p/${log("a", "050", 2)}", block("100") ++ block("100"))
    new Markers(s, "100").create(Marker("p", log("a", "050", 2), MarkerKind.Append))
    assert(pending(s) == Seq("100"))
    assert(names(s, "p") == Set(".hoodie_partition_metadata", base("a", "050"), log("a", "050", 1)))

    instantFile6(s, "200.deltacommit.requested")
    instantFile6(s, "200.deltacommit.inflight")
    s.createNew(s"p/${log("a", "050", 3)}", block("050") ++ block("200"))
    new Markers(s, "200").create(Marker("p", log("a", "050", 3), MarkerKind.Append))
    assert(conditionOf(pending(s)) == "ROLLBACK_UNSUPPORTED")
    assert(s.exists(s"p/${log("a", "050", 3)}"))
  }

  test("with several writers only dead writes are rolled back") {
    val s      = storage
    val config = table(storage = s)
    val lazily = Transaction.Options(failedWrites = FailedWrites.Lazy(Heartbeats.ExpiredAfterMs))
    val alive  = Transaction.begin(s, config, Action.Commit, options = Transaction.Options(heartbeatMs = Some(60000L)))
    val dead   = Transaction.begin(s, config, Action.Commit)
    assert(Rollback.failed(s, config, lazily).map(_.requested) == Seq(dead.instant))
    alive.commit(upserted(writeBase(s, alive, "a")), Set.empty)
    assert(view(s).slices.map(_.fileId) == Seq("a") && !s.exists(Heartbeat.file(alive.instant)))
    val stopped = Transaction.begin(s, config, Action.Commit, options = Transaction.Options(heartbeatMs = Some(60000L)))
    val beatMs  = System.currentTimeMillis() - Heartbeats.ExpiredAfterMs - 1000
    s.fs.setTimes(s.path(Heartbeat.file(stopped.instant)), beatMs, -1)
    assert(Rollback.failed(s, config, lazily).map(_.requested) == Seq(stopped.instant))
    stopped.rollback()
  }

  test("orphans are moved aside, and files of pending and completed writes stay") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), base("a", "300"))
    instantFiles(s, "100_110.deltacommit", "300.deltacommit.inflight")
    val orphans = view(s).orphans("p")
    assert(Rollback.moveOrphans(s, TableConfig.load(s), orphans).map(_.instant) == Seq("200"))
    assert(names(s, "p") == Set(".hoodie_partition_metadata", base("a", "100"), base("a", "300")))
    assert(s.exists(s"${Rollback.OrphansFolder}/p/${base("a", "200")}") && view(s).partitions == Seq("p"))
  }

  test("an orphan that another writer has moved or removed since it was listed is ignored") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), base("a", "300"), base("a", "400"))
    instantFiles(s, "100_110.deltacommit", "400.deltacommit.inflight")
    val orphans = view(s).orphans("p")
    assert(orphans.map(_.instant).sorted == Seq("200", "300"))
    s.delete(s"p/${base("a", "200")}")
    assert(Rollback.moveOrphans(s, TableConfig.load(s), orphans).map(_.instant) == Seq("300"))
    assert(Rollback.moveOrphans(s, TableConfig.load(s), orphans).isEmpty)
  }

  test("committed files of a table without its history folder are not moved") {
    val s = storage
    Creation.create(s, properties() + ("hoodie.table.initial.version" -> "9"))
    partition(s, base("a", "100"), base("b", "100"), base("a", "200"))
    instantFile(s, "200_210.deltacommit")
    val orphans = view(s).orphans("p")
    assert(orphans.map(_.instant) == Seq("100"))
    assert(Rollback.moveOrphans(s, TableConfig.load(s), orphans).isEmpty)
    assert(names(s, "p").size == 4)
  }

  test("markers that lead out of the table, into its .hoodie or to files of other writes delete nothing") {
    val s = storage
    table(storage = s)
    instantFile(s, "100.deltacommit.requested")
    instantFile(s, "100.deltacommit.inflight")
    partition(s, base("a", "100"), base("d", "050"), log("d", "060"), "notes.txt")
    val outside = Seq(folder.resolve(base("x", "100")), folder.resolve("victim.txt"))
    outside.foreach(java.nio.file.Files.write(_, Array[Byte](1)))
    s.createNew(s".hoodie/${base("y", "100")}", Array[Byte](1))
    val lines = Seq(s"../${base("x", "100")}", "../victim.txt", s"p/../../${base("x", "100")}", outside.head.toString,
      outside.head.toUri.toString, s".hoodie/${base("y", "100")}", s"p/${base("d", "050")}", s"p/${log("d", "060")}",
      "p/notes.txt", "",
      s"p//${base("d", "050")}", s"p/${base("a", "100")}").map(_ + ".marker.CREATE")
    s.createNew(".hoodie/.temp/100/MARKERS0", lines.mkString("\n").getBytes(UTF_8))
    assert(pending(s) == Seq("100"))
    assert(outside.forall(java.nio.file.Files.exists(_)) && s.exists(s".hoodie/${base("y", "100")}"))
    assert(names(s, "p") == Set(".hoodie_partition_metadata", base("d", "050"), log("d", "060"), "notes.txt"))
    assert(leftovers(s).isEmpty)
  }

  private def instantFile6(s: Storage, name: String, content: Array[Byte] = Array.emptyByteArray): Unit =
    s.createNew(s".hoodie/$name", content)

  /** A log block with nothing but its instant. */
  private def block(instant: String): Array[Byte] = {
    val header = new ByteArrayOutputStream()
    val out    = new DataOutputStream(header)
    out.writeInt(1)
    out.writeInt(0)
    out.writeInt(instant.length)
    out.write(instant.getBytes(UTF_8))
    val all    = new ByteArrayOutputStream()
    val write  = new DataOutputStream(all)
    val length = 4 + 4 + header.size + 8 + 4 + 8
    write.write("#HUDI#".getBytes(UTF_8))
    write.writeLong(length.toLong)
    write.writeInt(1)
    write.writeInt(3)
    write.write(header.toByteArray)
    write.writeLong(0)
    write.writeInt(0)
    write.writeLong(length + 6L)
    all.toByteArray
  }

  private def failed(storage: Storage, options: (String, String)*): Seq[Instant] = {
    val config = TableConfig.load(storage)
    Rollback.failed(storage, config, Transaction.Options.of(WriteConfig.parse(options.toMap, Map.empty, config)))
  }

  test("under LAZY a write counts as dead after the missed heartbeats its followers allow") {
    val s = storage
    table(storage = s)
    val lazily = "hoodie.clean.failed.writes.policy" -> "LAZY"
    val begun =
      Transaction.begin(s, TableConfig.load(s), Action.Commit,
        options = Transaction.Options(heartbeatMs = Some(3600000L)))
    val beat = s.path(Heartbeat.file(begun.instant))
    s.fs.setTimes(beat, System.currentTimeMillis() - 30000L, -1)
    assert(failed(s, lazily).isEmpty)
    assert(failed(s, lazily, "hoodie.client.heartbeat.interval_in_ms" -> "20000").isEmpty)
    val short = "hoodie.client.heartbeat.interval_in_ms" -> "10000"
    assert(failed(s, lazily, short, "hoodie.client.heartbeat.tolerable.misses" -> "3").isEmpty)
    assert(failed(s, lazily, short, "hoodie.client.heartbeat.tolerable.misses" -> "0").map(_.requested) == Seq(
      begun.instant))
  }

  test("a write waits for the table's lock as long as configured") {
    val s = storage
    table(storage = s)
    Transaction.begin(s, TableConfig.load(s), Action.Commit)
    val entered = new java.util.concurrent.CountDownLatch(1)
    val done    = new java.util.concurrent.CountDownLatch(1)
    val holder  = new Thread(() => TableLock.hold(s) { _ => entered.countDown(); done.await() })
    holder.start()
    try {
      entered.await()
      val before = System.nanoTime()
      assert(conditionOf(failed(s, "hoodie.write.lock.wait_time_ms" -> "50")) == "LOCK_TIMEOUT")
      assert(System.nanoTime() - before < 20000000000L)
    } finally {
      done.countDown()
      holder.join()
    }
  }
}
