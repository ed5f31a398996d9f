package io.merganser.table.settings

import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class EffectiveSettingsSuite extends AnyFunSuite {

  private val table = TableConfig(NewTable.properties(
    Map("hoodie.datasource.write.recordkey.field" -> "id", "hoodie.table.ordering.fields" -> "ts"),
    StructType.fromDDL("id INT, ts BIGINT"),
    "trips"
  ) + ("hoodie.combine.before.insert" -> "true"))

  private def settings(options: (String, String)*)(session: (String, String)*): Map[String, EffectiveSetting] =
    EffectiveSettings.of(table, options.toMap, session.toMap).map(one => one.key -> one).toMap

  test("a setting comes from the option, else the session, else the table, else the default") {
    def source(options: (String, String)*)(session: (String, String)*) = {
      val found = settings(options: _*)(session: _*)("hoodie.combine.before.insert")
      (found.value, found.source, found.conflict)
    }
    val key = "hoodie.combine.before.insert"
    assert(source()() == ((Some("true"), "table", None)))
    assert(source()(s"spark.$key" -> "false") == ((Some("false"), "session", None)))
    assert(source(key -> "true")(s"spark.$key" -> "false") == ((Some("true"), "option", None)))
    val default = settings()()("hoodie.combine.before.upsert")
    assert((default.value, default.source) == ((Some("true"), "default")))
  }

  test("the table's settings win, and others are reported: a session's as ignored, an option's as refused") {
    val ordering  = "hoodie.table.ordering.fields"
    val ofSession = settings()(ordering -> "id")(ordering)
    assert((ofSession.value, ofSession.source) == ((Some("ts"), "table")))
    assert(ofSession.conflict.exists(_.contains("'id'")))
    assert(settings()(ordering -> "ts")(ordering).conflict.isEmpty)
    val refused = settings(ordering -> "id")()(ordering)
    assert(refused.value.contains("ts") && refused.conflict.exists(_.contains("CONFIG_CONFLICT")))
  }

  test("ordering fields of a write are reported as ignored if the table has none, those of a session are not") {
    val plain    = TableConfig(table.properties - "hoodie.table.ordering.fields" - "hoodie.record.merge.mode")
    val ordering = "hoodie.table.ordering.fields"
    for (name <- Seq(ordering, "hoodie.datasource.write.precombine.field")) {
      val option  = Map(name -> "ts")
      val ignored = WriteConfig.parse(option, Map.empty, plain).ignored
      assert(ignored.map(_.key) == Seq(name) && ignored.head.instead.contains("the last write wins"))
      val shown = EffectiveSettings.of(plain, option, Map.empty).filter(_.conflict.isDefined)
      assert(shown.map(_.key) == Seq(ordering) && shown.head.conflict.exists(_.contains("'ts'")))
      assert(WriteConfig.parse(Map.empty, option, plain).ignored.isEmpty)
      assert(WriteConfig.parse(option, Map.empty, table).ignored.isEmpty)
    }
  }

  test("a refused option is shown with its own value, and an ignored one without it, as it may be a secret") {
    val size  = "hoodie.parquet.max.file.size"
    val found = settings(s"$size.x" -> "option")(s"spark.$size.x" -> "session")
    assert((found(s"$size.x").value, found(s"$size.x").source) == ((Some("option"), "option")))
    val password = "hoodie.metrics.datadog.api.key"
    val ignored  = settings("hoodie.metrics.on" -> "true", password -> "s3cret")()
    assert(ignored.values.filter(_.conflict.exists(_.contains("no effect"))).forall(_.value.isEmpty))
    assert(ignored.contains("hoodie.metrics.on") && !ignored.values.exists(_.toString.contains("s3cret")))
  }

  test("unknown, invalid and ignored options are listed with the reason") {
    val found = settings("hoodie.combine.before.upsrt" -> "true", "hoodie.metadata.enable" -> "true")(
      "hoodie.parquet.max.file.size" -> "large")
    assert(found("hoodie.combine.before.upsrt").conflict.exists(_.contains("UNKNOWN_OPTION")))
    assert(found("hoodie.metadata.enable").conflict.exists(_.contains("no effect")))
    val size = found("hoodie.parquet.max.file.size")
    assert(size.conflict.exists(_.contains("OPTION_VALUE_INVALID")) && size.source == "default")
  }
}
