package io.merganser.table.commit

import io.merganser.ExtensiveTest
import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, DrawnPoints, HadoopDefaults, Leftovers, TableSuite}
import io.merganser.table.file.{FileGroupId, Marker, MarkerKind, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{LockContender, Storage}
import io.merganser.table.timeline.{
  Action,
  CommitMetadata,
  CompactionPlan,
  Instant,
  InstantState,
  OperationType,
  Timeline,
  WriteStat
}

import scala.util.Try

// Guarantee (Failures): Of several runners of one compaction one succeeds: a live one is left alone, a dead one
//   replaced, and none removes another's files. Also:
//   test_a_killed_runners_compaction_is_taken_over_after_its_heartbeat_expires
/** Several runners of one scheduled compaction: one of them succeeds, and nobody's files are lost. */
final class CompactionRunsSuite extends TableSuite {

  private val hourMs = 3600000L

  /** A table with one group and a compaction of it on the timeline. */
  private def scheduled(version: Int = 9): (Storage, TableConfig, Instant) = {
    val s      = storage
    val config = table(version, s)
    val first  = Transaction.begin(s, config, Action.Commit)
    first.commit(upserted(writeBase(s, first, "a")), Set.empty)
    val plan = CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", "a"), first.instant, None, Nil)))
    (s, config, CompactionSchedule.schedule(s, config)(_ => Some(plan)).get)
  }

  private def compacted(stat: WriteStat): CommitMetadata =
    CommitMetadata(OperationType.Compact, Map("p" -> Seq(stat)), Map.empty)

  /** Replaces the existing claim by that of a process that ended; its last heartbeat was `beatAgoMs` ago. */
  private def claimedElsewhere(s: Storage, config: TableConfig, instant: Instant, beatAgoMs: Option[Long]): Unit = {
    s.replace(Claim.file(config, instant.requested), Claim("other", 7, "other", "elsewhere", "1", 60000).content)
    heartbeat(s, instant, beatAgoMs)
  }

  private def heartbeat(s: Storage, instant: Instant, agoMs: Option[Long]): Unit = {
    val file = Heartbeat.file(instant.requested)
    s.delete(file)
    agoMs.foreach { ms => s.touch(file); touched(s, file, ms) }
  }

  private def touched(s: Storage, file: String, agoMs: Long): Unit =
    s.fs.setTimes(s.path(file), System.currentTimeMillis() - agoMs, -1)

  private def left(s: Storage, config: TableConfig, instant: Instant): String =
    CompactionSchedule.claim(s, config, instant).fold(identity, run => fail(s"${run.instant} was taken"))

  private def taken(s: Storage, config: TableConfig, instant: Instant): Transaction =
    CompactionSchedule.claim(s, config, instant).fold(reason => fail(reason), identity)

  test("a plan is found for any earlier state of its instant") {
    val (s, config, instant) = scheduled()
    val plan                 = Timeline.load(s, config).compactionPlan(instant)
    assert(Timeline.load(s, config).compactionPlan(instant.copy(state = InstantState.Inflight)) == plan)
    taken(s, config, instant)
    assert(Timeline.load(s, config).compactionPlan(instant) == plan)
  }

  test("a read of a plan that a restore has removed fails and is to be repeated") {
    val (s, config, instant) = scheduled()
    val seen                 = Timeline.load(s, config)
    seen.filesIn(instant, InstantState.Requested).foreach(s.delete(_))
    assert(conditionOf(seen.groupsInCompaction) == "READ_TAKEN_BACK")
    assert(Timeline.load(s, config).groupsInCompaction.isEmpty)
  }

  test("a second runner of this process leaves a running or completed compaction alone") {
    val (s, config, instant) = scheduled()
    val run                  = taken(s, config, instant)
    val stat                 = writeBase(s, run, "a")
    assert(left(s, config, instant).contains("this process"))
    assert(conditionOf(ScheduledCompactions.begin(s, config, instant)) == "COMPACTION_CONFLICT")
    run.commit(compacted(stat), Set(FileGroupId("p", "a")))
    assert(left(s, config, instant).contains("completed"))
    assert(show(view(s).slices) == Seq(s"a@${instant.requested}:") && Leftovers.of(s).isEmpty)
  }

  test("a run of another process is taken over only after its heartbeat stopped") {
    val (s, config, instant) = scheduled()
    val dead                 = taken(s, config, instant)
    val early                = writeBase(s, dead, "a")
    claimedElsewhere(s, config, instant, Some(1000))
    assert(left(s, config, instant).contains("process 1 on elsewhere"))
    claimedElsewhere(s, config, instant, Some(hourMs))
    val run  = taken(s, config, instant)
    val late = writeBase(s, run, "a")
    assert(early.path != late.path && s.exists(early.path))
    run.commit(compacted(late), Set(FileGroupId("p", "a")))
    assert(!s.exists(early.path) && s.exists(late.path) && Leftovers.of(s).isEmpty)
  }

  for (first <- Seq("the slow one", "the other"))
    test(s"a slow run that was taken over does not commit and removes only its own files; $first ends first") {
      val (s, config, instant) = scheduled()
      val slow                 = taken(s, config, instant)
      val early                = writeBase(s, slow, "a")
      claimedElsewhere(s, config, instant, None)
      val run  = taken(s, config, instant)
      val late = writeBase(s, run, "a")
      def slowEnds() =
        assert(conditionOf(slow.commit(compacted(early), Set(FileGroupId("p", "a")))) == "COMPACTION_CONFLICT")
      def otherEnds(): Unit = { run.commit(compacted(late), Set(FileGroupId("p", "a"))); () }
      if (first == "the slow one") { slowEnds(); assert(s.exists(late.path) && !s.exists(early.path)); otherEnds() }
      else { otherEnds(); slowEnds() }
      assert(show(view(s).slices) == Seq(s"a@${instant.requested}:") && s.exists(late.path) && !s.exists(early.path))
      assert(Leftovers.of(s).isEmpty)
    }

  test("a failing run leaves files, claim and heartbeat of the run that took it over") {
    val (s, config, instant) = scheduled()
    val slow                 = taken(s, config, instant)
    writeBase(s, slow, "a")
    claimedElsewhere(s, config, instant, None)
    val run  = taken(s, config, instant)
    val late = writeBase(s, run, "a")
    slow.abandon(new IllegalStateException("a task failed"))
    assert(run.markers.all == Seq(Marker("p", late.fileName, MarkerKind.Create)) && s.exists(
      Heartbeat.file(instant.requested)))
    run.commit(compacted(late), Set(FileGroupId("p", "a")))
    assert(Leftovers.of(s).isEmpty)
  }

  test("a failing run leaves the marker folder for the run that took it over") {
    val (s, config, instant) = scheduled()
    val slow                 = taken(s, config, instant)
    writeBase(s, slow, "a")
    claimedElsewhere(s, config, instant, None)
    val run = taken(s, config, instant)
    slow.abandon(new IllegalStateException("a task failed"))
    assert(run.markers.areOpen, "its tasks begin no file without it")
    run.commit(compacted(writeBase(s, run, "a")), Set(FileGroupId("p", "a")))
    assert(!run.markers.areOpen && Leftovers.of(s).isEmpty)
  }

  for (version <- Seq(6, 9))
    test(s"version $version: a run of another engine is left alone while it shows signs of life") {
      val (s, config, instant) = scheduled(version)
      val inflight             = Claim.file(config, instant.requested)
      heartbeat(s, instant, Some(1000))
      assert(left(s, config, instant).contains("another engine")) // about to begin
      s.createNew(inflight, Array.emptyByteArray)
      assert(left(s, config, instant).contains("another engine"))
      heartbeat(s, instant, None)
      assert(left(s, config, instant).contains("without a heartbeat"))
      touched(s, inflight, 2 * hourMs)
      val markers = new Markers(s, instant.requested)
      markers.create(Marker("p", base("a", instant.requested), MarkerKind.Merge))
      assert(left(s, config, instant).contains("without a heartbeat"))
      markers.deleteAll()
      partition(s, base("a", instant.requested)) // left by it, and nowhere announced
      val run = taken(s, config, instant)
      run.commit(compacted(writeBase(s, run, "a")), Set(FileGroupId("p", "a")))
      assert(names(s, "p").count(_.contains(instant.requested)) == 1 && Leftovers.of(s).isEmpty)
    }

  test("a run of another engine whose heartbeat stopped is taken over") {
    val (s, config, instant) = scheduled()
    s.createNew(Claim.file(config, instant.requested), Array.emptyByteArray)
    heartbeat(s, instant, Some(hourMs))
    val run = taken(s, config, instant)
    run.commit(compacted(writeBase(s, run, "a")), Set(FileGroupId("p", "a")))
    assert(Leftovers.of(s).isEmpty)
  }

  test("a run whose file another engine removed does not commit") {
    val (s, config, instant) = scheduled()
    val run                  = taken(s, config, instant)
    val stat                 = writeBase(s, run, "a")
    s.delete(stat.path)
    assert(conditionOf(run.commit(compacted(stat), Set(FileGroupId("p", "a")))) == "COMPACTION_CONFLICT")
    assert(Timeline.load(s, config).pendingCompactions.map(_.state) == Seq(InstantState.Requested))
  }

  test("of threads that run one compaction concurrently one runs it, and no row is lost") {
    Creation.create(storage, DirectTable.properties(mergeOnRead = true))
    val table = new DirectTable(storage, bucketed = true)
    table.upsert(Notation.changes("k1@1=a k2@1=a"))
    table.upsert(Notation.changes("k1@2=b"))
    table.scheduleCompaction()
    val start   = new CountDownLatch(1)
    val results = new java.util.concurrent.ConcurrentLinkedQueue[Try[Unit]]
    val threads = (1 to 4).map(_ => new Thread(() => { start.await(); results.add(Try(table.runCompactions())); () }))
    threads.foreach(_.start())
    start.countDown()
    threads.foreach(_.join(60000))
    results.forEach(r => assert(r.isSuccess || conditionOf(r.get) == "COMPACTION_CONFLICT"))
    assert(results.size == 4 && table.timeline.pending.isEmpty)
    assert(table.rows.map(_.toString).sorted == Seq("k1@2=b", "k2@1=a") && Leftovers.of(storage).isEmpty)
  }

  // 20,000 with MERGANSER_FULL=1.
  test("a slice of thousands of log files is compacted", ExtensiveTest) {
    val count = if (DrawnPoints.isFull) 20000 else 4000
    val older = Map("hoodie.table.version" -> "6", "hoodie.timeline.layout.version" -> "1")
    Creation.create(storage, DirectTable.properties(mergeOnRead = true) ++ older)
    val table = new DirectTable(storage, bucketed = true)
    table.upsert(Notation.changes("k1@1=a"))
    table.upsert(Notation.changes("k1@2=b"))
    // Version 6 numbers the logs of a slice, whichever write they are of.
    val first = storage.list("p1").map(_.getPath.getName).find(_.contains(".log.1_")).get
    val bytes = storage.read(s"p1/$first")
    val p1    = java.nio.file.Paths.get(storage.path("p1").toUri.getPath)
    (2 to count).foreach(i => java.nio.file.Files.write(p1.resolve(first.replace(".log.1_", s".log.${i}_")), bytes))
    table.compact()
    assert(table.rows.map(_.toString) == Seq("k1@2=b") && table.readOptimizedRows.map(_.toString) == Seq("k1@2=b"))
    assert(view(storage).slices.forall(_.logs.isEmpty))
  }

  test("a compaction of a dead process is taken over after its heartbeat expires", ExtensiveTest) {
    val (s, config, instant) = scheduled()
    val other                = LockContender.startMain(CompactionRunner, s.toString, instant.requested)
    while (!s.exists("claimed")) { assert(other.isAlive); Thread.sleep(20) }
    assert(CompactionSchedule.claim(s, config, instant, expiredAfterMs = 1000).left.exists(_.contains("process ")))
    s.createNew("die", Array.emptyByteArray)
    assert(other.waitFor(60, TimeUnit.SECONDS))
    var run = CompactionSchedule.claim(s, config, instant, expiredAfterMs = 1000)
    while (run.isLeft) { Thread.sleep(50); run = CompactionSchedule.claim(s, config, instant, expiredAfterMs = 1000) }
    run.foreach(r => r.commit(compacted(writeBase(s, r, "a")), Set(FileGroupId("p", "a"))))
    assert(show(view(s).slices) == Seq(s"a@${instant.requested}:"))
  }
}

/** The other process: begins a run and dies in it. */
object CompactionRunner {

  def main(args: Array[String]): Unit = {
    val s       = Storage(args(0), HadoopDefaults.shared)
    val instant = Instant(args(1), Action.Compaction, InstantState.Requested)
    ScheduledCompactions.begin(s, TableConfig.load(s), instant, Transaction.Options(heartbeatMs = Some(200)))
    s.createNew("claimed", Array.emptyByteArray)
    while (!s.exists("die")) Thread.sleep(20)
    Runtime.getRuntime.halt(0)
  }
}
