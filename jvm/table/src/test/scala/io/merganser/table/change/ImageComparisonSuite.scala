package io.merganser.table.change

import io.merganser.table.Rows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

final class ImageComparisonSuite extends AnyFunSuite {
  private val columns = new StructType().add("v", StringType)

  /** Rows `key=value` in the order given; one row object for all, as readers have it. */
  private def rows(text: String): Iterator[InternalRow] = {
    val row = Rows.row(null, null)
    text.split(' ').iterator.filter(_.nonEmpty).map { item =>
      val (key, value) = (item.takeWhile(_ != '='), item.drop(item.indexOf('=') + 1))
      row.update(0, if (value == "null") null else UTF8String.fromString(value))
      row.update(1, UTF8String.fromString(key))
      row
    }
  }

  private def changes(before: String, after: String): String = {
    val found = new ImageComparison(rows(before), rows(after), new ImageProjections(columns, keyOrdinal = 1))
    def show(row: UnsafeRow) = if (row == null) "-" else if (row.isNullAt(0)) "null" else row.getUTF8String(0).toString
    Iterator.continually(found).takeWhile(_.next()).map(c => s"${show(c.beforeImage)}>${show(c.afterImage)}").mkString(
      " ")
  }

  test("a key on one side is an insert or a delete, and one with different rows an update") {
    assert(changes("a=1 b=2 d=4", "b=3 c=5 d=4") == "1>- 2>3 ->5")
    assert(changes("", "a=1 b=null") == "->1 ->null")
    assert(changes("a=1", "") == "1>-")
    assert(changes("a=null b=1", "a=1 b=null") == "null>1 1>null")
  }

  test("equal states give no change") {
    assert(changes("a=1 b=2", "a=1 b=2") == "" && changes("", "") == "")
  }

  test("equal rows of a duplicate key are paired first, others in their order") {
    assert(changes("a=1 a=2 b=1", "a=2 b=1") == "1>-")
    assert(changes("a=1", "a=1 a=1") == "->1")
    assert(changes("a=1 a=2 a=3 c=1", "a=3 a=4 a=5 a=6 c=2") == "1>4 2>5 ->6 1>2")
  }
}
