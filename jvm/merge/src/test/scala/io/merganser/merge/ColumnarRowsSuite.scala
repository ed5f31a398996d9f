package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.scalatest.funsuite.AnyFunSuite

/** Rows of column batches answer `get` for a null number with 0 and for a null flag with false. */
final class ColumnarRowsSuite extends AnyFunSuite {
  private val schema = StructType(Seq(
      StructField("k", StringType),
      StructField("ts", LongType),
      StructField("flag", BooleanType),
      StructField("n", IntegerType)
    ))
  private val layout = RowLayout(schema, "k", Seq("ts"), None)

  private def row(ts: Option[Long], flag: Option[Boolean], n: Option[Int]): InternalRow = {
    val vectors = OnHeapColumnVector.allocateColumns(1, schema)
    vectors(0).putByteArray(0, "k".getBytes)
    ts.fold(vectors(1).putNull(0))(vectors(1).putLong(0, _))
    flag.fold(vectors(2).putNull(0))(vectors(2).putBoolean(0, _))
    n.fold(vectors(3).putNull(0))(vectors(3).putInt(0, _))
    new ColumnarBatch(vectors.map(v => v: ColumnVector), 1).getRow(0)
  }

  private def version(row: InternalRow): Version = layout.fill(new Version, row)

  private def nulls(row: InternalRow): Seq[String] =
    schema.fieldNames.indices.filter(row.isNullAt).map(schema.fieldNames(_))

  test("a row that takes some columns of a stored one keeps its other nulls") {
    val stored = version(row(Some(1L), None, Some(3)))
    val result =
      FillMissingRule.byEventTime(layout, MissingValues.Nulls, Nil).merge(stored, version(row(Some(2L), None, None)))
    assert(nulls(result.row) == Seq("flag"))
    assert(result.row.getInt(3) == 3)
  }

  test("a partial version over a stored row keeps the stored nulls") {
    val newer = version(row(Some(2L), None, Some(4)))
    newer.provided = Array(true, true, false, true)
    val result = new PartialRule(EventTimeRule(layout), layout).merge(version(row(Some(1L), None, None)), newer)
    assert(nulls(result.row) == Seq("flag"))
  }
}
