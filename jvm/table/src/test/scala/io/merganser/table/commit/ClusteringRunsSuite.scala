package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.file.FileGroupId
import io.merganser.table.options.ClusteringUpdates
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, ClusteringPlan, CommitMetadata, Instant, OperationType, Timeline, WriteStat}

// Guarantee (Failures): A write to file groups of a planned clustering is refused, or the clustering is not run; one of
//   several runners succeeds, and a failed plan is run again or rolled back. Also: ClusteringServiceSuite,
//   ClusteringFaultsSuite
// Guarantee (Failures): A process killed in an inline clustering blocks no writer: after its heartbeat has expired, the
//   next write removes the clustering; a scheduled one stays. Also:
//   test_readers_of_a_killed_writers_table_see_old_or_new_rows_and_the_next_write_repairs_it
/** Clusterings on the timeline: who runs one, what other writes may do meanwhile, and how one is rolled back. */
final class ClusteringRunsSuite extends TableSuite {

  private def written(s: Storage, config: TableConfig, fileId: String, options: Transaction.Options): Unit = {
    val write = Transaction.begin(s, config, Action.Commit, options = options)
    write.run(t => Work((), Some(CommitRequest(upserted(writeBase(s, t, fileId)), Set.empty))))
  }

  private def written(s: Storage, config: TableConfig, fileId: String): Unit =
    written(s, config, fileId, Transaction.Options())

  private def planned(s: Storage): ClusteringPlan = {
    val now = view(s).slices
    val plan = io.merganser.table.service.ClusteringPlanner.plan(
      io.merganser.table.settings.WriteConfig.parse(Map.empty, Map.empty, TableConfig.load(s)).clustering, now)
    plan.getOrElse(fail("nothing to cluster"))
  }

  /** A table with the groups a and b, and a clustering of both on the timeline. */
  private def scheduled(version: Int = 9): (Storage, TableConfig, Instant) = {
    val s      = storage
    val config = table(version, s)
    Seq("a", "b").foreach(written(s, config, _))
    (s, config, ClusteringSchedule.schedule(s, config)(_ => Some(planned(s))).get)
  }

  private def clustered(stat: WriteStat): CommitMetadata =
    CommitMetadata(OperationType.Cluster, Map("p" -> Seq(stat)), Map.empty, Map("p" -> Seq("a", "b")))

  private def taken(s: Storage, config: TableConfig, instant: Instant): Transaction =
    ClusteringSchedule.claim(s, config, instant).fold(reason => fail(reason), identity)

  private def plans(s: Storage, config: TableConfig): Seq[String] =
    Timeline.load(s, config).plannedClusterings.map(_._1.requested)

  for (version <- Seq(6, 8, 9)) {

    test(s"version $version: a clustering replaces its groups only when it completes") {
      val (s, config, instant) = scheduled(version)
      assert(Timeline.load(s, config).groupsInClustering.keySet == Set(FileGroupId("p", "a"), FileGroupId("p", "b")))
      val files = names(s, config.timelineFolder)
      assert(files.contains(s"${instant.requested}.${if (version >= 8) "clustering" else "replacecommit"}.requested"))
      val run = taken(s, config, instant)
      assert(ClusteringSchedule.claim(s, config, instant).left.exists(_.contains("this process runs it already")))
      val stat = writeBase(s, run, "c")
      assert(view(s).slices.map(_.fileId) == Seq("a", "b"))
      run.commit(clustered(stat), Set("a", "b").map(FileGroupId("p", _)))
      assert(view(s).slices.map(_.fileId) == Seq("c"))
      val now = Timeline.load(s, config)
      assert(now.completed.last.action == Action.ReplaceCommit && now.pending.isEmpty)
      assert(now.clusteringPlan(now.completed.last).exists(_.slices.map(_.fileId) == Seq("a", "b")))
      assert(ClusteringSchedule.claim(s, config, instant).left.exists(_.contains("completed")))
      assert(Leftovers.of(s).isEmpty)
    }

    test(s"version $version: a failed run leaves the plan, and a rollback removes it with the run's files") {
      val (s, config, instant) = scheduled(version)
      val run                  = taken(s, config, instant)
      assert(ClusteringSchedule.rollback(s, config, instant).exists(_.contains("this process")))
      intercept[IllegalStateException](
        run.run[Unit] { t => writeBase(s, t, "c"); throw new IllegalStateException("x") })
      assert(plans(s, config) == Seq(instant.requested) && view(s).slices.map(_.fileId) == Seq("a", "b"))
      // Of another process, which died.
      val dead = taken(s, config, instant)
      writeBase(s, dead, "c")
      dead.rollback()
      s.createNew(Claim.file(config, instant.requested, instant.action),
        Claim("other", 7, "other", "elsewhere", "1", 10).content)
      assert(ClusteringSchedule.rollback(s, config, instant, expiredAfterMs = 0).isEmpty)
      assert(plans(s, config).isEmpty && ClusteringSchedule.rollback(s, config, instant).isEmpty)
      assert(Leftovers.of(s).isEmpty && names(s, "p").size == 3)
    }
  }

  for (version <- Seq(6, 9))
    test(s"version $version: a write rolls back an expired inline clustering, a planned one only if all may expire") {
      val s      = storage
      val config = table(version, s)
      Seq("a", "b").foreach(written(s, config, _))
      val other   = scheduled(s, config, runsAtOnce = false)
      val instant = scheduled(s, config, runsAtOnce = true)
      Seq(other, instant).foreach(died(s, config, _))
      def options(afterMs: Long, allAfterMs: Option[Long] = None) =
        Transaction.Options(clusteringExpiry = ClusteringSchedule.Expiry(afterMs, allAfterMs))
      val refused = intercept[MerganserException](written(s, config, "a", options(600000)))
      assert(refused.condition == "COMMIT_CONFLICT" && refused.getMessage.contains("later writes remove it"))
      Thread.sleep(50)
      assert(Rollback.failed(s, config, options(600000)).isEmpty)
      assert(Rollback.failed(s, config, options(0)).map(_.requested) == Seq(instant.requested))
      assert(plans(s, config) == Seq(other.requested))
      assert(names(s, "p").count(_.contains(instant.requested)) == 0)
      assert(conditionOf(written(s, config, "a", options(0))) == "COMMIT_CONFLICT", "scheduled on purpose")
      assert(Rollback.failed(s, config, options(0, Some(600000))).isEmpty)
      assert(Rollback.failed(s, config, options(0, Some(0))).map(_.requested) == Seq(other.requested))
      assert(Leftovers.of(s).isEmpty)

      died(s, config, scheduled(s, config, runsAtOnce = true))
      val running = Transaction.begin(s, config, Action.Commit, options = options(0))
      val stat    = writeBase(s, running, "a")
      Thread.sleep(50)
      running.commit(upserted(stat), Set.empty)
      assert(plans(s, config).isEmpty && Leftovers.of(s).isEmpty && view(s).slices.map(_.fileId) == Seq("a", "b"))
    }

  private def scheduled(s: Storage, config: TableConfig, runsAtOnce: Boolean): Instant =
    ClusteringSchedule.schedule(s, config)(_ => Some(planned(s).copy(runsAtOnce = runsAtOnce))).get

  /** As if another process had begun to run it, and was killed. */
  private def died(s: Storage, config: TableConfig, instant: Instant): Unit = {
    val run = taken(s, config, instant)
    writeBase(s, run, "c")
    val claim = Claim.file(config, instant.requested, instant.action)
    s.delete(claim)
    s.createNew(claim, Claim("other", 7, "other", "elsewhere", "1", 10).content)
  }

  test("a run whose plan was rolled back cannot be committed") {
    val (s, config, instant) = scheduled()
    val run                  = taken(s, config, instant)
    val stat                 = writeBase(s, run, "c")
    written(s, config, "a",
      Transaction.Options(clusteringUpdates = ClusteringUpdates.Allow, rollsBackClustering = true))
    assert(conditionOf(run.run(_ => Work((), Some(CommitRequest(clustered(stat), Set.empty))))) ==
      "CLUSTERING_CONFLICT")
    assert(plans(s, config).isEmpty && view(s).slices.map(_.fileId) == Seq("a", "b") && Leftovers.of(s).isEmpty)
  }

  test("a run commits no file that an allowed write removed before failing") {
    val s      = faulty("t")
    val config = table(9, s)
    Seq("a", "b").foreach(written(s, config, _))
    val instant = ClusteringSchedule.schedule(s, config)(_ => Some(planned(s))).get
    val run     = taken(s, config, instant)
    val stat    = writeBase(s, run, "c")
    val allowed = Transaction.Options(clusteringUpdates = ClusteringUpdates.Allow, rollsBackClustering = true)
    def other   = scala.util.Try(written(s, config, "a", allowed))
    // The run has looked for its files already when it reads the timeline, and waits for the lock then.
    val committed = FaultyFileSystem.interrupting("list .*/\\.hoodie/timeline")(
      assert(FaultyFileSystem.failingFirst("delete .*\\.clustering\\.inflight")(assert(other.isFailure)).isEmpty))(
      scala.util.Try(run.commit(clustered(stat), Set("a", "b").map(FileGroupId("p", _)))))
    assert(committed.isFailure || s.exists(stat.path))
    assert(view(s).slices.map(_.fileId) == (if (committed.isSuccess) Seq("c") else Seq("a", "b")))
  }

  test("a write to a group of a planned clustering is refused, or allowed and makes the plan outdated") {
    val (s, config, instant) = scheduled()
    def outdated             = ClusteringSchedule.outdated(planOf(s, config, instant), view(s).slices)
    assert(conditionOf(written(s, config, "a")) == "COMMIT_CONFLICT" && outdated.isEmpty)
    written(s, config, "other")
    assert(outdated.isEmpty && plans(s, config) == Seq(instant.requested))
    written(s, config, "a", Transaction.Options(clusteringUpdates = ClusteringUpdates.Allow))
    assert(outdated.exists(_.contains("written to since it was planned")) && plans(s, config).size == 1)
  }

  private def planOf(s: Storage, config: TableConfig, instant: Instant): ClusteringPlan =
    Timeline.load(s, config).clusteringPlan(instant).get

  test("a run fails if a write commits to one of its groups meanwhile") {
    val (s, config, instant) = scheduled()
    val run                  = taken(s, config, instant)
    written(s, config, "a", Transaction.Options(clusteringUpdates = ClusteringUpdates.Allow))
    val stat = writeBase(s, run, "c")
    assert(conditionOf(run.run(_ => Work((), Some(CommitRequest(clustered(stat), Set.empty))))) ==
      "CLUSTERING_CONFLICT")
    assert(view(s).slices.map(_.fileId) == Seq("a", "b") && Leftovers.of(s).size == 1, "the plan is left")
  }

  test("in version 6 no clustering is scheduled beside a write, and a plan blocks no compaction") {
    val (s, config, _) = scheduled(6)
    val running        = Transaction.begin(s, config, Action.Commit)
    assert(conditionOf(ClusteringSchedule.schedule(s, config)(_ => Some(planned(s)))) == "CLUSTERING_BLOCKED")
    running.rollback()
    assert(CompactionSchedule.schedule(s, config)(_ => None).isEmpty)
  }
}
