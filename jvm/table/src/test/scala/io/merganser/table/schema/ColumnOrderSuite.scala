package io.merganser.table.schema

import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class ColumnOrderSuite extends AnyFunSuite {

  private def ddl(text: String): StructType = StructType.fromDDL(text)

  test("a new table has its partition columns last in the order of partitioning, and fields of structs stay in place") {
    val columns = ddl("k INT, day STRING, m STRUCT<region: STRING>, hour INT, v STRING")
    assert(ColumnOrder.ofNew(columns, Seq("hour", "day", "m.region")).fieldNames.toSeq ==
      Seq("k", "m", "v", "hour", "day"))
    assert(ColumnOrder.ofNew(columns, Nil) == columns)
  }

  test("new columns are inserted before partition columns at the end, and else appended") {
    def added(columns: String, partitions: String*) =
      ColumnOrder.withAdded(ddl(columns), ddl("x INT, y INT"), partitions).fieldNames.mkString(" ")
    assert(added("k INT, v STRING, hour INT, Day STRING", "hour", "day") == "k v x y hour Day")
    assert(added("k INT, day STRING, v STRING, hour INT", "day", "hour") == "k day v x y hour")
    assert(added("k INT, day STRING, v STRING", "day") == "k day v x y")
    assert(added("k INT, v STRING") == "k v x y")
    assert(added("day STRING", "day") == "x y day")
  }

  test("a write's new columns come before the partition columns, and a wider type keeps its column's place") {
    val config = TableConfig(Map("hoodie.table.name" -> "trips", "hoodie.table.partition.fields" -> "day"))
    def after(table: String, incoming: String) =
      SchemaEvolution.ofWrite(config, ddl(table), ddl(incoming), widensToString = false)
    assert(after("k INT, v INT, day STRING", "k INT, day STRING, v BIGINT, x INT") ==
      ddl("k INT, v BIGINT, x INT, day STRING"))
    assert(after("k INT, day STRING, v INT", "x INT, day STRING") == ddl("k INT, day STRING, v INT, x INT"))
  }
}
