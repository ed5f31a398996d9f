package io.merganser.table.settings

import org.scalatest.funsuite.AnyFunSuite

final class HiveSyncSettingsSuite extends AnyFunSuite {

  test("each extractor of Hudi's gives the same values of a path as in Hudi") {
    val cases = Seq(
      ("NonPartitionedExtractor", "", Nil), ("MultiPartKeysValueExtractor", "eu/2024-01-02", Seq("eu", "2024-01-02")),
      ("MultiPartKeysValueExtractor", "region=eu/day=a=b", Seq("eu", "a=b")),
      ("HiveStylePartitionValueExtractor", "day=2024-01-02", Seq("2024-01-02")),
      ("SinglePartPartitionValueExtractor", "2024/01/02", Seq("2024/01/02")),
      ("SlashEncodedDayPartitionValueExtractor", "2024/01/02", Seq("2024-01-02")),
      ("SlashEncodedDayPartitionValueExtractor", "yyyy=2024/mm=01/dd=02", Seq("2024-01-02")),
      ("SlashEncodedHourPartitionValueExtractor", "2024/01/02/03", Seq("2024-01-02-03"))
    )
    for ((name, path, values) <- cases) assert(PartitionExtractor.byClass(name).values(path) == values, (name, path))
  }
}
