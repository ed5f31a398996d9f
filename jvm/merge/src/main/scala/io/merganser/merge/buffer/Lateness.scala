package io.merganser.merge.buffer

import io.merganser.merge.OrderingField
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * How far behind the stored row late-arriving versions were, by the first ordering field: numbers of keys by bucket. A
 * bucket is named by what the distances in it are below; times are in units of time, numbers in powers of ten.
 */
final case class Lateness(counts: Map[String, Long]) {
  def isEmpty: Boolean = counts.isEmpty

  def +(o: Lateness): Lateness =
    if (isEmpty) o
    else if (o.isEmpty) this
    else Lateness((counts.keySet ++ o.counts.keySet).map(k =>
        k -> (counts.getOrElse(k, 0L) + o.counts.getOrElse(k, 0L))).toMap)

  /** The buckets in ascending order of their distances. */
  def ascending: Seq[(String, Long)] = counts.toSeq.sortBy { case (name, _) => Lateness.rank(name) -> name }
}

object Lateness {
  val none: Lateness = Lateness(Map.empty)

  /** No value, or one of a type without distances, as of a string. */
  val NoDistance = "no distance"

  private val Times = Seq("under 1 second" -> 1L, "under 1 minute" -> 60L, "under 1 hour" -> 3600L,
    "under 1 day" -> 86400L, "under 7 days" -> 604800L, "under 30 days" -> 2592000L)
  private val Longest = "30 days or more"
  private val Numbers = (0 to 18).map(n => "under 1" + "0" * n)
  private val Largest = "1" + "0" * 18 + " or more"
  private val Order   = (Times.map(_._1) ++ Seq(Longest) ++ Numbers ++ Seq(Largest, NoDistance)).zipWithIndex.toMap

  private def rank(name: String): Int = Order.getOrElse(name, Order.size)

  /** @param micros not negative */
  private[buffer] def ofTime(micros: Double): String =
    Times.collectFirst { case (name, seconds) if micros < seconds * 1e6 => name }.getOrElse(Longest)

  /** @param distance not negative */
  private[buffer] def ofNumber(distance: Double): String =
    Numbers.indices.collectFirst { case n if distance < math.pow(10, n.toDouble) => Numbers(n) }.getOrElse(Largest)

  /** Counts versions; not thread safe. */
  final class Counter {
    private[this] val counted = mutable.HashMap.empty[String, Long]

    /** @param field the first ordering field */
    def add(field: OrderingField, stored: InternalRow, late: InternalRow): Unit = {
      val name = bucket(field.dataType, field.valueIn(stored), field.valueIn(late))
      counted(name) = counted.getOrElse(name, 0L) + 1
    }

    def result: Lateness = if (counted.isEmpty) none else Lateness(counted.toMap)

    private def bucket(dataType: DataType, stored: Any, late: Any): String = (dataType, stored, late) match {
      case (TimestampType | TimestampNTZType, a: Long, b: Long) => ofTime(distance(a, b))
      case (DateType, a: Int, b: Int)                           => ofTime((a.toLong - b) * 86400e6)
      case (_, a: Decimal, b: Decimal)                          => ofNumber(math.abs(a.toDouble - b.toDouble))
      case (_, a: Long, b: Long)                                => ofNumber(distance(a, b))
      case (_: NumericType, a: Number, b: Number)               => ofNumber(math.abs(a.doubleValue - b.doubleValue))
      case _                                                    => NoDistance
    }

    /** Exact where it fits. */
    private def distance(a: Long, b: Long): Double = {
      val difference = a - b
      if (((a ^ b) & (a ^ difference)) < 0) math.abs(a.toDouble - b.toDouble) else math.abs(difference.toDouble)
    }
  }
}
