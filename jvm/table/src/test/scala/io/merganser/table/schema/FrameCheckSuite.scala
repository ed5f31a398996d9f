package io.merganser.table.schema

import io.merganser.merge.MerganserException
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class FrameCheckSuite extends AnyFunSuite {

  private val stored = StructType.fromDDL(
    "_hoodie_record_key STRING, id BIGINT, name STRING, price DECIMAL(10,2), inner STRUCT<a: INT, b: STRING>, " +
      "tags ARRAY<DOUBLE>")

  private def check(frame: String, nullForMissing: Boolean = false, allowNewColumns: Boolean = false): Unit =
    FrameCheck.requireSchema(StructType.fromDDL(frame), stored, "trips", nullForMissing, allowNewColumns)

  private def refusal(frame: String): MerganserException = intercept[MerganserException](check(frame))

  private val whole = "id BIGINT, name STRING, price DECIMAL(10,2), inner STRUCT<a: INT, b: STRING>, tags ARRAY<DOUBLE>"

  test("the table's own columns are accepted in any order and case, with or without meta columns") {
    check(whole)
    check(
      "TAGS ARRAY<DOUBLE>, Name STRING, price DECIMAL(10,2), inner STRUCT<b: STRING, a: INT>, id BIGINT, " +
        "_hoodie_commit_time STRING")
  }

  test("the column of delete marks is found in any case and must be boolean unless the table stores it") {
    def flag(frame: String, table: StructType = stored) =
      FrameCheck.deleteFlag(StructType.fromDDL(frame), table).map(_.name)
    def require(frame: String, table: StructType = stored): Unit =
      FrameCheck.requireDeleteFlag(StructType.fromDDL(frame), table, "trips", "upsert into")
    assert(flag("id INT, _hoodie_is_deleted BOOLEAN").contains("_hoodie_is_deleted"))
    assert(flag("id INT, _HOODIE_Is_Deleted BOOLEAN").contains("_HOODIE_Is_Deleted"))
    assert(flag("id INT").isEmpty)
    for (kind <- Seq("STRING", "INT", "DOUBLE", "TINYINT", "STRUCT<a: BOOLEAN>")) {
      val error = intercept[MerganserException](require(s"id INT, _HOODIE_is_deleted $kind"))
      assert(error.condition == "DELETE_FLAG_NOT_BOOLEAN" && error.getMessage.contains("'_HOODIE_is_deleted'"), kind)
      val storing = stored.add("_hoodie_is_deleted", "string")
      assert(flag(s"id INT, _hoodie_is_deleted $kind", storing).isEmpty, kind)
      require(s"id INT, _hoodie_is_deleted $kind", storing)
    }
    require("id INT, _hoodie_is_deleted VOID")
  }

  test("a frame's narrower number is accepted and a wider one is refused") {
    check("id INT, name STRING, price DECIMAL(8,1), inner STRUCT<a: SMALLINT, b: STRING>, tags ARRAY<FLOAT>")
    for (
      (column, frame) <- Seq("price" -> whole.replace("(10,2)", "(10,3)"),
        "id" -> whole.replace("id BIGINT", "id DOUBLE"),
        "inner" -> whole.replace("a: INT", "a: BIGINT"),
        "name" -> whole.replace("name STRING", "name BINARY"))
    ) {
      val thrown = refusal(frame)
      assert(
        thrown.condition == "SCHEMA_CONFLICT" && thrown.getMessage.contains(s"'$column'") && thrown.getMessage.contains(
          "'trips'"),
        frame)
    }
  }

  test("a frame's number or date is accepted for a string column") {
    Seq("INT", "BIGINT", "DOUBLE", "DATE").foreach(kind => check(whole.replace("name STRING", s"name $kind")))
  }

  test("a missing field of a frame's struct is refused by its path unless null is requested") {
    val thrown = refusal(whole.replace("a: INT, ", ""))
    assert(thrown.condition == "COLUMN_MISSING" && thrown.getMessage.contains("'inner.a'"))
    assert(thrown.getMessage.contains("missingColumns to null"))
    assert(thrown.getMessage.contains("leave out column 'inner' and set it to keep"))
    check(whole.replace("a: INT, ", ""), nullForMissing = true)
    val kept = intercept[MerganserException](
      FrameCheck.requireWholeStructs(StructType.fromDDL("inner STRUCT<a: INT>"), stored, "trips"))
    assert(kept.condition == "COLUMN_MISSING" && kept.getMessage.contains("'inner.b'"))
    FrameCheck.requireWholeStructs(StructType.fromDDL("id INT"), stored, "trips")
  }

  test("a missing column of the frame is refused by name unless null is requested") {
    val thrown = refusal(whole.replace("name STRING, ", ""))
    assert(thrown.condition == "COLUMN_MISSING" && thrown.getMessage.contains("'name'"))
    assert(thrown.getMessage.contains("missingColumns to keep"))
    check(whole.replace("name STRING, ", ""), nullForMissing = true)
  }

  test("a column that the table lacks is refused by name unless new columns are allowed") {
    assert(refusal(whole + ", more INT").getMessage.contains("'more'"))
    check(whole + ", more INT", allowNewColumns = true)
  }

  test("a dotted name finds a column of this name first, then a field inside a struct") {
    val schema = StructType.fromDDL("s STRUCT<a: STRUCT<b: INT>>, `s.a` STRING, X INT, x INT")
    assert(FrameCheck.find(schema, "s.a.b").map(_.dataType.sql).contains("INT"))
    assert(FrameCheck.find(schema, "s.a").map(_.dataType.sql).contains("STRING"))
    assert(FrameCheck.find(schema, "s.c").isEmpty && FrameCheck.find(schema, "nope").isEmpty)
    assert(FrameCheck.find(schema, "x").map(_.name).contains("x") && FrameCheck.find(schema, "S").map(_.name).contains(
      "s"))
  }
}
