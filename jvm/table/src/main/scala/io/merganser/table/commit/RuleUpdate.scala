package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CheckedRule, RuleChange}
import io.merganser.table.settings.TableAccess
import io.merganser.table.slice.{FileSlice, TableView}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline

/**
 * Gives a table another rule of columns. Only merges that follow are made by it: no version may be left that would be
 * merged by another rule than when it was written, so no file slice has logs, and no write is running.
 */
object RuleUpdate {

  /**
   * @param change of the table as it is under the lock
   * @throws io.merganser.merge.MerganserException RULE_CHANGE_REFUSED naming file slices with logs, or the write that
   *                                               runs; LOCK_TIMEOUT; no property is changed then
   */
  def run(storage: Storage, access: TableAccess)(change: TableConfig => RuleChange): RuleChange =
    LockedTable.repaired(storage, access) { table =>
      import table.{config, timeline}
      val changed = change(config)
      if (changed.parts.nonEmpty) {
        timeline.pending.find(_.action.whenCompleted.isWrite).foreach { i =>
          throw RuleChange.refused(config, s"its ${i.action} ${i.requested} is not complete",
            "Wait for it; if its process has died, CALL rollback_failed_writes")
        }
        val logged = withLogs(storage, config, timeline)
        logged.headOption.foreach { slice =>
          throw RuleChange.refused(config,
            s"${logged.size} of its file slices have logs, such as '${slice.fileId}', whose versions " +
              "were written under the current rule",
            "Compact the table, or call change_rule, which compacts it first")
        }
        // A table without a commit has nothing that was written under another rule.
        val since = timeline.completed.lastOption.map(TableConfig.RuleSince -> _.requested)
        TableConfig.updateUnderLock(storage,
          properties => changed.applied(properties - TableConfig.RuleChecked) ++ since)
      }
      changed
    }

  /**
   * Stores what a check of the rule found.
   *
   * @throws io.merganser.merge.MerganserException RULE_CHANGE_REFUSED if the table has another rule by now;
   *                                               LOCK_TIMEOUT; no property is changed then
   */
  def record(storage: Storage, access: TableAccess, checked: CheckedRule): Unit =
    LockedTable.repaired(storage, access) { table =>
      if (CheckedRule.idOf(table.config) != checked.rule)
        throw RuleChange.refused(table.config, "its rule was changed while it was checked", "Check it again")
      TableConfig.updateUnderLock(storage, _ + (TableConfig.RuleChecked -> checked.text))
      ()
    }

  /** The file slices whose rows are merged when they are read. */
  def withLogs(storage: Storage, config: TableConfig, timeline: Timeline): Seq[FileSlice] =
    new TableView(storage, config, timeline).slices.filter(_.logs.nonEmpty)
}
