package io.merganser.merge.payload

import io.merganser.merge._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Changes of a MySQL database: the larger position in the binary log wins, deletes too; on a tie, the newer version. A
 * position is a string `file.offset` of two numbers, and is compared as numbers.
 *
 * Laws: those of event time.
 */
case object MySqlDebezium extends ClassicPayload {
  override def orderingFields(table: Seq[String]): Seq[String] = Seq("_event_seq")

  override val markers: Seq[DeleteMarker] = Debezium.markers

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule =
    new EventTimeRule(new BinaryLogOrder(layout.orderingOrdinals.head))
}

/**
 * Orders rows by a string of numbers with points between them, number by number, of any number of digits. Null is the
 * smallest value; a string that is not such a position is smaller than every position, and two such are compared as
 * strings.
 */
final class BinaryLogOrder(ordinal: Int) extends RowOrder {
  import BinaryLogOrder._

  override def compare(a: InternalRow, b: InternalRow): Int =
    if (a.isNullAt(ordinal) || b.isNullAt(ordinal))
      java.lang.Boolean.compare(!a.isNullAt(ordinal), !b.isNullAt(ordinal))
    else comparePositions(a.getUTF8String(ordinal), b.getUTF8String(ordinal))

  private def comparePositions(a: UTF8String, b: UTF8String): Int = {
    val (bytesA, bytesB) = (a.getBytes, b.getBytes)
    val isPosition       = isNumbers(bytesA)
    if (isPosition != isNumbers(bytesB)) java.lang.Boolean.compare(isPosition, !isPosition)
    else if (isPosition) compareNumbers(bytesA, bytesB)
    else a.compareTo(b)
  }
}

private object BinaryLogOrder {

  private def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'

  private def isNumbers(text: Array[Byte]): Boolean = {
    var afterDigit = false
    var i          = 0
    while (i < text.length && (isDigit(text(i)) || (afterDigit && text(i) == '.'))) {
      afterDigit = isDigit(text(i))
      i += 1
    }
    afterDigit && i == text.length
  }

  private def compareNumbers(a: Array[Byte], b: Array[Byte]): Int = {
    var i        = 0
    var j        = 0
    var compared = 0
    while (compared == 0 && i < a.length && j < b.length) {
      val endA = numberEnd(a, i)
      val endB = numberEnd(b, j)
      compared = compareDigits(a, afterZeros(a, i, endA), endA, b, afterZeros(b, j, endB), endB)
      i = endA + 1
      j = endB + 1
    }
    if (compared != 0) compared else java.lang.Boolean.compare(i < a.length, j < b.length)
  }

  private def numberEnd(text: Array[Byte], from: Int): Int = {
    var i = from
    while (i < text.length && text(i) != '.') i += 1
    i
  }

  private def afterZeros(text: Array[Byte], from: Int, end: Int): Int = {
    var i = from
    while (i < end && text(i) == '0') i += 1
    i
  }

  /** Two numbers without leading zeros: more digits are more. */
  private def compareDigits(a: Array[Byte], fromA: Int, endA: Int, b: Array[Byte], fromB: Int, endB: Int): Int = {
    var compared = Integer.compare(endA - fromA, endB - fromB)
    var i        = 0
    while (compared == 0 && i < endA - fromA) {
      compared = Integer.compare(a(fromA + i).toInt, b(fromB + i).toInt)
      i += 1
    }
    compared
  }
}
