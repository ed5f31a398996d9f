package io.merganser.table.service

import io.merganser.table.TableSuite
import io.merganser.table.settings.{ArchiveConfig, WriteConfig}
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}

/** When a clustering is due, by the writes on the timeline and in its history. */
final class ClusteringDueSuite extends TableSuite with ArchivingFixture {

  private val Archived = ArchiveConfig(minCommits = 3, maxCommits = 4)

  private def clustering(n: Int): CommitMetadata = plain(n).copy(operationType = OperationType.Cluster)

  for (version <- Seq(6, 9))
    test(s"version $version: archived writes since the last clustering count for the next one") {
      val s      = storage
      val config = table(version, s)
      def isDue(commits: Int): Boolean = ClusteringDue.isDue(WriteConfig.parse(
          Map("hoodie.clustering.inline.max.commits" -> commits.toString), Map.empty, config).clustering, timelineOf(s))
      commits(s, 1 to 10)
      assert(isDue(10) && !isDue(11))
      archive(s, Archived)
      assert(active(s).size == 3 && isDue(3) && isDue(4) && isDue(10) && !isDue(11))
      commits(s, Seq(11), Action.ReplaceCommit, clustering)
      commits(s, 12 to 13)
      assert(isDue(2) && !isDue(3))
      commits(s, 14 to 17)
      archive(s, Archived)
      assert(active(s).size == 3 && isDue(6) && !isDue(7) && !isDue(100), "the clustering is in the history")
      commits(s, Seq(18), Action.ReplaceCommit)
      assert(isDue(7) && !isDue(8), "an overwrite is no clustering")
    }
}
