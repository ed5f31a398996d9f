// Hot path: one call per decimal value.
package io.merganser.table.avro

import org.apache.spark.sql.types.{Decimal, DecimalType}

/**
 * Encodes decimals of one type as big-endian two's complement of fixed length.
 *
 * @param size the length in bytes
 */
private[table] final class DecimalBytes(dataType: DecimalType, size: Int) {
  private[this] val precision = dataType.precision
  private[this] val scale     = dataType.scale
  private[this] val bytes     = new Array[Byte](size)

  def this(dataType: DecimalType) = this(dataType, AvroSchemas.bytesForPrecision(dataType.precision))

  /** The value's bytes; the next call overwrites the array. */
  def encode(value: Decimal): Array[Byte] = {
    if (precision <= Decimal.MAX_LONG_DIGITS && value.scale == scale) encodeLong(value.toUnscaledLong)
    else encodeBig(value.toJavaBigDecimal.setScale(scale).unscaledValue.toByteArray)
    bytes
  }

  private[this] def encodeLong(unscaled: Long): Unit = {
    var rest = unscaled
    var i    = bytes.length - 1
    while (i >= 0) {
      bytes(i) = rest.toByte
      rest >>= 8
      i -= 1
    }
  }

  private[this] def encodeBig(unscaled: Array[Byte]): Unit = {
    if (unscaled.length > bytes.length)
      throw new IllegalStateException(s"a decimal of ${unscaled.length} bytes in a column of precision $precision")
    val sign  = if (unscaled(0) < 0) 0xff.toByte else 0.toByte
    val start = bytes.length - unscaled.length
    java.util.Arrays.fill(bytes, 0, start, sign)
    System.arraycopy(unscaled, 0, bytes, start, unscaled.length)
  }
}
