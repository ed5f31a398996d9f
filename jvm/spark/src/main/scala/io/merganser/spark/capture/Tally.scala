package io.merganser.spark.capture

import io.merganser.spark.capture.EventBatch._
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * The events of a batch in numbers.
 *
 * @param kinds   events by their kind
 * @param moved   events that changed a key
 * @param sources names of the source's tables
 * @param lacking columns whose values events lack
 */
private[capture] final case class Tally(
    kinds: Map[String, Long],
    moved: Long,
    sources: Seq[String],
    lacking: Seq[String]
) {
  def events: Long              = kinds.values.sum
  def count(kind: String): Long = kinds.getOrElse(kind, 0L)

  /** Those of the kinds that begin with a prefix, without it. */
  def counts(prefix: String): Seq[(String, Long)] =
    kinds.toSeq.collect { case (kind, count) if kind.startsWith(prefix) => kind.stripPrefix(prefix) -> count }.sorted

  private def ++(other: Tally): Tally = Tally(
    (kinds.keySet ++ other.kinds.keySet).map(kind => kind -> (count(kind) + other.count(kind))).toMap,
    moved + other.moved,
    (sources ++ other.sources).distinct.sorted,
    (lacking ++ other.lacking).distinct.sorted
  )
}

private[capture] object Tally {

  /** Counts the events of a batch in one job. */
  def of(events: DataFrame): Tally = {
    val shown = events.select(col(Kind), col(OldKey).isNotNull, col(Source), col(Lacks)).queryExecution.toRdd
    Partitions.reduce(shown)(rows => Iterator(ofRows(rows)))(_ ++ _).getOrElse(Tally(Map.empty, 0, Nil, Nil))
  }

  private def ofRows(rows: Iterator[InternalRow]): Tally = {
    val kinds                                                       = mutable.Map.empty[UTF8String, Array[Long]]
    val sources, lacking                                            = mutable.Set.empty[UTF8String]
    def add(names: mutable.Set[UTF8String], name: UTF8String): Unit = if (!names(name)) names += name.copy()
    var moved                                                       = 0L
    rows.foreach { row =>
      val kind = row.getUTF8String(0)
      kinds.get(kind).fold(kinds(kind.copy()) = Array(1L))(count => count(0) += 1)
      if (row.getBoolean(1)) moved += 1
      if (!row.isNullAt(2)) add(sources, row.getUTF8String(2))
      if (!row.isNullAt(3)) {
        val columns = row.getArray(3)
        (0 until columns.numElements).foreach(at => add(lacking, columns.getUTF8String(at)))
      }
    }
    Tally(kinds.map { case (kind, count) => kind.toString -> count(0) }.toMap, moved,
      sources.map(_.toString).filter(_.nonEmpty).toSeq, lacking.map(_.toString).toSeq)
  }
}
