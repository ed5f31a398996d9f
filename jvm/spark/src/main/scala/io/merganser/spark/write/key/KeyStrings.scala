// On the row path: called from generated code, once a row and column.
package io.merganser.spark.write.key

import io.merganser.merge.MerganserException
import io.merganser.table.file.PartitionMetadata
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** Strings of keys and partition paths that Spark's own functions do not produce in exactly this form. */
object KeyStrings {

  val NullPart: UTF8String         = UTF8String.fromString("__null__")
  val EmptyPart: UTF8String        = UTF8String.fromString("__empty__")
  val DefaultPartition: UTF8String = UTF8String.fromString("__HIVE_DEFAULT_PARTITION__")

  /** ASCII characters that a URL-encoded path escapes; all others are left as they are. */
  private[this] val escaped: Array[Boolean] = {
    val flags = new Array[Boolean](128)
    (1 to 0x1f).foreach(flags(_) = true)
    flags(0x7f) = true
    "\"#%'*/:=?\\{[]^".foreach(flags(_) = true)
    flags
  }

  private[this] val Hex = "0123456789ABCDEF".getBytes(java.nio.charset.StandardCharsets.US_ASCII)

  /** Microseconds since 1970, of a timestamp with or without zone. */
  def micros(value: Long): UTF8String = UTF8String.fromString(java.lang.Long.toString(value))

  /** As `java.sql.Timestamp` prints it in the JVM's zone, truncated to milliseconds. */
  def timestamp(micros: Long): UTF8String =
    UTF8String.fromString(new java.sql.Timestamp(Math.floorDiv(micros, 1000L)).toString)

  /** As Hudi's SQL statements print a timestamp in a path: in the JVM's zone, truncated to seconds. */
  def seconds(micros: Long): UTF8String = {
    val time = java.time.Instant.ofEpochMilli(micros / 1000L).atZone(java.time.ZoneId.systemDefault)
    UTF8String.fromString(Seconds.format(time))
  }

  private[this] val Seconds = java.time.format.DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss")

  /** Every digit of the scale, never an exponent. */
  def decimal(value: Decimal): UTF8String = UTF8String.fromString(value.toJavaBigDecimal.toPlainString)

  /** A value inside a composite key. */
  def part(value: UTF8String): UTF8String =
    if (value == null) NullPart else if (value.numBytes == 0) EmptyPart else value

  /** One level of a partition path, not encoded. */
  def level(value: UTF8String): UTF8String =
    if (value == null || value.numBytes == 0) DefaultPartition else value

  /** One level of a partition path, encoded. */
  def encodedLevel(value: UTF8String): UTF8String =
    if (value == null || value.numBytes == 0) DefaultPartition else encode(value)

  private def encode(value: UTF8String): UTF8String = {
    val bytes = value.getBytes
    var found = 0
    var i     = 0
    while (i < bytes.length) {
      if (bytes(i) >= 0 && escaped(bytes(i))) found += 1
      i += 1
    }
    if (found == 0) value
    else {
      val out = new Array[Byte](bytes.length + 2 * found)
      var at  = 0
      i = 0
      while (i < bytes.length) {
        val b = bytes(i)
        if (b >= 0 && escaped(b)) {
          out(at) = '%'
          out(at + 1) = Hex(b >> 4)
          out(at + 2) = Hex(b & 15)
          at += 3
        } else {
          out(at) = b
          at += 1
        }
        i += 1
      }
      UTF8String.fromBytes(out)
    }
  }

  /**
   * Returns the path, unless a level of it is empty, leads out of the table, or is skipped when partitions are listed.
   *
   * @throws io.merganser.merge.MerganserException PARTITION_PATH_INVALID, PARTITION_PATH_NUL
   */
  def checkedPath(path: UTF8String): UTF8String = {
    val bytes = path.getBytes
    var start = 0
    var i     = 0
    while (i <= bytes.length) {
      if (i == bytes.length || bytes(i) == '/') {
        if (bytes.length > 0 && (i == start || (bytes(start) == '.' && isReserved(bytes, start, i - start))))
          throw MerganserException("PARTITION_PATH_INVALID", "path" -> path, "level" -> text(bytes, start, i - start))
        start = i + 1
      } else if (bytes(i) == 0)
        throw MerganserException("PARTITION_PATH_NUL", "path" -> path.toString.replace(0.toChar.toString, "\\0"))
      i += 1
    }
    path
  }

  private def isReserved(bytes: Array[Byte], start: Int, length: Int): Boolean =
    PartitionMetadata.isReserved(text(bytes, start, length))

  private def text(bytes: Array[Byte], start: Int, length: Int): String =
    new String(bytes, start, length, java.nio.charset.StandardCharsets.UTF_8)
}
