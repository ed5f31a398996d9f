package io.merganser.spark.prune

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * Ranges of a batch's keys: at most [[KeyRanges.Most]] closed, disjoint intervals of key strings, in order, that cover
 * all keys. Few keys are covered exactly; of many, the widest gaps between them stay uncovered.
 *
 * @param starts first keys of the intervals, UTF-8
 * @param ends   last keys of the intervals, UTF-8
 */
private[spark] final class KeyRanges private (
    private val starts: Array[UTF8String],
    private val ends: Array[UTF8String]
) extends Serializable {

  /**
   * Whether a key may lie between `min` and `max`.
   *
   * @param min smallest key of a file; None if its writer did not record it
   */
  def overlaps(min: Option[String], max: Option[String]): Boolean = {
    val from = min.map(k => KeyRanges.firstAtLeast(ends, UTF8String.fromString(k))).getOrElse(0)
    from < starts.length && max.forall(k => starts(from).compareTo(UTF8String.fromString(k)) <= 0)
  }

  def overlaps(min: UTF8String, max: UTF8String): Boolean = {
    val from = KeyRanges.firstAtLeast(ends, min)
    from < starts.length && starts(from).compareTo(max) <= 0
  }

  def ++(other: KeyRanges): KeyRanges = {
    val both = (starts ++ other.starts).zip(ends ++ other.ends).sortWith((a, b) => a._1.compareTo(b._1) < 0)
    KeyRanges.joined(both)
  }
}

private[spark] object KeyRanges {

  /** Whether the type is an integer type, whose values as strings are keys. */
  def areIntegers(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _                                             => false
  }

  /** Maximum number of intervals that a task sends to the driver. */
  final val Most = 256

  private final val Pending = 1024

  /** Collects the keys of a task, in any order. */
  final class Builder {
    private[this] var known   = new KeyRanges(Array.empty, Array.empty)
    private[this] val pending = mutable.HashSet.empty[UTF8String]

    /** @param key may be overwritten afterwards */
    def add(key: UTF8String): Unit = {
      val at = firstAtLeast(known.ends, key)
      if ((at == known.starts.length || known.starts(at).compareTo(key) > 0) && !pending.contains(key)) {
        pending += key.copy()
        if (pending.size >= Pending) fold()
      }
    }

    def result(): KeyRanges = {
      fold()
      known
    }

    private def fold(): Unit = {
      val keys = pending.toArray
      java.util.Arrays.sort(keys.asInstanceOf[Array[AnyRef]])
      known = known ++ new KeyRanges(keys, keys)
      pending.clear()
    }
  }

  /** Index of the first element that is not below the key; the length if all are below. */
  private def firstAtLeast(ordered: Array[UTF8String], key: UTF8String): Int = {
    var (low, high) = (0, ordered.length)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (ordered(middle).compareTo(key) < 0) low = middle + 1 else high = middle
    }
    low
  }

  /** @param ordered by first key; may overlap */
  private def joined(ordered: Array[(UTF8String, UTF8String)]): KeyRanges = {
    val starts = mutable.ArrayBuffer.empty[UTF8String]
    val ends   = mutable.ArrayBuffer.empty[UTF8String]
    for ((start, end) <- ordered)
      if (ends.isEmpty || ends.last.compareTo(start) < 0) {
        starts += start
        ends += end
      } else if (ends.last.compareTo(end) < 0) ends(ends.length - 1) = end
    if (starts.length <= Most) new KeyRanges(starts.toArray, ends.toArray)
    else withWidestGaps(starts.toArray, ends.toArray)
  }

  private def withWidestGaps(starts: Array[UTF8String], ends: Array[UTF8String]): KeyRanges = {
    val shared = commonPrefix(starts.head.getBytes, ends.last.getBytes)
    val gaps   = (1 until starts.length).map(i => (number(starts(i), shared) - number(ends(i - 1), shared), i))
    val kept   = gaps.sortBy(-_._1).take(Most - 1).map(_._2).sorted.toArray
    new KeyRanges((0 +: kept).map(starts), kept.map(i => ends(i - 1)) :+ ends.last)
  }

  private def commonPrefix(a: Array[Byte], b: Array[Byte]): Int = {
    var i = 0
    while (i < a.length && i < b.length && a(i) == b(i)) i += 1
    i
  }

  /** The eight bytes after a prefix as a number, so that two keys have a distance. */
  private def number(key: UTF8String, prefix: Int): Double = {
    val bytes  = key.getBytes
    var result = 0.0
    var i      = prefix
    while (i < prefix + 8) {
      result = result * 256 + (if (i < bytes.length) bytes(i) & 0xff else 0)
      i += 1
    }
    result
  }
}
