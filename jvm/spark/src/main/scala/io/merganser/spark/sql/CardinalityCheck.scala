package io.merganser.spark.sql

import io.merganser.merge.{Causes, MerganserException}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{HintInfo, JoinHint, NO_BROADCAST_AND_REPLICATION}
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String
import org.roaringbitmap.longlong.Roaring64Bitmap

import scala.collection.mutable

/**
 * Detects source rows that change the same stored row, and names them in an error.
 *
 * @param table name of the table, for the error
 * @param key   ordinal of the record key in the checked rows
 * @param path  ordinal of the partition path; -1 where the key alone identifies a row
 * @param zone  time zone of timestamps in the error
 * @param shown names and expressions of the values that the error shows per row
 */
private[sql] final class CardinalityCheck(
    table: String,
    key: Int,
    path: Int,
    zone: Option[String],
    shown: Seq[(String, Expression)]
) extends Serializable {
  import CardinalityCheck._

  /** A check of rows that are sorted by key; used in one task. */
  def watch(): Watch = new Watch

  final class Watch {
    private[this] var last: UTF8String     = _
    private[this] var lastPlace            = -1L
    private[this] var lastPath: UTF8String = _
    private[this] var lastRow: InternalRow = _
    private[this] val found                = mutable.LinkedHashMap.empty[String, mutable.ArrayBuffer[String]]

    /** @param place position of the source row in the source */
    def see(row: InternalRow, place: Long): Unit = {
      val rowKey = row.getUTF8String(key)
      if (last != null && rowKey == last && (path < 0 || row.getUTF8String(path) == lastPath)) {
        if (place != lastPlace) {
          val name = rowKey.toString
          if (found.contains(name) || found.size < MostKeys) {
            val rows = found.getOrElseUpdate(name, mutable.ArrayBuffer(text(lastRow)))
            if (rows.size < MostRows) rows += text(row)
          }
        }
      } else {
        last = rowKey.copy()
        if (path >= 0) lastPath = row.getUTF8String(path).copy()
      }
      lastPlace = place
      lastRow = row.copy()
    }

    /** @throws MerganserException MERGE_CARDINALITY_VIOLATION */
    def finish(): Unit = if (found.nonEmpty) throw error(found.toSeq.map { case (k, rows) => (k, rows.toSeq) })
  }

  /**
   * Passes on the rows of a join; fails with [[SeveralMatches]] if two of them have the same stored row.
   *
   * @param storedRow number of the stored row, or null
   */
  def checked(rows: RDD[InternalRow], storedRow: Expression): RDD[InternalRow] = Partitions.map(rows) { it =>
    val seen = new Roaring64Bitmap
    it.map { row =>
      val number = storedRow.eval(row)
      if (number != null) {
        val stored = number.asInstanceOf[Long]
        if (seen.contains(stored)) throw new SeveralMatches
        seen.addLong(stored)
      }
      row
    }
  }

  /** The error for what [[checked]] detected, with keys and rows. */
  def described(rows: RDD[InternalRow], storedRow: Expression): MerganserException = {
    val found = rows
      .flatMap(row =>
        Option(storedRow.eval(row)).map(n => (n.asInstanceOf[Long], (row.getUTF8String(key).toString, text(row)))))
      .groupByKey()
      .filter(_._2.size > 1)
      .take(MostKeys)
    error(found.toSeq.map { case (_, several) => (several.head._1, several.map(_._2).take(MostRows).toSeq) })
  }

  private def text(row: InternalRow): String =
    shown.map { case (name, e) => s"$name=${Cast(e, StringType, zone).eval(row)}" }.mkString("(", ", ", ")")

  private def error(found: Seq[(String, Seq[String])]): MerganserException =
    MerganserException("MERGE_CARDINALITY_VIOLATION", "table" -> table,
      "rows" -> found.map { case (name, rows) => s"$name: ${rows.mkString(" and ")}" }.mkString("; "))
}

private[sql] object CardinalityCheck {
  private val MostKeys = 10
  private val MostRows = 4

  /** Where matches are checked, all matches of a stored row must be in one task. */
  def hint(storedRow: Option[Expression]): JoinHint =
    if (storedRow.isEmpty) JoinHint.NONE
    else JoinHint(leftHint = Some(HintInfo(Some(NO_BROADCAST_AND_REPLICATION))), rightHint = None)

  /** A stored row was matched a second time; [[CardinalityCheck.described]] names it. */
  final class SeveralMatches extends RuntimeException("a stored row is matched by several source rows")

  def isCause(failure: Throwable): Boolean =
    Causes.of(failure).exists(e =>
      e.isInstanceOf[SeveralMatches] || String.valueOf(e.getMessage).contains(classOf[SeveralMatches].getName))
}
