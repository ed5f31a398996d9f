package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class DeleteCheckSuite extends AnyFunSuite {

  /** Whether a row with this one value, besides its key, is a delete; checked on both kinds of row. */
  private def isDelete(column: String, dataType: DataType, value: Any, marker: Option[DeleteMarker] = None): Boolean = {
    val schema  = StructType(Seq(StructField("k", StringType), StructField(column, dataType)))
    val row     = new GenericInternalRow(Array[Any](UTF8String.fromString("k1"), value))
    val check   = DeleteCheck(schema, marker)
    val answers = Seq(row, UnsafeProjection.create(schema)(row)).map(check.isDelete).distinct
    assert(answers.size == 1)
    answers.head
  }

  private def marked(dataType: DataType, value: Any, marker: String) =
    isDelete("op", dataType, value, Some(DeleteMarker("op", marker)))

  private def text(s: String) = UTF8String.fromString(s)

  test("a row whose flag column is true is a delete; false and null are not") {
    assert(isDelete("_hoodie_is_deleted", BooleanType, true))
    assert(!isDelete("_hoodie_is_deleted", BooleanType, false))
    assert(!isDelete("_hoodie_is_deleted", BooleanType, null))
  }

  test("a column that is named like the flag but is no boolean is a column like any other") {
    assert(!isDelete("_hoodie_is_deleted", StringType, text("true")))
    assert(!isDelete("_HOODIE_IS_DELETED", BooleanType, true))
  }

  test("a marker is the column's text, exactly: case counts, and null is no delete") {
    assert(marked(StringType, text("D"), "D"))
    assert(!marked(StringType, text("d"), "D"))
    assert(!marked(StringType, text("D "), "D"))
    assert(!marked(StringType, text(""), "D"))
    assert(!marked(StringType, null, "D"))
    assert(!marked(StringType, null, "null"))
  }

  test("a marker works on integers and booleans too") {
    assert(marked(IntegerType, 1, "1"))
    assert(!marked(IntegerType, 10, "1"))
    assert(!marked(IntegerType, null, "1"))
    assert(marked(LongType, -1L, "-1"))
    assert(marked(BooleanType, true, "true"))
    assert(!marked(BooleanType, true, "TRUE"))
    assert(!marked(BooleanType, false, "true"))
  }

  test("the operations delete and update-before are deletes; insert, update-after and none are not") {
    for (operation <- Seq("D", "-U")) assert(isDelete("_hoodie_operation", StringType, text(operation)), operation)
    for (operation <- Seq("I", "U", "d")) assert(!isDelete("_hoodie_operation", StringType, text(operation)), operation)
    assert(!isDelete("_hoodie_operation", StringType, null))
  }

  test("flag, operation and marker each make a row a delete") {
    val schema = StructType(
      Seq(
        StructField("_hoodie_is_deleted", BooleanType),
        StructField("_hoodie_operation", StringType),
        StructField("op", StringType)
      )
    )
    val check = DeleteCheck(schema, Some(DeleteMarker("op", "x")))
    def isDeleted(flag: Any, operation: String, op: String) =
      check.isDelete(new GenericInternalRow(Array[Any](flag, text(operation), text(op))))
    assert(isDeleted(true, "I", "y") && isDeleted(false, "D", "y") && isDeleted(null, "I", "x"))
    assert(!isDeleted(false, "I", "y"))
  }

  test("where no column can mark a delete, no row is checked") {
    assert(!DeleteCheck(Notation.schema, None).isNeeded)
    assert(!DeleteCheck(Notation.schema, Some(DeleteMarker("op", "D"))).isNeeded)
    assert(!DeleteCheck(Notation.schema, None).isDelete(null))
  }

  test("only existing columns are read") {
    val schema = Notation.schema.add("op", StringType).add("_hoodie_is_deleted", BooleanType)
    assert(DeleteCheck.columns(schema, Some(DeleteMarker("op", "D"))) == Seq("_hoodie_is_deleted", "op"))
    assert(DeleteCheck.columns(schema, Some(DeleteMarker("_hoodie_is_deleted", "true"))) == Seq("_hoodie_is_deleted"))
    assert(DeleteCheck.columns(Notation.schema, None).isEmpty)
  }
}
