package io.merganser.table.slice

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.ArchivingFixture
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}

/** Log files whose writes were archived. */
final class ArchivedLogsSuite extends TableSuite with ArchivingFixture {

  private def logs(s: Storage): Map[String, Seq[String]] = {
    val config = TableConfig.load(s)
    new TableView(s, config, timelineOf(s)).slices("p").map(slice => slice.fileId -> slice.logs.map(_.instant)).toMap
  }

  test("logs of overlapping writes are read in the order of completion, archived or not") {
    val s = storage
    table(storage = s)
    s.createNew("p/.hoodie_partition_metadata", "partitionDepth=1".getBytes("UTF-8"))
    commits(s, 1 to 40, Action.DeltaCommit, _ => CommitMetadata(OperationType.Upsert, Map.empty, Map.empty))
    instantFile(s, s"${at(5)}_${at(203)}.deltacommit")
    val bucket = "00000001-0000-0000-0000-000000000000-0"
    for (instant <- Seq(at(5), commitAt(10), commitAt(30), commitAt(39)))
      s.createNew(s"p/.${bucket}_$instant.log.1_0-0-0", Array[Byte](1))
    val expected = Seq(commitAt(10), at(5), commitAt(30), commitAt(39))
    assert(logs(s) == Map(bucket -> expected))
    archive(s, ArchiveConfig(minCommits = 12, maxCommits = 13))
    assert(!active(s).contains(at(5)) && active(s).contains(commitAt(30)))
    assert(logs(s) == Map(bucket -> expected))
    archive(s, ArchiveConfig(minCommits = 3, maxCommits = 4))
    assert(!active(s).contains(commitAt(30)) && logs(s) == Map(bucket -> expected))
  }
}
