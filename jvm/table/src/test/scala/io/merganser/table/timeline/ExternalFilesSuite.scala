package io.merganser.table.timeline

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig

final class ExternalFilesSuite extends TableSuite {

  test("a table with foreign file names, converted from another format, is refused by name") {
    for (version <- Seq(6, 9)) {
      val s = faulty(s"xtable-$version")
      table(version, s)
      val name = "part-0001.snappy.parquet"
      s.createNew(s"p/$name", Array[Byte](1))
      val stat   = WriteStat(name, s"p/${name}_20240101000000000_hudiext", partitionPath = "p")
      val file   = if (version >= 8) "20240101000000000_20240101000000001" else "20240101000000000"
      val config = TableConfig.load(s)
      instantFile(s, s"$file.commit", upserted(stat))
      val now = Timeline.load(s, config)
      assert(conditionOf(now.metadata(now.completed.last)) == "TABLE_FEATURE_UNREADABLE")
      instantFile(s, s"${file.replace("20240101", "20240102")}.replacecommit",
        upserted().copy(stats = Map.empty, replacedFileIds = Map("p" -> Seq(name))))
      val later = Timeline.load(s, config)
      assert(conditionOf(later.metadata(later.completed.last)) == "TABLE_FEATURE_UNREADABLE")
    }
  }
}
