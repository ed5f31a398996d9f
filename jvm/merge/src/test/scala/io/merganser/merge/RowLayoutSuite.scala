package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class RowLayoutSuite extends AnyFunSuite {
  private val schema = Notation.schema.add("_hoodie_is_deleted", BooleanType)

  test("filling a record replaces every attribute of the row before") {
    val layout = RowLayout(schema, "k", Seq("ts"), None)
    val record = new Version().set(Notation.row(Notation.change("k0@1=x")), isDelete = false, isUnconditional = true)
    record.endsHistory = true
    record.provided = Array(true, true, false, true)
    val row = new GenericInternalRow(Array[Any](UTF8String.fromString("k1"), 10L, null, null, true))
    assert(layout.fill(record, row) eq record)
    assert(record.row eq row)
    assert(record.isDelete && !record.isUnconditional && !record.endsHistory && !record.isPartial)
    assert(layout.key(record.row).toString == "k1")
  }

  test("the ordering values are those of the fields in their order, null too") {
    val layout = RowLayout(schema, "k", Seq("v", "ts"), None)
    val row =
      new GenericInternalRow(Array[Any](UTF8String.fromString("k1"), null, UTF8String.fromString("b"), null, null))
    assert(layout.ordering.toSeq.map(_.valueIn(row)) == Seq[Any](UTF8String.fromString("b"), null))
  }

  test("a column that the schema does not have is named") {
    val error = intercept[IllegalStateException](RowLayout(schema, "k", Seq("tz"), None))
    assert(error.getMessage.contains("'tz'") && error.getMessage.contains("k, ts, v, w"))
  }

  test("a copy has its own row and the attributes of its version") {
    val reused = new ReusedRow(Notation.schema.length)
    val change = Notation.change("k1@10=a,_")
    val record = Notation.fill(new Version, change, reused.load(Notation.row(change)))
    record.endsHistory = true
    val copied = record.copy()
    reused.overwrite()
    assert(Notation.read(copied) == change)
    assert(copied.endsHistory && copied.isPartial)
    assert(Notation.read(record).key == "overwritten")
  }

  test("ending history makes a new record and leaves the buffered one unchanged") {
    val record = Notation.record("k1@10=a,_")
    val ends   = record.withoutHistory
    assert(ends.endsHistory && !record.endsHistory)
    assert(Notation.read(ends) == Notation.read(record))
    assert(ends.withoutHistory eq ends)
  }
}
