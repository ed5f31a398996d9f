package io.merganser.merge.buffer

import io.merganser.merge.{Notation, Version}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.scalatest.funsuite.AnyFunSuite

class BufferedVersionSuite extends AnyFunSuite {
  private val project = UnsafeProjection.create(Notation.schema)

  private def packed(change: String): UnsafeRow = project(Notation.row(Notation.change(change))).copy()

  test("a buffered version keeps its row when the reader overwrites its own") {
    val reused   = packed("k1@10=a")
    val buffered = new BufferedVersion().copyOf(new Version().set(reused, isDelete = false, isUnconditional = false))
    val expected = packed("k1@10=a")
    java.util.Arrays.fill(reused.getBaseObject.asInstanceOf[Array[Byte]], 0.toByte)
    assert(buffered.row == expected)
  }

  test("the next buffered version replaces the one before, whatever its length") {
    val holder = new BufferedVersion
    for (text <- Seq("a", "a" * 1000, "", "b" * 300, "b" * 5000)) {
      val row = packed(s"k1@10=$text")
      assert(holder.copyOf(new Version().set(row, isDelete = false, isUnconditional = false)).row == row)
    }
  }

  test("a buffered version has the attributes of its version and none of the earlier one") {
    val holder  = new BufferedVersion
    val partial = new Version().set(packed("k1@10=a"), isDelete = false, isUnconditional = false)
    partial.provided = Array.fill(Notation.schema.length)(true)
    partial.inserts = true
    partial.endsHistory = true
    val first = holder.copyOf(partial)
    assert((first.provided eq partial.provided) && first.inserts && first.endsHistory && !first.isDelete)
    val second = holder.copyOf(new Version().set(packed("k2@10=a"), isDelete = true, isUnconditional = true))
    assert(
      second.provided == null && !second.inserts && !second.endsHistory && second.isDelete && second.isUnconditional)
  }
}
