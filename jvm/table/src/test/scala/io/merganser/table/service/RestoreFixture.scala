package io.merganser.table.service

import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.{Creation, Transaction}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.TimeTravel
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline

/** Tables with rows, and restores of them. */
trait RestoreFixture { this: TableSuite =>

  protected def created(s: Storage, version: Int, mergeOnRead: Boolean): DirectTable = {
    Creation.create(s,
      DirectTable.properties(mergeOnRead) ++ Map(
        "hoodie.table.version" -> version.toString,
        "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1")))
    new DirectTable(s, bucketed = false)
  }

  protected def config(s: Storage): TableConfig = TableConfig.load(s)

  protected def timelineOf(s: Storage): Timeline = Timeline.load(s, config(s))

  protected def restoring(s: Storage, options: Transaction.Options = Transaction.Options()): Restoring =
    new Restoring(s, config(s), options)

  protected def upsert(table: DirectTable, changes: String): String = {
    table.upsert(Notation.changes(changes))
    table.timeline.completed.last.requested
  }

  protected def rowsOf(s: Storage): Seq[String] = sorted(new DirectTable(s, bucketed = false).rows)

  protected def sorted(rows: Seq[Any]): Seq[String] = rows.map(_.toString).sorted

  protected def asOf(s: Storage, instant: String): Timeline = new TimeTravel(s, config(s), timelineOf(s)).to(instant)
}
