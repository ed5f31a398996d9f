package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.MergeMode

/**
 * Which tables may retain deletes: those in which a delete with an ordering value loses only to greater ones. Under a
 * rule of columns every delete ends the history of its row, and what is written after it is a new row.
 */
object RetainedDeletes {

  /**
   * @throws MerganserException TOMBSTONES_NEED_ORDERING if the table is to retain deletes and its rule compares no
   *                            ordering values, is one of columns, or a class, which may do anything with a delete that
   *                            it sees again
   */
  def require(config: TableConfig): Unit = config.tombstoneHours.foreach { hours =>
    val mode = MergeMode.of(config)
    val rule = if (config.rule.isDefined) "column rules" else mode.name
    if (config.orderingFields.isEmpty || mode != MergeMode.EventTimeOrdering || config.rule.isDefined)
      throw MerganserException("TOMBSTONES_NEED_ORDERING", "table" -> config.name,
        "key" -> Options.TombstonesRetained.key, "value" -> hours, "rule" -> rule,
        "fields" -> (if (config.orderingFields.isEmpty) "none" else config.orderingFields.mkString(", ")))
  }
}
