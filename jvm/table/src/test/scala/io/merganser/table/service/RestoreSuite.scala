package io.merganser.table.service

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.{DirectTable, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.change.CommitWindow
import io.merganser.table.commit.{Claim, ClusteringSchedule, Heartbeat, Transaction}
import io.merganser.table.options.{FailedWrites, Heartbeats}
import io.merganser.table.settings.{ArchiveConfig, CleaningConfig, CleaningPolicy, WriteConfig}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

import java.io.IOException

import scala.util.{Failure, Random, Try}

// Guarantee (Repairs and restores): A restore gives the rows that time travel read before, on every path, in every
//   version and on both types of tables; a time whose writes are archived or taken back is refused. Also:
//   test_a_restore_accepts_a_time_a_result_or_a_history_entry
/** Restores and rollbacks of completed writes: what the table has afterwards, and what refuses them. */
final class RestoreSuite extends TableSuite with RestoreFixture {

  private val histories = if (sys.env.get("MERGANSER_FULL").contains("1")) 20 else 3

  private def clean(s: Storage, retained: Int): Unit = {
    new Cleaning(s, config(s),
      CleaningConfig(automatic = true, CleaningPolicy.Commits(retained), triggerCommits = 1, isIncremental = true))
      .onRequest()
    ()
  }

  private def batch(random: Random, step: Int): String = (1 to 1 + random.nextInt(4)).map { _ =>
    val key = s"k${random.nextInt(8)}"
    if (random.nextInt(4) == 0) s"$key-" else s"$key@${100 + random.nextInt(20)}=v$step"
  }.distinct.groupBy(_.takeWhile(c => c != '@' && c != '-')).map(_._2.head).mkString(" ")

  for (version <- Seq(6, 8, 9); mergeOnRead <- Seq(false, true))
    test(s"version $version, merge on read $mergeOnRead: a restore to a random write gives its time travel's rows") {
      val seeds = new Random(version * 31 + (if (mergeOnRead) 1 else 0))
      for (_ <- 1 to histories) {
        val seed   = seeds.nextInt(100000)
        val random = new Random(seed)
        val s      = faulty(s"t$seed")
        val table  = created(s, version, mergeOnRead)
        for (step <- 1 to 5 + random.nextInt(5)) random.nextInt(8) match {
          case 0 if mergeOnRead                       => table.compact()
          case 1 if mergeOnRead                       => table.scheduleCompaction()
          case 2 if step > 3                          => clean(s, 1 + random.nextInt(3))
          case 3 if table.timeline.completed.nonEmpty => new Savepoints(s, config(s)).create(None, "", "")
          case _                                      => table.upsert(Notation.changes(batch(random, step)))
        }
        if (table.timeline.completed.isEmpty) table.upsert(Notation.changes("k1@1=a"))
        val all    = table.timeline.completed.map(_.requested)
        val target = all(random.nextInt(all.size))
        val clue   = s"seed $seed, to ${all.indexOf(target)} of ${all.size}"
        table.timeline.savepoints.filter(_.requested > target).foreach { saved =>
          assert(conditionOf(restoring(s).restore(target)) == "RESTORE_OF_SAVEPOINT", clue)
          new Savepoints(s, config(s)).delete(Some(saved.requested))
        }
        val past =
          try Some(asOf(s, target))
          catch {
            case e: MerganserException =>
              assert(e.condition == "AS_OF_TOO_EARLY", clue); None
          }
        past match {
          case None => assert(conditionOf(restoring(s).restore(target)) == "RESTORE_TOO_EARLY", clue)
          case Some(before) =>
            val (rows, optimized) = (sorted(table.rows(before)), sorted(table.readOptimizedRows(before)))
            val shown             = restoring(s).previewRestore(target)
            val done              = restoring(s).restore(target)
            assert(shown.copy(elapsedMs = 0) == done.copy(instant = None, elapsedMs = 0), clue)
            assert(done.takenBack.map(_.instant).toSet.intersect(all.toSet) == all.filter(_ > target).toSet, clue)
            assert(sorted(table.rows) == rows && sorted(table.readOptimizedRows) == optimized, clue)
            assert(done.files.forall(f => !s.exists(f.path)), clue)
            if (mergeOnRead) { table.compact(); assert(sorted(table.rows) == rows, s"compacted, $clue") }
            table.upsert(Notation.changes("k9@999=z"))
            assert(sorted(table.rows) == (rows.filterNot(_.startsWith("k9")) :+ "k9@999=z").sorted, clue)
            val left = Leftovers.of(s).filterNot(_.contains("savepoint"))
            assert(left.isEmpty, clue)
        }
      }
    }

  test("a rollback removes the newest write and refuses an older one with the remedy") {
    for (version <- Seq(6, 9)) {
      val s     = faulty(s"t$version")
      val table = created(s, version, mergeOnRead = true)
      val first = upsert(table, "k1@1=a k2@1=b")
      val last  = upsert(table, "k1@2=A k3@1=c")
      val error = intercept[MerganserException](restoring(s).rollback(Some(first)))
      assert(error.condition == "ROLLBACK_NOT_NEWEST" && error.getMessage.contains(last))
      assert(conditionOf(restoring(s).rollback(Some("20200101000000000"))) == "RESTORE_INSTANT_UNKNOWN")
      val done = restoring(s).rollback(Some(last))
      assert(done.takenBack.map(t => (t.instant, t.operation)) == Seq(last -> Some("UPSERT")))
      assert(rowsOf(s) == Seq("k1@1=a", "k2@1=b"))
      val now = timelineOf(s)
      assert(now.rollbacks.map(_.requested) == done.instant.toSeq && now.restores.isEmpty)
      assert(now.rollback(now.rollbacks.head).instants.map(_.instant) == Seq(last))
      assert(conditionOf(asOf(s, last)) == "AS_OF_TAKEN_BACK")
      val between = InstantTime.preceding(done.instant.get)
      assert(conditionOf(asOf(s, between)) == "AS_OF_TAKEN_BACK")
      for (bounds <- Seq((between, None), (first, Some(between))))
        assert(conditionOf(CommitWindow.of(s, config(s), now, bounds._1, bounds._2).view) == "CHANGES_TAKEN_BACK")
      assert(sorted(table.rows(asOf(s, done.instant.get))) == Seq("k1@1=a", "k2@1=b"))
      assert(restoring(s).rollback(None).newest.isEmpty && rowsOf(s).isEmpty)
      assert(conditionOf(restoring(s).rollback(None)) == "RESTORE_INSTANT_UNKNOWN")
      upsert(table, "k1@3=x")
      assert(rowsOf(s) == Seq("k1@3=x"))
    }
  }

  test("times between the first removed write and the restore cannot be read, and other times can") {
    val s      = faulty("t")
    val table  = created(s, 9, mergeOnRead = false)
    val writes = (1 to 4).map(n => upsert(table, s"k1@$n=v$n"))
    val done   = restoring(s).restore(writes(1)).instant.get
    val next   = upsert(table, "k1@9=z")
    for (gone <- writes.drop(2)) assert(conditionOf(asOf(s, gone)) == "AS_OF_TAKEN_BACK")
    assert(sorted(table.rows(asOf(s, writes.head))) == Seq("k1@1=v1"))
    assert(sorted(table.rows(asOf(s, done))) == Seq("k1@2=v2"))
    assert(sorted(table.rows(asOf(s, next))) == Seq("k1@9=z"))
    assert(conditionOf(restoring(s).restore(writes(2))) == "RESTORE_INSTANT_UNKNOWN")
    // A second restore goes further back, over the first.
    restoring(s).restore(writes.head)
    assert(rowsOf(s) == Seq("k1@1=v1") && timelineOf(s).restores.size == 2)
    assert(restoring(s).restore(writes.head).instant.isEmpty, "there is nothing to take back")
  }

  test("a restore to a time, in any of its forms, goes to the last write completed by then") {
    val s      = faulty("t")
    val table  = created(s, 9, mergeOnRead = true)
    val first  = upsert(table, "k1@1=a")
    val second = upsert(table, "k1@2=b")
    val third  = upsert(table, "k1@3=c")
    // A write that is requested before a time and completes after it had not completed by then.
    rename(s, timelineOf(s).completed.last, InstantTime.parse(third).get.plusSeconds(3600))
    def newest(time: String) = restoring(s).previewRestore(time).newest.get
    val at                   = InstantTime.parse(third).get
    assert(newest(third) == third && newest(first) == first)
    assert(newest(InstantTime.format(at.plusSeconds(3000))) == second)
    assert(newest(InstantTime.format(at.plusSeconds(4000))) == third)
    assert(newest(at.plusSeconds(60).withSecond(30).toString.take(19).replace('T', ' ')) == second)
    assert(newest(at.toLocalDate.plusDays(2).toString) == third)
    assert(newest(timelineOf(s).completed(1).completed.get) == second, "its completion")
    for (time <- Seq(InstantTime.preceding(first), at.toLocalDate.minusDays(2).toString, "yesterday", ""))
      for (act <- Seq[String => Any](restoring(s).restore, t => new Savepoints(s, config(s)).create(Some(t), "", ""))) {
        val error = intercept[MerganserException](act(time))
        assert(error.condition.endsWith("_INSTANT_UNKNOWN") && error.getMessage.contains(first), time)
      }
    assert(new Savepoints(s, config(s)).create(Some(InstantTime.preceding(second)), "", "").instant == first)
    assert(restoring(s).restore(InstantTime.format(at.plusSeconds(3000))).takenBack.map(_.instant) == Seq(third))
    assert(rowsOf(s) == Seq("k1@2=b"))
    // What was taken back had been requested by then, so that readers of that time may have seen it.
    val between = intercept[MerganserException](restoring(s).restore(third))
    assert(between.condition == "RESTORE_INSTANT_UNKNOWN" && between.getMessage.contains("took back"))
    assert(restoring(s).restore(timelineOf(s).restores.head.requested).instant.isEmpty, "the state after a restore")
  }

  test("a stopped restore to a time is finished by the same call") {
    val s     = faulty("t")
    val table = created(s, 9, mergeOnRead = false)
    upsert(table, "k1@1=a")
    val third = { upsert(table, "k1@2=b"); upsert(table, "k1@3=c") }
    rename(s, timelineOf(s).completed.last, InstantTime.parse(third).get.plusSeconds(3600))
    val time = InstantTime.format(InstantTime.parse(third).get.plusSeconds(60))
    FaultyFileSystem.watching(what => if (what.matches("delete .*\\.parquet")) throw new IOException("it stops")) {
      intercept[IOException](restoring(s).restore(time))
    }
    assert(timelineOf(s).unfinished.nonEmpty)
    restoring(s).restore(time)
    assert(timelineOf(s).unfinished.isEmpty && rowsOf(s) == Seq("k1@2=b"))
  }

  /** Gives a completed write another completion time. */
  private def rename(s: Storage, write: Instant, completed: java.time.LocalDateTime): Unit = {
    val folder = config(s).timelineFolder
    val file   = s"$folder/${InstantFile.completed(write.requested, write.completed, write.action)}"
    val bytes  = s.read(file)
    s.delete(file)
    s.createNew(
      s"$folder/${InstantFile.completed(write.requested, Some(InstantTime.format(completed)), write.action)}", bytes)
  }

  for (version <- Seq(6, 9))
    test(s"version $version: times before an archived rollback cannot be read, those before a failed write's can") {
      val s     = faulty("t")
      val table = created(s, version, mergeOnRead = false)
      upsert(table, "k1@1=a")
      upsert(table, "k1@2=taken")
      val between = InstantTime.preceding(restoring(s).rollback(None).instant.get)
      val failed  = InstantTime.next(s.identity, config(s).timelineZone, timelineOf(s).times)
      val later   = InstantTime.next(s.identity, config(s).timelineZone, Seq(failed))
      val by      = InstantTime.next(s.identity, config(s).timelineZone, Seq(later))
      val done    = InstantTime.next(s.identity, config(s).timelineZone, Seq(by))
      val folder  = config(s).timelineFolder
      val plan    = RollbackPlan.encode(RollbackPlan(failed, "commit", Map.empty))
      s.createNew(s"$folder/$by.rollback.requested", plan)
      s.createNew(s"$folder/${if (version < 8) by else s"${by}_$done"}.rollback",
        RollbackMetadata.encode(RollbackMetadata(by, 1L, Seq(RolledBack(failed, "commit")), Map.empty)))
      for (n <- 3 to 6) upsert(table, s"k1@$n=v$n")
      assert(sorted(table.rows(asOf(s, later))) == Seq("k1@1=a"))
      assert(conditionOf(asOf(s, failed)) == "AS_OF_TAKEN_BACK" && conditionOf(asOf(s, between)) == "AS_OF_TAKEN_BACK")
      new Archiving(s, config(s), ArchiveConfig().copy(minCommits = 1, maxCommits = 2)).run()
      assert(conditionOf(asOf(s, between)) == "AS_OF_TAKEN_BACK" &&
        conditionOf(CommitWindow.of(s, config(s), timelineOf(s), between, None)) == "CHANGES_TAKEN_BACK")
    }

  test("a read of a commit removed since the listing of the timeline is an error that names it") {
    for (version <- Seq(6, 9)) {
      val s      = faulty(s"t$version")
      val table  = created(s, version, mergeOnRead = true)
      val writes = (1 to 2).map(n => upsert(table, s"k1@$n=v$n"))
      val before = timelineOf(s)
      if (version == 6) restoring(s).rollback(None) else restoring(s).restore(writes.head)
      val error = intercept[MerganserException](before.metadata(before.completed.last))
      assert(error.condition == "READ_TAKEN_BACK" && error.getMessage.contains(writes.last))
    }
  }

  test("a restore writes Hudi's records: its plan with the instants, its metadata with the files of each") {
    val s      = faulty("t")
    val table  = created(s, 9, mergeOnRead = true)
    val writes = (1 to 3).map(n => upsert(table, s"k1@$n=v$n"))
    table.scheduleCompaction()
    val planned = table.timeline.pendingCompactions.head.requested
    val done    = restoring(s).restore(writes.head)
    val now     = timelineOf(s)
    val restore = now.restores.head
    val plan    = AvroRecords.decode(now.content(restore, InstantState.Requested))
    import AvroRecords._
    assert(plan.getSchema.getName == "HoodieRestorePlan")
    assert(plan.records("instantsToRollback").map(i => (i.string("commitTime").get, i.string("action").get)) ==
      Seq(planned -> "compaction", writes(2) -> "deltacommit", writes(1) -> "deltacommit"))
    assert(plan.string("savepointToRestoreTimestamp").contains(writes.head))
    assert(now.content(restore, InstantState.Inflight).isEmpty)
    val metadata = now.restore(restore)
    assert(metadata.instants.map(_.instant) == done.takenBack.map(_.instant))
    val deleted = metadata.rollbacks(writes(1)).deleted.values.toSeq.flatten
    assert(deleted.size == 1 && deleted.forall(_.contains(writes(1))))
    assert(AvroRecords.decode(now.content(restore, InstantState.Completed)).getSchema.getName ==
      "HoodieRestoreMetadata")
    assert(now.pendingCompactions.isEmpty)
  }

  test("a restore is refused beside a running write or compaction, and rolls a failed write back") {
    val s     = faulty("t")
    val table = created(s, 9, mergeOnRead = true)
    val first = upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    val several = Transaction.Options(heartbeatMs = Some(60000L),
      failedWrites = FailedWrites.Lazy(Heartbeats.ExpiredAfterMs))
    val running = new DirectTable(s, bucketed = false, several).begun(Notation.changes("k1@3=c"))
    for (preview <- Seq(true, false)) {
      def restore() =
        if (preview) restoring(s, several).previewRestore(first) else restoring(s, several).restore(first)
      assert(conditionOf(restore()) == "RESTORE_WHILE_WRITING")
    }
    assert(rowsOf(s) == Seq("k1@2=b"))
    // With a single writer it counts as failed: its commit is refused.
    restoring(s).restore(first)
    assert(conditionOf(running.commit()) == "COMMIT_CONFLICT")
    assert(rowsOf(s) == Seq("k1@1=a") && Leftovers.of(s).isEmpty)
  }

  test("a restore is refused beside another engine's compaction until this has missed its heartbeats") {
    val s     = storage
    val table = created(s, 9, mergeOnRead = true)
    val first = upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    val planned = table.scheduleCompaction().get.requested
    val beat    = Heartbeat.file(planned)
    s.createNew(Claim.file(config(s), planned), Array.emptyByteArray)
    s.touch(beat)
    def isRefused(beatSecondsAgo: Int, options: (String, String)*) = {
      s.fs.setTimes(s.path(beat), System.currentTimeMillis() - beatSecondsAgo * 1000L, -1)
      val settings = Transaction.Options.of(WriteConfig.parse(options.toMap, Map.empty, config(s)))
      Try(restoring(s, settings).previewRestore(first)) match {
        case Failure(e: MerganserException) if e.condition == "RESTORE_WHILE_WRITING" => true
        case result                                                                   => result.get.takenBack.isEmpty
      }
    }
    assert(isRefused(beatSecondsAgo = 150) && !isRefused(beatSecondsAgo = 200))
    val often = "hoodie.client.heartbeat.interval_in_ms" -> "10000"
    assert(isRefused(beatSecondsAgo = 20, often) && !isRefused(beatSecondsAgo = 40, often))
  }

  for (version <- Seq(6, 9))
    test(
      s"version $version: a restore is refused beside a running log compaction and removes the files of a dead one") {
      val s       = faulty("t")
      val table   = created(s, version, mergeOnRead = true)
      val writes  = upsert(table, "k2@1=a k4@1=b") +: (2 to 4).map(n => upsert(table, s"k2@$n=v$n"))
      val instant = table.scheduleLogCompaction().get
      val run     = table.beginLogCompaction(instant)
      assert(names(s, "p0").count(_.contains(".log.")) == 4)
      for (act <- Seq[Restoring => Any](_.previewRestore(writes(1)), _.restore(writes(1)), _.rollback(None)))
        assert(conditionOf(act(restoring(s))) == "RESTORE_WHILE_WRITING")
      // As of another process, which died.
      s.delete(Claim.file(config(s), instant.requested, instant.action))
      s.createNew(Claim.file(config(s), instant.requested, instant.action),
        Claim("other", 7, "other", "elsewhere", "1", 10).content)
      s.delete(Heartbeat.file(instant.requested))
      restoring(s).restore(writes(1))
      assert(names(s, "p0").count(_.contains(".log.")) == 1 && rowsOf(s) == Seq("k2@2=v2", "k4@1=b"))
      run.transaction.abandon(new IllegalStateException("it is dead"))
      assert(Leftovers.of(s).isEmpty)
      // Also once the timeline begins after it.
      for (n <- 5 to 9) upsert(table, s"k6@$n=v$n")
      new Archiving(s, config(s), io.merganser.table.settings.ArchiveConfig().copy(minCommits = 1, maxCommits = 2))
        .run()
      assert(timelineOf(s).start.exists(_ > instant.requested))
      assert(rowsOf(s) == Seq("k2@2=v2", "k4@1=b", "k6@9=v9"))
    }

  for (version <- Seq(6, 9))
    test(s"version $version: a restore is refused beside a running clustering and removes a planned one") {
      val s     = faulty("t")
      val table = created(s, version, mergeOnRead = false)
      val first = upsert(table, "k2@1=a")
      upsert(table, "k2@2=b")
      val groups = view(s).slices.map(g =>
        ClusteringGroup(Seq(ClusteringSlice(g.partitionPath, g.fileId, g.base.map(_.name), Nil)), outputGroups = 1))
      val planned =
        ClusteringSchedule.schedule(s, config(s))(_ => Some(ClusteringPlan(groups, Map.empty, true))).get
      val run = ClusteringSchedule.claim(s, config(s), planned).fold(reason => fail(reason), identity)
      assert(conditionOf(restoring(s).restore(first)) == "RESTORE_WHILE_WRITING")
      assert(timelineOf(s).plannedClusterings.size == 1 && rowsOf(s) == Seq("k2@2=b"))
      run.rollback()
      val done = restoring(s).restore(first)
      assert(done.takenBack.map(_.instant).contains(planned.requested))
      assert(timelineOf(s).plannedClusterings.isEmpty && rowsOf(s) == Seq("k2@1=a") && Leftovers.of(s).isEmpty)
    }

  test("a write of rows that were read before a restore fails with a conflict") {
    val s     = faulty("t")
    val table = created(s, 9, mergeOnRead = false)
    val first = upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    val read = table.timeline
    restoring(s).restore(first)
    val writer = new DirectTable(s, bucketed = false, Transaction.Options(readAt = Some(read)))
    assert(conditionOf(writer.upsert(Notation.changes("k1@3=c"))) == "COMMIT_CONFLICT")
    assert(rowsOf(s) == Seq("k1@1=a"))
  }

  test("a restore behind archived writes is refused, and archived restores still make their times unreadable") {
    val s      = faulty("t")
    val table  = created(s, 9, mergeOnRead = false)
    val writes = (1 to 3).map(n => upsert(table, s"k1@$n=v$n"))
    restoring(s).restore(writes(1))
    new Savepoints(s, config(s)).create(Some(writes.head), "", "")
    for (n <- 4 to 8) upsert(table, s"k1@$n=v$n")
    val limits =
      io.merganser.table.settings.ArchiveConfig().copy(minCommits = 2, maxCommits = 3, beyondSavepoint = true)
    new Archiving(s, config(s), limits).run()
    val now = timelineOf(s)
    assert(now.restores.isEmpty && now.completed.head.requested == writes.head)
    assert(conditionOf(restoring(s).restore(writes.head)) == "RESTORE_ARCHIVED")
    assert(conditionOf(restoring(s).restore(writes(1))) == "RESTORE_INSTANT_UNKNOWN")
    assert(conditionOf(asOf(s, writes(2))) == "AS_OF_TAKEN_BACK")
    val newest = now.completed.dropRight(1).last.requested
    restoring(s).restore(newest)
    assert(rowsOf(s) == Seq("k1@7=v7"))
  }

  test("a restore makes groups visible again that an overwrite replaced, and reports them") {
    val s      = faulty("t")
    val table  = created(s, 9, mergeOnRead = false)
    val first  = upsert(table, "k2@1=a")
    val groups = table.timeline.metadata(first).get.allStats.map(_.group)
    Transaction.run(s, config(s), Action.ReplaceCommit, Transaction.Options()) { _ =>
      val replaced = groups.groupBy(_.partitionPath).map { case (p, some) => p -> some.map(_.fileId) }
      io.merganser.table.commit.Work((),
        Some(io.merganser.table.commit.CommitRequest(
            CommitMetadata(OperationType.DeletePartition, Map.empty, Map.empty, replaced), groups.toSet)))
    }
    assert(rowsOf(s).isEmpty)
    val done = restoring(s).restore(first)
    assert(done.groups == groups && done.takenBack.map(_.operation) == Seq(Some("DELETE_PARTITION")))
    assert(rowsOf(s) == Seq("k2@1=a"))
  }

  test("version 6: a restore revokes blocks of removed writes in a log with blocks of others") {
    val s      = faulty("t")
    val table  = created(s, 6, mergeOnRead = true)
    val writes = upsert(table, "k2@1=a k4@1=b") +: (2 to 4).map(n => upsert(table, s"k2@$n=v$n"))
    // As an engine that appends leaves them.
    val logs = names(s, "p0").filter(_.contains(".log.")).toSeq.sortBy(_.split("log\\.")(1))
    assert(logs.size == 3)
    val bytes = logs.flatMap(name => s.read(s"p0/$name")).toArray
    logs.foreach(name => s.delete(s"p0/$name"))
    s.createNew(s"p0/${logs.head}", bytes)
    for ((instant, own) <- writes.tail.zip(logs)) {
      val file = s".hoodie/$instant.deltacommit"
      val text = s.readText(file)
      s.delete(file)
      s.createNew(file, text.replace(own, logs.head).getBytes)
    }
    assert(rowsOf(s) == Seq("k2@4=v4", "k4@1=b"))
    assert(restoring(s).previewRestore(writes(1)).files.isEmpty)
    restoring(s).restore(writes(1))
    assert(names(s, "p0").count(_.contains(".log.")) == 2 && rowsOf(s) == Seq("k2@2=v2", "k4@1=b"))
    assert(restoring(s).restore(writes(1)).instant.isEmpty)
    // Also once the timeline begins after the revoked writes.
    for (n <- 5 to 9) upsert(table, s"k6@$n=v$n")
    new Archiving(s, config(s), io.merganser.table.settings.ArchiveConfig().copy(minCommits = 1, maxCommits = 2)).run()
    assert(timelineOf(s).start.exists(_ > writes.last))
    assert(rowsOf(s) == Seq("k2@2=v2", "k4@1=b", "k6@9=v9"))
    table.compact()
    assert(rowsOf(s) == Seq("k2@2=v2", "k4@1=b", "k6@9=v9"))
  }
}
