package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.ArchivingFixture
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/** Whether a write that was read is still one of the table. */
final class TakenBackSuite extends TableSuite with ArchivingFixture {

  private def requireNot(s: Storage, write: String): Unit =
    TakenBack.requireNot(s, TableConfig.load(s), timelineOf(s), write, at(999))

  test("a rolled back write is refused by name, one on the timeline or in its archive accepted") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 40, Action.DeltaCommit)
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    Seq(10, 36, 40).foreach(n => requireNot(s, commitAt(n)))

    val completedFile = completedName(TableConfig.load(s), 400, 401, Action.DeltaCommit)
    s.delete(s"${TableConfig.load(s).timelineFolder}/$completedFile")
    requireNot(s, commitAt(39))
    service(s, 405, Action.Rollback,
      RollbackMetadata.encode(RollbackMetadata(at(405), 1L, Seq(RolledBack(commitAt(40), "deltacommit")), Map.empty)))
    val error = intercept[MerganserException](requireNot(s, commitAt(40)))
    assert(error.condition == "CHANGES_TAKEN_BACK")
    assert(Seq("action", "by", "first").map(error.parameters) == Seq("rollback", at(405), commitAt(40)))
    requireNot(s, commitAt(39))
  }

  test("a write neither on the timeline nor in the archive counts as rolled back") {
    val s = storage
    table(storage = s)
    commits(s, 1 to 40, Action.DeltaCommit)
    archive(s, ArchiveConfig(minCommits = 5, maxCommits = 6))
    Seq(at(105), at(395), at(500)).foreach(write =>
      assert(conditionOf(requireNot(s, write)) == "CHANGES_TAKEN_BACK", write))
  }
}
