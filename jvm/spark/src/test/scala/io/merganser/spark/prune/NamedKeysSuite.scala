package io.merganser.spark.prune

import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class NamedKeysSuite extends AnyFunSuite {
  private val schema = StructType.fromDDL("id INT, text STRING, at TIMESTAMP, sum DECIMAL(9, 2), ts BIGINT")

  private def config(keys: String, more: (String, String)*): TableConfig =
    TableConfig(NewTable.properties(Map("hoodie.datasource.write.recordkey.field" -> keys,
          "hoodie.table.ordering.fields" -> "ts") ++ more, schema, "t"))

  private def keys(of: TableConfig, filters: Filter*): Option[Set[String]] =
    NamedKeys.of(of, schema, filters).map(_.toSet)

  test("one key column has keys with and without its name") {
    assert(keys(config("id"), IsNotNull("id"), EqualTo("id", 7)).contains(Set("7", "id:7")))
    assert(keys(config("text"), EqualNullSafe("text", "")).contains(Set("", "text:__empty__")))
    assert(keys(config("id"), In("id", Array[Any](1, null, 2))).contains(Set("1", "id:1", "2", "id:2")))
    assert(keys(config("id"), In("id", Array[Any](null))).contains(Set.empty[String]))
  }

  test("several key columns have all combinations of their values") {
    val filters = Seq(In("id", Array[Any](1, 2)), EqualTo("text", ""))
    assert(keys(config("id,text"), filters: _*).contains(Set("id:1,text:__empty__", "id:2,text:__empty__")))
    assert(keys(config("text,id"), filters: _*).contains(Set("text:__empty__,id:1", "text:__empty__,id:2")))
    assert(keys(config("id,text"), EqualTo("id", 1)).isEmpty)
  }

  test("the filter with the fewest values counts") {
    assert(keys(config("id"), In("id", Array[Any](1, 2)), EqualTo("id", 2)).contains(Set("2", "id:2")))
    assert(keys(config("id"), In("id", (1 to 101).toArray[Any])).isEmpty)
    assert(keys(config("id,text"), In("id", (1 to 11).toArray[Any]), In("text", (1 to 11).map(_.toString).toArray[Any]))
        .isEmpty)
  }

  test("other filters and columns name no key") {
    for (
      filter <- Seq[Filter](GreaterThan("id", 1), EqualTo("text", "a"), EqualTo("ID", 1), Not(EqualTo("id", 1)),
        Or(EqualTo("id", 1), EqualTo("id", 2)), EqualTo("id", null), EqualNullSafe("id", null))
    )
      assert(keys(config("id"), filter).isEmpty, filter)
  }

  test("values that may be written in several ways name no key") {
    assert(keys(config("at"), EqualTo("at", new java.sql.Timestamp(0))).isEmpty)
    assert(keys(config("sum"), EqualTo("sum", new java.math.BigDecimal("1.00"))).isEmpty)
  }

  test("tables without stored keys, of unknown generators and of rules in classes have no named keys") {
    val one = EqualTo("id", 1)
    assert(keys(config("id", "hoodie.populate.meta.fields" -> "false"), one).isEmpty)
    assert(keys(TableConfig(config("id").properties ++ Map("hoodie.table.keygenerator.type" -> "USER_PROVIDED",
          "hoodie.table.keygenerator.class" -> "com.shop.Keys")), one).isEmpty)
    assert(keys(TableConfig(config("id").properties ++ Map("hoodie.record.merge.mode" -> "CUSTOM",
          "hoodie.record.merge.strategy.id" -> "0b1a2f4c-5d1c-4a3e-9f59-000000000000")), one).isEmpty)
  }
}
