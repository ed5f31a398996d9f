package io.merganser.spark.write

import io.merganser.merge.Notation
import io.merganser.spark.LocalSession
import io.merganser.table.TableSuite
import io.merganser.table.timeline.{CommitMetadata, OperationType}
import org.apache.spark.sql.SaveMode

final class SaveModesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  test("save modes that keep an existing table work for an unreadable one") {
    val s       = faulty("t")
    val options = this.options(mergeOnRead = false, bucketed = true)
    upsert(s, Notation.changes("k1@1=a"), options)
    // A commit that refers to versions of the columns, of which there are none.
    instantFile(s, "29990101000000000_29990101000000001.commit",
      CommitMetadata(OperationType.Upsert, Map.empty, Map("schema" -> "{}", "latest_schema" -> "{}")))
    def save(mode: SaveMode): Unit =
      frame(Notation.changes("k2@1=b")).write.format("merganser").options(options).mode(mode).save(s.toString)
    assert(conditionOf(save(SaveMode.Append)) == "TABLE_FEATURE_UNREADABLE")
    assert(conditionOf(save(SaveMode.ErrorIfExists)) == "TABLE_EXISTS")
    save(SaveMode.Ignore)
  }
}
