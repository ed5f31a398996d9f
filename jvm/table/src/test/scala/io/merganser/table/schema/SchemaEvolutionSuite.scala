package io.merganser.table.schema

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class SchemaEvolutionSuite extends AnyFunSuite {

  private def ddl(text: String): StructType = StructType.fromDDL(text)

  private def evolved(table: String, incoming: String): StructType =
    SchemaEvolution.evolved("trips", ddl(table), ddl(incoming), widensToString = true)

  private def refused(table: String, incoming: String, mentions: String*): Unit = {
    val thrown = intercept[MerganserException](evolved(table, incoming))
    assert(thrown.condition == "SCHEMA_CONFLICT")
    (mentions :+ "'trips'").foreach(text => assert(thrown.getMessage.contains(text), text))
  }

  test("the table's columns come first, then new ones in the input's order, nullable and with stored types") {
    assert(evolved("id INT NOT NULL, v STRING",
      "b TINYINT NOT NULL, v STRING, _hoodie_record_key STRING, id INT, a VARCHAR(3)") ==
      ddl("id INT NOT NULL, v STRING, b INT, a STRING"))
  }

  test("nulls, empty arrays and maps take the table's type and are refused in new columns") {
    val table = "id INT, s STRING, a ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>, n STRUCT<x: INT, y: STRING>"
    val rows  = "id INT, s VOID, a ARRAY<VOID>, m MAP<VOID, VOID>, n STRUCT<x: VOID, y: STRING>"
    assert(evolved(table, rows) == ddl(table))
    Seq("b VOID", "b ARRAY<VOID>", "b MAP<VOID, VOID>", "n STRUCT<z: VOID>").foreach { column =>
      val thrown = intercept[MerganserException](evolved(table, s"id INT, $column"))
      assert(thrown.condition == "UNSUPPORTED_TYPE" && thrown.getMessage.contains("Cast or drop"), column)
    }
  }

  test("declared columns contradict a table that lacks them or has other types, not one with more or wider columns") {
    def contradiction(table: String, declared: String) =
      SchemaEvolution.contradiction("trips", ddl(table), ddl(declared)).mkString
    val table = "id STRING, n BIGINT, d DECIMAL(12,2), at STRUCT<x: INT, y: DOUBLE>, v STRING"
    assert(contradiction(table, table).isEmpty)
    val narrower = "V VARCHAR(3), n TINYINT NOT NULL, d DECIMAL(8,1), at STRUCT<y: FLOAT>, id STRING"
    assert(contradiction(table, narrower).isEmpty)
    assert(SchemaEvolution.contradiction("trips", new StructType, ddl("id INT")).isEmpty)
    assert(contradiction(table, "id STRING, a INT, at STRUCT<z: INT>") == "the table lacks 'at.z' and 'a'")
    assert(contradiction(table, "n STRING") == "column 'n' is string, the table has bigint")
    assert(contradiction(table, "v INT, at STRUCT<x: BIGINT>") ==
      "column 'at.x' is bigint, the table has int; column 'v' is int, the table has string")
    assert(contradiction(table, "n BOOLEAN").startsWith("column 'n' is boolean, the table has bigint"))
  }

  test("columns that the rows lack stay, and names match in any case") {
    assert(evolved("id INT, v STRING", "ID INT") == ddl("id INT, v STRING"))
  }

  test("a column takes the wider type of table and write") {
    for (
      (narrow, wide) <- Seq("INT" -> "BIGINT", "INT" -> "FLOAT", "INT" -> "DOUBLE", "BIGINT" -> "DOUBLE",
        "FLOAT" -> "DOUBLE",
        "INT" -> "STRING", "DATE" -> "STRING", "INT" -> "DECIMAL(12,2)", "DECIMAL(8,2)" -> "DECIMAL(10,3)")
    ) {
      assert(evolved(s"id INT, c $narrow", s"id INT, c $wide") == ddl(s"id INT, c $wide"), s"$narrow to $wide")
      assert(evolved(s"id INT, c $wide", s"id INT, c $narrow") == ddl(s"id INT, c $wide"), s"$narrow into $wide")
    }
  }

  test("numbers and dates become strings only on request, inside structs too, and the error names the option") {
    for (
      column <- Seq("c INT", "c DOUBLE", "c DECIMAL(8,2)", "c DATE", "c STRUCT<a: BIGINT>", "c ARRAY<INT>",
        "c MAP<STRING, FLOAT>")
    ) {
      val incoming = column.replaceAll("INT|BIGINT|BIGSTRING|DOUBLE|DECIMAL\\(8,2\\)|DATE|FLOAT", "STRING").replace(
        "BIGSTRING", "STRING")
      val thrown = intercept[MerganserException](
        SchemaEvolution.evolved("trips", ddl(s"id INT, $column"), ddl(s"id INT, $incoming"), widensToString = false))
      assert(thrown.condition == "COLUMN_WOULD_BECOME_STRING", column)
      assert(Seq("'trips'", "'c", "Cast the column", "schemaEvolution=toString").forall(thrown.getMessage.contains),
        column)
      assert(evolved(s"id INT, $column", s"id INT, $incoming") == ddl(s"id INT, $incoming"))
      assert(SchemaEvolution.evolved("trips", ddl(s"id INT, $incoming"), ddl(s"id INT, $column"),
          widensToString = false) ==
          ddl(s"id INT, $incoming"), "numbers into a string column")
    }
  }

  test("added and widened columns are listed by their paths; a table without columns has none") {
    val changes = SchemaEvolution.changes(ddl("id INT, n INT, s STRUCT<a: INT>, l ARRAY<STRUCT<x: INT>>, old STRING"),
      ddl("id INT, n BIGINT, s STRUCT<a: DOUBLE, b: STRING>, l ARRAY<STRUCT<x: BIGINT, y: INT>>, added DATE"))
    assert(changes.added == Seq("s.b", "l.element.y", "added"))
    assert(changes.widened == Seq("n: int -> bigint", "s.a: int -> double", "l.element.x: int -> bigint"))
    assert(SchemaEvolution.changes(new StructType, ddl("id INT")) == SchemaEvolution.Changes(Nil, Nil))
  }

  test("fields of structs, in arrays and in map values too, are added and widened") {
    assert(evolved("s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>",
      "s STRUCT<c: DATE, a: BIGINT>, l ARRAY<STRUCT<y: INT, x: INT>>, m MAP<STRING, DOUBLE>") ==
      ddl("s STRUCT<a: BIGINT, b: STRING, c: DATE>, l ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, DOUBLE>"))
  }

  test("types of which neither widens to the other are refused by the column's path") {
    refused("c DATE", "c INT", "'c'", "date", "int")
    refused("c STRING", "c BINARY", "'c'", "string", "binary")
    refused("c BINARY", "c STRING", "'c'")
    refused("c DECIMAL(10,2)", "c DECIMAL(8,4)", "'c'", "decimal(10,2)", "decimal(8,4)")
    refused("s STRUCT<l: ARRAY<BOOLEAN>>", "s STRUCT<l: ARRAY<INT>>", "'s.l.element'", "boolean")
    refused("s STRUCT<a: INT>", "s STRING", "'s'", "struct<a:int>")
  }

  test("columns that differ in case alone are refused by name") {
    refused("id INT", "id INT, x INT, X INT", "'x'", "'X'")
    refused("id INT", "id INT, ID INT", "'id'", "'ID'")
  }

  test("a key, partition, ordering or marker column refuses a new type that would change its texts or its order") {
    def config(more: (String, String)*) = TableConfig(Map("hoodie.table.name" -> "trips",
      "hoodie.table.type" -> "COPY_ON_WRITE",
      "hoodie.table.version" -> "9", "hoodie.timeline.layout.version" -> "2",
      "hoodie.table.recordkey.fields" -> "id") ++ more)
    def check(column: String, from: String, to: String, more: (String, String)*): Unit =
      SchemaEvolution.requireStable(config(more: _*), ddl(s"id INT, o INT").add(column, from),
        ddl("id BIGINT, o BIGINT").add(column, to))
    def refuses(role: String, from: String, to: String, more: (String, String)*): Unit = {
      val thrown = intercept[MerganserException](check("c", from, to, more: _*))
      assert(thrown.condition == "SCHEMA_CONFLICT" && thrown.getMessage.contains(s"$role column 'c'"),
        s"$role: $from to $to")
    }
    val (path, order) = ("hoodie.table.partition.fields" -> "c", "hoodie.table.ordering.fields" -> "c")
    check("c", "int", "double")
    check("c", "int", "string", path)
    check("c", "int", "double", order)
    check("c", "bigint", "decimal(20,0)", order)
    refuses("partition", "int", "double", path)
    refuses("partition", "float", "double", path)
    refuses("ordering", "int", "string", order)
    refuses("ordering", "bigint", "double", order)
    // Values that do not fit would be null.
    refuses("ordering", "bigint", "decimal(5,1)", order)
    refuses("ordering", "int", "decimal(10,1)", order)
    refuses("record key", "int", "double", "hoodie.table.recordkey.fields" -> "id,c")
  }
}
