package io.merganser.spark.stream

import org.scalatest.funsuite.AnyFunSuite

class StreamPositionSuite extends AnyFunSuite {

  /** As they are in checkpoints: another form needs another version. */
  private val stored = Seq(
    StreamPosition.Begin -> """{"version":1}""",
    StreamPosition(Some("20261123150000123")) -> """{"version":1,"time":"20261123150000123"}""",
    StreamPosition(Some("20261123150000123"), None, Some("20261123145900000")) ->
      """{"version":1,"time":"20261123150000123","write":"20261123145900000"}""",
    StreamPosition(Some("20261123150000123"), Some(SnapshotPart(3, 10, "8c736521"))) ->
      """{"version":1,"time":"20261123150000123","snapshot":{"next":3,"of":10,"groups":"8c736521"}}"""
  )

  test("offsets have the form that checkpoints store") {
    stored.foreach { case (position, json) =>
      assert(position.json() == json)
      assert(StreamPosition.parse(json).contains(position))
    }
  }

  test("offsets of another source or version are not parsed") {
    assert(StreamPosition.parse("""{"version":2,"time":"20261123150000123"}""").isEmpty)
    assert(StreamPosition.parse("""{"commitTime":"20261123150000123"}""").isEmpty)
    assert(StreamPosition.parse("7").isEmpty)
  }
}
