package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.nio.charset.StandardCharsets.UTF_8
import scala.util.Random

class StringBytesSuite extends AnyFunSuite {
  private val schema = new StructType().add("n", LongType).add("text", StringType)

  private def packed(text: String): InternalRow = UnsafeProjection.create(schema)(generic(text)).copy()

  private def generic(text: String): InternalRow = new GenericInternalRow(Array[Any](7L, UTF8String.fromString(text)))

  private def columnar(text: String): InternalRow = {
    val columns = OnHeapColumnVector.allocateColumns(2, schema)
    columns(0).putLong(1, 7L)
    columns(1).putByteArray(0, Array[Byte](1, 2, 3)) // so that the text does not lie at the beginning
    columns(1).putByteArray(1, text.getBytes(UTF_8))
    new ColumnarBatch(columns.toArray[ColumnVector], 2).getRow(1)
  }

  private val forms: Seq[String => InternalRow] = Seq(packed, generic, columnar)

  private def unsigned(a: String, b: String): Int = {
    val (x, y) = (a.getBytes(UTF_8).map(_ & 0xff), b.getBytes(UTF_8).map(_ & 0xff))
    x.zip(y).collectFirst { case (i, j) if i != j => i - j }.getOrElse(x.length - y.length)
  }

  /** Texts of every length around a word, equal ones, ones that differ in one place, and bytes above 127. */
  private val pairs: Seq[(String, String)] = {
    val random = new Random(11)
    val bases =
      (0 to 40).map(n => Iterator.continually("ab\u007f\u00e9\u4e2d".charAt(random.nextInt(5))).take(n).mkString)
    bases.flatMap { text =>
      val changed = if (text.isEmpty) "x" else text.updated(random.nextInt(text.length), 'c')
      Seq(text -> text, text -> changed, changed -> text, text -> (text + "a"), (text + "\u00e9") -> text)
    }
  }

  test("strings of rows of any class are compared by their unsigned bytes") {
    for ((a, b) <- pairs; formA <- forms; formB <- forms)
      assert(Integer.signum(StringBytes.compare(formA(a), formB(b), 1)) == Integer.signum(unsigned(a, b)),
        s"'$a' and '$b'")
  }

  test("strings are equal when all of their bytes are") {
    for ((a, b) <- pairs; form <- forms) {
      val other = UTF8String.fromString(b)
      assert(StringBytes.areEqual(form(a), 1, other.getBaseObject, other.getBaseOffset, other.numBytes) == (a == b),
        s"'$a' and '$b'")
    }
  }

  test("equal strings have equal hashes in any memory, and the tested different ones differ") {
    def hash(text: UTF8String) = StringBytes.hash(text.getBaseObject, text.getBaseOffset, text.numBytes)
    val texts                  = pairs.flatMap { case (a, b) => Seq(a, b) }.distinct
    for (text <- texts) assert(hash(UTF8String.fromString(text)) == hash(columnar(text).getUTF8String(1)))
    assert(texts.map(text => hash(UTF8String.fromString(text))).distinct.size == texts.size)
  }
}
