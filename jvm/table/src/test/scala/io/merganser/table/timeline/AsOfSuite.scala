package io.merganser.table.timeline

import java.time.{ZoneId, ZoneOffset}

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import org.scalatest.funsuite.AnyFunSuite

final class AsOfSuite extends AnyFunSuite {

  private val tokyo = ZoneId.of("Asia/Tokyo")

  test("instants are taken unchanged, dates and times in the table's zone, and moments are converted to it") {
    Seq(
      "20210728141108200" -> "20210728141108200",
      "20210728141108" -> "20210728141108",
      "00000000000001" -> "00000000000001",
      "2021-07-28" -> "20210728000000000",
      "2021-07-28 14:11:08" -> "20210728141108999",
      "2021-07-28 14:11:08.200" -> "20210728141108200",
      "2021-07-28T14:11:08.2" -> "20210728141108200",
      "2021-07-28 14:11:08.123456" -> "20210728141108123",
      "2021-07-28T14:11:08.200Z" -> "20210728231108200",
      "2021-07-28 14:11:08.200+01:00" -> "20210728221108200",
      "1627481468" -> "20210728231108000",
      "1627481468200" -> "20210728231108200",
      " 20210728141108200 " -> "20210728141108200"
    ).foreach { case (text, instant) => assert(AsOf.parse(text, tokyo).contains(instant), text) }
  }

  test("versions, words, parts of instants and impossible dates are refused as times") {
    Seq("1", "20991", "20210728", "latest", "yesterday", "now", "", " ", "2021-02-30", "2021-13-01",
      "2021-07-28 25:11:08",
      "20211301000000",
      "99999999999999999", "2021-07-28 14:11", "28.07.2021", "202107281411082", "2021-07-28 14:11:08 CET",
      "12345678901")
      .foreach(text => assert(AsOf.parse(text, ZoneOffset.UTC).isEmpty, text))
  }

  test("a query's time after the year 9999 is refused by its seconds, and others are converted to the table's zone") {
    val config = TableConfig(Map("hoodie.table.name" -> "t", "hoodie.table.timeline.timezone" -> "UTC"))
    assert(AsOf.instant(config, 1627481468200999L) == "20210728141108200")
    assert(AsOf.instant(config, -1L) == "19691231235959999")
    val refused = intercept[MerganserException](AsOf.instant(config, 1627481468200L * 1000000L))
    assert(refused.condition == "AS_OF_INVALID" && refused.getMessage.contains("'1627481468200 seconds since 1970'"))
  }
}
