package io.merganser.table.index

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import scala.annotation.tailrec
import scala.collection.mutable.ArrayBuffer

/** The bucket of a record key; every engine that writes the table computes the same number. */
object BucketIndex {

  /**
   * @param recordKey  the record key as a string: the value alone, or `field:value,field:value`
   * @param hashFields the key fields whose values are hashed
   * @param buckets    number of buckets of a partition
   * @return the bucket, from 0 to `buckets` - 1
   */
  def bucket(recordKey: String, hashFields: Seq[String], buckets: Int): Int = {
    val hash =
      hashed(recordKey, hashFields).foldLeft(1)((h, value) => 31 * h + (if (value == null) 0 else value.hashCode))
    (hash & Int.MaxValue) % buckets
  }

  /** The same, without decoding a plain ASCII key to a String. */
  def bucket(recordKey: UTF8String, hashFields: Seq[String], buckets: Int): Int = {
    val length   = recordKey.numBytes
    var hash     = 0
    var isAscii  = true
    var hasComma = false
    var hasColon = false
    var i        = 0
    while (isAscii && i < length) {
      val b = Platform.getByte(recordKey.getBaseObject, recordKey.getBaseOffset + i)
      hash = 31 * hash + b
      isAscii = b >= 0
      if (b == ',') hasComma = true else if (b == ':') hasColon = true
      i += 1
    }
    if (!isAscii) bucket(recordKey.toString, hashFields, buckets)
    else if (hasComma && hasColon) (hashOfParts(recordKey.getBytes, hashFields) & Int.MaxValue) % buckets
    else (31 + hash & Int.MaxValue) % buckets
  }

  /** The hash of [[hashed]] for an ASCII key with a comma and a colon. */
  private def hashOfParts(key: Array[Byte], hashFields: Seq[String]): Int = {
    var hash     = 1
    var isHashed = false
    var position = 0
    while (position < key.length) {
      val colon = indexOf(key, ':', position)
      val comma = endOfValue(key, colon, indexOf(key, ':', colon + 1))
      val end   = if (comma < 0) key.length else comma
      if (isAny(key, position, colon, hashFields)) {
        isHashed = true
        val isEmpty = isAt(key, colon + 1, end, NullPart) || isAt(key, colon + 1, end, EmptyPart)
        hash = 31 * hash + (if (isEmpty) 0 else hashOf(key, colon + 1, end))
      }
      position = if (comma < 0) end else comma + 1
    }
    if (isHashed) hash else 31 + hashOf(key, 0, key.length)
  }

  /** As `String.hashCode`. */
  private def hashOf(key: Array[Byte], from: Int, until: Int): Int = {
    var hash = 0
    var i    = from
    while (i < until) {
      hash = 31 * hash + key(i)
      i += 1
    }
    hash
  }

  private def isAny(key: Array[Byte], from: Int, until: Int, texts: Seq[String]): Boolean = {
    val each  = texts.iterator
    var found = false
    while (!found && each.hasNext) found = isAt(key, from, until, each.next())
    found
  }

  private def isAt(key: Array[Byte], from: Int, until: Int, text: String): Boolean =
    until - from == text.length && {
      var i = 0
      while (i < text.length && key(from + i) == text.charAt(i)) i += 1
      i == text.length
    }

  /** -1 if there is none. */
  private def indexOf(key: Array[Byte], char: Char, from: Int): Int = {
    var i = from
    while (i < key.length && key(i) != char) i += 1
    if (i < key.length) i else -1
  }

  @tailrec private def endOfValue(key: Array[Byte], colon: Int, nextColon: Int): Int =
    if (nextColon < 0) -1
    else {
      var comma = nextColon
      while (comma > colon && key(comma) != ',') comma -= 1
      if (comma > colon) comma else endOfValue(key, colon, indexOf(key, ':', nextColon + 1))
    }

  /**
   * The strings that are hashed; null for a null value.
   *
   * A key without a comma or without a colon, such as `id:1`, is hashed as a whole. Any other is parsed from the left,
   * whatever the table's key fields: a name ends at its colon, and its value before the last comma that precedes a
   * later colon. The values of the hash fields are hashed, in the key's order; without any, the whole key.
   */
  private[index] def hashed(recordKey: String, hashFields: Seq[String]): Seq[String] =
    if (recordKey.indexOf(',') < 0 || recordKey.indexOf(':') < 0) Seq(recordKey)
    else {
      val values   = ArrayBuffer.empty[String]
      var position = 0
      while (position < recordKey.length) {
        val colon = recordKey.indexOf(':', position)
        val comma = endOfValue(recordKey, colon, recordKey.indexOf(':', colon + 1))
        val end   = if (comma < 0) recordKey.length else comma
        if (hashFields.contains(recordKey.substring(position, colon)))
          values += value(recordKey.substring(colon + 1, end))
        position = if (comma < 0) end else comma + 1
      }
      if (values.isEmpty) Seq(recordKey) else values.toSeq
    }

  /** The comma that ends the value after `colon`; -1 if the value is the rest of the key. */
  @tailrec private def endOfValue(key: String, colon: Int, nextColon: Int): Int =
    if (nextColon < 0) -1
    else {
      val comma = key.lastIndexOf(',', nextColon)
      if (comma > colon) comma else endOfValue(key, colon, key.indexOf(':', nextColon + 1))
    }

  private def value(encoded: String): String = encoded match {
    case NullPart  => null
    case EmptyPart => ""
    case other     => other
  }

  private val NullPart  = "__null__"
  private val EmptyPart = "__empty__"
}
