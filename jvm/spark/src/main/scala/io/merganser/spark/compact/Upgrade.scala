package io.merganser.spark.compact

import io.merganser.spark.OpenTable
import io.merganser.table.config.{Options, WriteConfig}
import io.merganser.table.timeline
import io.merganser.table.timeline.Rollback
import org.apache.spark.sql.SparkSession

/** Upgrade of a table of version 6 or 8 to version 9: what failed is rolled back, logs are compacted, and then the format changes. */
object Upgrade {

  /**
   * @param options of which only the merger classes count, for the compaction
   * @return whether there was something to do
   * @throws io.merganser.merge.MerganserException UPGRADE_REFUSED and what compaction throws
   */
  def run(session: SparkSession, path: String, options: Map[String, String]): Boolean = {
    val table = OpenTable.load(session, path)
    table.config.version < 9 && {
      Rollback.pending(table.storage, table.config)
      if (table.config.isMergeOnRead) {
        val classes = options.filter { case (name, _) => Options.MergerClasses.names.exists(_.equalsIgnoreCase(name)) }
        Compaction.scheduleAndRun(session, path, WriteConfig.parse(classes, session.conf.getAll, table.config))
      }
      timeline.Upgrade.run(table.storage, OpenTable.load(table.storage).schema)
      true
    }
  }
}
