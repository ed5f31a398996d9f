package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.ArchivingFixture
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

// Guarantee (Change data): Windows go by completion times, so a write that began early and ended late is returned once;
//   archived commits are included.
/** Which commits, and which file groups of which snapshot, belong to a window of time. */
final class CommitWindowSuite extends TableSuite with ArchivingFixture {

  private def window(s: Storage, begin: String, end: String = null): CommitWindow = {
    val config = TableConfig.load(s)
    CommitWindow.of(s, config, Timeline.load(s, config), begin, Option(end))
  }

  private def found(s: Storage, begin: String, end: String = null): Seq[String] =
    window(s, begin, end).commits.map(_.requested)

  private def rows(s: Storage, begin: String, end: String = null): ChangedRows = ChangedRows.of(window(s, begin, end))

  private def groups(s: Storage, begin: String, end: String = null): Option[Set[String]] =
    rows(s, begin, end).groups.map(_.map(_.fileId))

  private def metadata(operation: OperationType, fileIds: String*): CommitMetadata = CommitMetadata(operation,
    Map("p" -> fileIds.map(id => WriteStat(id, "", partitionPath = "p"))), Map("schema" -> "\"string\""))

  /** A completed write or service: `at` times of its request and its completion. */
  private def completed(
      s: Storage,
      requested: Int,
      completed: Int,
      action: Action = Action.DeltaCommit,
      of: CommitMetadata = metadata(OperationType.Upsert, "a")
  ): Unit = instantFile(s, s"${at(requested)}_${at(completed)}.${action.name}", of)

  private def overlapping: Storage = {
    val s = storage
    table(storage = s)
    completed(s, 10, 20, of = metadata(OperationType.Upsert, "a"))
    completed(s, 30, 60, of = metadata(OperationType.Upsert, "b"))
    completed(s, 40, 50, of = metadata(OperationType.Upsert, "c"))
    s
  }

  test("a window has the commits completed after its begin and up to its end, in this order") {
    val s = overlapping
    assert(found(s, "earliest") == Seq(10, 40, 30).map(at))
    assert(found(s, at(20)) == Seq(40, 30).map(at))
    assert(found(s, at(19), at(50)) == Seq(10, 40).map(at))
    assert(found(s, at(50), at(60)) == Seq(at(30)), "it was requested before the other one")
    assert(found(s, at(60)).isEmpty)
    assert(window(s, at(60)).isEmpty && rows(s, at(60)).groups.contains(Set.empty))
  }

  test("a bound equal to a commit's requested time denotes that commit") {
    val s = overlapping
    assert(found(s, at(40)) == Seq(at(30)))
    assert(found(s, at(10), at(40)) == Seq(at(40)))
    assert(found(s, "000", at(30)) == Seq(10, 40, 30).map(at))
  }

  test("the snapshot has the commits up to the end of the window by completion time") {
    val s    = overlapping
    val view = rows(s, at(20), at(50)).view
    assert(view.completed.map(_.requested) == Seq(10, 40).map(at))
    assert(!view.isCompleted(at(30)) && view.isCompleted(at(40)))
    assert(rows(s, at(20)).view.completed.size == 3)
  }

  test("a window reads the file groups of its commits and filters rows by commit time") {
    val s = overlapping
    assert(groups(s, "earliest").isEmpty && rows(s, "earliest").times.isEmpty)
    assert(groups(s, at(5)).isEmpty, "nothing had completed then")
    assert(groups(s, at(20)).contains(Set("b", "c")))
    val times = rows(s, at(50)).times.get
    assert(Seq(10, 30, 40).map(at).filter(times) == Seq(at(30)))
    assert(times.least == at(30))
  }

  test("a window follows rows through a clustering but not through overwrites and compactions") {
    val s = overlapping
    completed(s, 70, 75, Action.Commit, metadata(OperationType.Compact, "a"))
    completed(s, 80, 85, Action.ReplaceCommit,
      metadata(OperationType.Cluster, "d").copy(replacedFileIds = Map("p" -> Seq("c"))))
    completed(s, 90, 95, Action.ReplaceCommit,
      metadata(OperationType.Cluster, "e").copy(replacedFileIds = Map("p" -> Seq("d"))))
    completed(s, 97, 98, Action.ReplaceCommit,
      metadata(OperationType.InsertOverwrite, "f").copy(replacedFileIds = Map("p" -> Seq("b"))))
    assert(groups(s, at(20)).contains(Set("b", "c", "d", "e", "f")))
    assert(groups(s, at(20), at(92)).contains(Set("b", "c", "d", "e")), "that clustering had begun")
    assert(rows(s, at(20), at(92)).view.isReplace(at(90)))
    assert(groups(s, at(50)).contains(Set("b", "f")))
    assert(rows(s, at(50)).times.get.commits.contains(Set(30, 97).map(at)), "services change no row")
    assert(groups(s, at(98)).contains(Set.empty[String]))
    completed(s, 100, 105, Action.ReplaceCommit,
      metadata(OperationType.Cluster, "g").copy(replacedFileIds = Map("p" -> Seq("f"))))
    assert(rows(s, at(95), at(98)).view.isReplace(at(100)), "it changed no row")
    assert(groups(s, at(95), at(98)).contains(Set("f", "g")))
  }

  test("a window over a clustering that set new commit times is refused") {
    val s = overlapping
    s.createNew(s".hoodie/timeline/${at(80)}.clustering.requested",
      RequestedReplace.clustering(ClusteringPlan(Seq(ClusteringGroup(Seq(ClusteringSlice("p", "c", None, Nil)), 1)),
          Map.empty, preservesCommit = false), path => path))
    completed(s, 80, 85, Action.ReplaceCommit,
      metadata(OperationType.Cluster, "d").copy(replacedFileIds = Map("p" -> Seq("c"))))
    val error = intercept[MerganserException](rows(s, at(20)))
    assert(error.condition == "CHANGES_RESTAMPED" && error.parameters("completed") == at(85))
    assert(groups(s, at(50)).contains(Set("b")), "nothing of that window was in it")
  }

  test("archived commits are found by completion time, reading only the history files with some") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 40, Action.DeltaCommit)
    completed(s, 5, 203) // ended while other writes ran
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    assert(active(s) == numbers(36 to 40))
    assert(found(s, at(351)) == numbers(36 to 40))
    assert(found(s, at(302)) == numbers(31 to 40))
    assert(found(s, at(201)) == (at(5) +: numbers(21 to 40)))
    assert(found(s, commitAt(30), commitAt(32)) == numbers(31 to 32), "requested times, archived too")
    assert(groups(s, at(302)).contains((31 to 40).map(n => s"f$n").toSet))
    assert(groups(s, at(4)).isEmpty, "from the first commit on")
    assert(found(s, "earliest").size == 41 && window(s, at(2)).isFromFirst && !window(s, at(11)).isFromFirst)
  }

  test("an archived write that completed after those of newer history files is found") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 40, Action.DeltaCommit)
    completed(s, 5, 383)
    archive(s, ArchiveConfig(minCommits = 20, maxCommits = 21)) // it and the commits up to the 20th
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    assert(active(s) == numbers(36 to 40))
    assert(found(s, at(381)) == at(5) +: numbers(39 to 40))
    assert(found(s, at(383)) == numbers(39 to 40))
  }

  test("a window of version 6 is one of requested times") {
    val s = storage
    Creation.create(s, properties(version = 6))
    commits(s, 1 to 9, Action.DeltaCommit)
    assert(found(s, commitAt(7)) == numbers(8 to 9))
    assert(found(s, commitAt(3), at(55)) == numbers(4 to 5))
    assert(rows(s, commitAt(7)).times.exists(t => !t(commitAt(7)) && t(commitAt(8))))
    archive(s, ArchiveConfig(minCommits = 3, maxCommits = 4))
    assert(found(s, commitAt(3)) == numbers(4 to 9))
    assert(groups(s, commitAt(3)).contains((4 to 9).map(n => s"f$n").toSet))
    assert(groups(s, at(1)).isEmpty)
  }

  test("an archived compaction begun by the end of the window counts as completed") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 40, Action.DeltaCommit)
    completed(s, 205, 383, Action.Commit, metadata(OperationType.Compact, "a"))
    completed(s, 395, 399, Action.Commit, metadata(OperationType.Compact, "a"))
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    assert(!active(s).contains(at(205)))
    val view = rows(s, "earliest", at(382)).view
    assert(view.isCompleted(at(205)) && view.isCompleted(commitAt(38)) && !view.isCompleted(commitAt(39)))
  }

  test("a clustering that set new commit times is detected in the history") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 9, Action.DeltaCommit)
    s.createNew(s".hoodie/timeline/${at(82)}.clustering.requested",
      RequestedReplace.clustering(ClusteringPlan(Seq(ClusteringGroup(Seq(ClusteringSlice("p", "f7", None, Nil)), 1)),
          Map.empty, preservesCommit = false), path => path))
    val moved = metadata(OperationType.Cluster, "d").copy(replacedFileIds = Map("p" -> Seq("f7")))
    s.createNew(s".hoodie/timeline/${at(82)}_${at(83)}.replacecommit",
      CommitMetadata.encodeAvro(moved, isReplace = true))
    commits(s, 10 to 20, Action.DeltaCommit)
    service(s, 145, Action.Clean, CleanFixture.completed(Some(at(140))))
    assert(conditionOf(rows(s, at(61))) == "CHANGES_RESTAMPED")
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    assert(!active(s).contains(at(82)))
    assert(conditionOf(rows(s, at(61))) == "CHANGES_RESTAMPED")
  }

  test("in version 6 a clustering that set new commit times is detected on timeline and history") {
    val s = storage
    Creation.create(s, properties(version = 6))
    commits(s, 1 to 9, Action.DeltaCommit)
    s.createNew(s".hoodie/${at(82)}.replacecommit.requested",
      RequestedReplace.clustering(ClusteringPlan(Seq(ClusteringGroup(Seq(ClusteringSlice("p", "f7", None, Nil)), 1)),
          Map.empty, preservesCommit = false), path => path))
    val moved = metadata(OperationType.Cluster, "d").copy(replacedFileIds = Map("p" -> Seq("f7")))
    s.createNew(s".hoodie/${at(82)}.replacecommit", CommitMetadataJson.encode(moved, isReplace = true))
    commits(s, 10 to 20, Action.DeltaCommit)
    service(s, 145, Action.Clean, CleanFixture.completed(Some(at(140))))
    assert(conditionOf(rows(s, at(61))) == "CHANGES_RESTAMPED")
    assert(groups(s, at(75)).exists(_.forall(_ != "d")), "nothing of that window was in it")
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    assert(!active(s).contains(at(82)))
    assert(conditionOf(rows(s, at(61))) == "CHANGES_RESTAMPED")
  }

  test("invalid bounds are refused by name, and an empty table has no changes") {
    val s                                            = overlapping
    def condition(begin: String, end: String = null) = intercept[MerganserException](window(s, begin, end)).condition
    assert(condition("yesterday") == "CHANGES_TIME_INVALID")
    assert(condition(at(1), "20260101x") == "CHANGES_TIME_INVALID")
    assert(condition(at(50), at(45)) == "CHANGES_BEGIN_AFTER_END")
    assert(condition("2999-01-01") == "CHANGES_BEGIN_IN_FUTURE")
    assert(found(s, at(50), "2999-01-01") == Seq(at(30)))
    val empty = Storage(folder.resolve("empty").toUri.toString, s.conf)
    table(storage = empty)
    assert(window(empty, "earliest").isEmpty && rows(empty, at(3), at(4)).groups.contains(Set.empty))
  }

  test("an end whose files were cleaned is refused with the setting, a begin before it accepted") {
    val s = overlapping
    s.createNew(s".hoodie/timeline/${at(70)}_${at(71)}.clean", CleanFixture.completed(Some(at(40))))
    val error = intercept[MerganserException](rows(s, "earliest", at(25)))
    assert(error.condition == "CHANGES_CLEANED" && error.parameters("oldest") == at(40))
    assert(error.getMessage.contains("hoodie.clean.commits.retained"))
    assert(conditionOf(rows(s, "earliest", at(55))) == "CHANGES_CLEANED", s"${at(30)} may have replaced what was there")
    assert(groups(s, at(20)).contains(Set("b", "c")))
    assert(groups(s, "earliest", at(5)).contains(Set.empty) && groups(s, at(21), at(25)).contains(Set.empty))
  }

  test("a bound between a commit and the restore that removed it is refused") {
    val s     = overlapping
    val taken = RestoreMetadata(at(70), 1L, Seq(RolledBack(at(62), "deltacommit")), Map.empty)
    s.createNew(s".hoodie/timeline/${at(70)}_${at(71)}.restore", RestoreMetadata.encode(taken))
    assert(conditionOf(window(s, at(65))) == "CHANGES_TAKEN_BACK")
    assert(conditionOf(rows(s, at(20), at(65))) == "CHANGES_TAKEN_BACK")
    assert(groups(s, at(20)).contains(Set("b", "c")) && groups(s, at(71)).contains(Set.empty))
  }
}
