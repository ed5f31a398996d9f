package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{HintInfo, JoinHint, NO_BROADCAST_AND_REPLICATION}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String
import org.roaringbitmap.longlong.Roaring64Bitmap

import scala.collection.mutable

/**
 * Finds source rows of which several want to change one row, and says which.
 *
 * @param table its name
 * @param key   ordinal of the record key in the rows that are looked at
 * @param path  ordinal of the partition path; -1 where the key alone counts
 * @param zone  of timestamps that are shown
 * @param shown names and expressions of what is shown of a row
 */
private[sql] final class CardinalityCheck(
    table: String,
    key: Int,
    path: Int,
    zone: Option[String],
    shown: Seq[(String, Expression)]
) extends Serializable {
  import CardinalityCheck._

  /** For rows that come in order of their key: to be asked in a task. */
  def watch(): Watch = new Watch

  final class Watch {
    private[this] var last: UTF8String     = _
    private[this] var lastPlace            = -1L
    private[this] var lastPath: UTF8String = _
    private[this] var lastRow: InternalRow = _
    private[this] val found                = mutable.LinkedHashMap.empty[String, mutable.ArrayBuffer[String]]

    /** @param place of the source row in the source */
    def see(row: InternalRow, place: Long): Unit = {
      val own = row.getUTF8String(key)
      if (last != null && own == last && (path < 0 || row.getUTF8String(path) == lastPath)) {
        if (place != lastPlace) {
          val name = own.toString
          if (found.contains(name) || found.size < MostKeys) {
            val rows = found.getOrElseUpdate(name, mutable.ArrayBuffer(text(lastRow)))
            if (rows.size < MostRows) rows += text(row)
          }
        }
      } else {
        last = own.copy()
        if (path >= 0) lastPath = row.getUTF8String(path).copy()
      }
      lastPlace = place
      lastRow = row.copy()
    }

    /** @throws MerganserException MERGE_CARDINALITY_VIOLATION */
    def finish(): Unit = if (found.nonEmpty) throw error(found.toSeq.map { case (k, rows) => (k, rows.toSeq) })
  }

  /**
   * Rows of a join, none of which may have a stored row that another one has.
   *
   * @param storedRow number of the stored row, or null
   */
  def checked(rows: RDD[InternalRow], storedRow: Expression): RDD[InternalRow] = rows.mapPartitions { it =>
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

  /** What [[checked]] has found, with keys and rows. */
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

  /** Where matches are counted, all of a stored row must come to one task. */
  def hint(storedRow: Option[Expression]): JoinHint =
    if (storedRow.isEmpty) JoinHint.NONE
    else JoinHint(leftHint = Some(HintInfo(Some(NO_BROADCAST_AND_REPLICATION))), rightHint = None)

  /** A row was matched again; which one is told by [[CardinalityCheck.described]]. */
  final class SeveralMatches extends RuntimeException("a stored row is matched by several source rows")

  def isCause(failure: Throwable): Boolean =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).exists(e =>
      e.isInstanceOf[SeveralMatches] || String.valueOf(e.getMessage).contains(classOf[SeveralMatches].getName))
}
