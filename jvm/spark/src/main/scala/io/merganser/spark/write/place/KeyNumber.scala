// Hot path: called from generated code, once a row.
package io.merganser.spark.write.place

import io.merganser.spark.write.key.KeyColumns
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * A number by which rows are sorted before their file group and record key, and that never contradicts these. Spark's
 * sort compares the first eight bytes of what it sorts by, and looks at rows only where they tie: composite keys all
 * begin with the name of their first field.
 *
 * @param start    what most keys begin with
 * @param isNumber whether digits follow
 */
private[write] final case class KeyNumber(start: String, isNumber: Boolean) {

  /**
   * The number as an expression.
   *
   * @param group number of the row's file group, not negative
   * @param key   the record key
   */
  def of(group: Expression, key: Expression): Expression =
    StaticInvoke(KeyNumber.getClass, LongType, "number", Seq(group, key, Literal(start), Literal(isNumber)),
      propagateNull = false, returnNullable = false)
}

private[write] object KeyNumber {
  private val KeyBits = 48
  private val MostKey = (1L << KeyBits) - 1

  /** Groups from this one on share a number. */
  private val LastGroup = (1 << 15) - 1

  def apply(config: TableConfig, schema: StructType): KeyNumber = {
    val first = config.recordKeyFields.headOption.flatMap(FrameCheck.find(schema, _)).map(_.dataType)
    val isNumber = first.exists {
      case ByteType | ShortType | IntegerType | LongType | _: DecimalType => true
      case _                                                              => false
    }
    KeyNumber(KeyColumns.start(config), isNumber)
  }

  /** See [[KeyNumber.of]]. */
  def number(group: Int, key: UTF8String, start: UTF8String, isNumber: Boolean): Long =
    if (group >= LastGroup) LastGroup.toLong << KeyBits
    else (group.toLong << KeyBits) | ofKey(key, start, isNumber)

  private def ofKey(key: UTF8String, start: UTF8String, isNumber: Boolean): Long =
    if (!key.startsWith(start)) if (key.compareTo(start) < 0) 0L else MostKey
    else if (isNumber) digits(key, start.numBytes)
    else bytes(key, start.numBytes)

  private def byteAt(key: UTF8String, i: Int): Int = Platform.getByte(key.getBaseObject, key.getBaseOffset + i) & 0xff

  /** The first six bytes. */
  private def bytes(key: UTF8String, start: Int): Long = {
    val length = key.numBytes
    var found  = 0L
    var i      = 0
    while (i < 6) {
      found = (found << 8) | (if (start + i < length) byteAt(key, start + i) else 0)
      i += 1
    }
    found
  }

  /** Four bits for each of the first twelve digits, up to the first byte that is not a digit. */
  private def digits(key: UTF8String, start: Int): Long = {
    val length = key.numBytes
    var found  = 0L
    var i      = 0
    var at     = start
    while (i < 12) {
      var code = 0
      if (at < length) {
        val byte = byteAt(key, at)
        code = if (byte < '0') 1 else if (byte <= '9') byte - '0' + 2 else 12
        at = if (code == 1 || code == 12) length else at + 1
      }
      found = (found << 4) | code
      i += 1
    }
    found
  }
}
