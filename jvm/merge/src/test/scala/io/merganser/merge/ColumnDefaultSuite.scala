package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class ColumnDefaultSuite extends AnyFunSuite {
  private def column(name: String, dataType: DataType, default: Any) =
    ColumnDefault.put(StructField(name, dataType, nullable = false), default)

  private val schema = StructType(Seq(StructField("k", StringType), column("n", IntegerType, 5),
      column("big", LongType, 100000L), column("b", BooleanType, true), column("s", StringType, "x")))
  private val layout = RowLayout(schema, "k", Nil, None)

  private def version(n: Int, big: Long, b: Boolean, s: String) = new Version().set(
    InternalRow(UTF8String.fromString("k1"), n, big, b, UTF8String.fromString(s)), isDelete = false,
    isUnconditional = false)

  private def merged(missing: MissingValues): Seq[Any] = FillMissingRule.byCommitTime(layout, missing, Nil)
    .merge(version(1, 1, b = false, "a"), version(5, 100000, b = true, "x")).row.toSeq(schema).tail.map {
      case s: UTF8String => s.toString
      case other         => other
    }

  test("a small integer or boolean equal to its column's default counts as missing, as in Hudi") {
    assert(merged(MissingValues.Nulls) == Seq[Any](1, 100000L, false, "x"))
    assert(merged(MissingValues.Marked("x")) == Seq[Any](5, 100000L, true, "a"))
  }

  test("a default must have its column's type and can be removed") {
    val plain = StructField("n", IntegerType, nullable = false)
    assert(ColumnDefault.of(column("n", IntegerType, 5)).contains(5))
    assert(ColumnDefault.of(column("s", StringType, "x")).contains("x"))
    assert(column("n", IntegerType, "x") == plain)
    assert(ColumnDefault.remove(column("n", IntegerType, 5)) == plain)
  }
}
