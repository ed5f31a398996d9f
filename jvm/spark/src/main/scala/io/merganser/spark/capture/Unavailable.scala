package io.merganser.spark.capture

import io.merganser.spark.capture.EventBatch._
import io.merganser.spark.capture.EventKind._
import io.merganser.spark.capture.Expressions._
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * What becomes of the events of a batch that lack values.
 *
 *  - An update of a row that is stored, or is in front of it in the batch, stays as it is: the table's rule takes the
 *    value from there.
 *  - A row with a new key takes the value from the row of its old key as of the change. The old key is that of the one
 *    delete at the same position, or is in the event itself.
 *  - An event after which the batch or the table has a whole row or a delete of its key stays as it is: it loses.
 *  - Others are refused: VALUE_UNAVAILABLE. The placeholder is never stored.
 *
 * What versions of one row result in is still decided by the table's rule.
 *
 * @param lacking columns whose values events lack
 */
private[capture] final class Unavailable(
    session: SparkSession,
    target: ChangeTarget,
    lacking: Seq[String],
    persisted: Persisted
) {
  import Unavailable._

  private val columns = lacking.zipWithIndex

  /** The events of a batch, which are persisted, with these values, or refused. */
  def resolved(events: DataFrame): DataFrame = {
    @scala.annotation.tailrec
    def settle(events: DataFrame, unresolved: Long): DataFrame = {
      val found = persisted(filled(events))
      val left  = found.where(col(Unresolved).isNotNull).count()
      // A row that was filled may have the value for the next key of its row.
      if (left == 0 || left == unresolved) found else settle(found.drop(Unresolved), left)
    }
    val isRefused = col(Unresolved).isNotNull
    settle(events, -1L)
      .withColumn(Kind, when(isRefused, s"${Refused}VALUE_UNAVAILABLE").otherwise(col(Kind)))
      .withColumn(Detail, when(isRefused, col(Unresolved)).otherwise(col(Detail)))
      .withColumn(OldKey, when(!isRefused, col(OldKey)))
      .drop(Unresolved)
  }

  /** The events with what one pass finds, and a column with the names of what it does not find. */
  private def filled(events: DataFrame): DataFrame = {
    val lacks = present(
      columns.map { case (column, at) => when(col(s"f$at").isNull && array_contains(col(Lacks), column), column) },
      StringType)
    val found = columns.map { case (column, at) =>
      column -> when(col(s"f$at").isNotNull, col(s"f$at.v")).otherwise(named(column))
    }.toMap + (Lacks -> lacks)
    val lost = concat_ws(", ", columns.map { case (column, at) => when(col(s"u$at"), column) }: _*)
    events.join(outcome(events), Seq(Arrival), "left").select(
      events.columns.toSeq.map(name => found.getOrElse(name, named(name)).as(name)) :+
        nullif(lost, lit("")).as(Unresolved): _*)
  }

  /** For each event that lacks values: the value of each column that was found, and whether there is none. */
  private def outcome(events: DataFrame): DataFrame = {
    val keyed  = this.keyed(events)
    val marked = this.marked(keyed)
    def probes(key: String, isOwn: Boolean) =
      marked.where(col(key).isNotNull).select(col(key).as("k"), col("p"), col(Arrival).as("id"), col(Lacks),
        (if (isOwn) col("o").isNotNull else lit(true)).as("moved"), lit(isOwn).as("own"))
    val rows   = versions(keyed, marked)
    val points = probes("k", isOwn = true).unionByName(probes("o", isOwn = false))
    val before = Window.partitionBy("k").orderBy("p", "f").rowsBetween(Window.unboundedPreceding, -1)
    val after  = Window.partitionBy("k").orderBy("p", "f").rowsBetween(1, Window.unboundedFollowing)
    val seen = rows.withColumn("f", lit(1)).unionByName(points.withColumn("f", lit(0)), allowMissingColumns = true)
      .select(Seq("id", "moved", "own", Lacks).map(col) ++
          columns.map { case (_, at) => last(col(s"v$at"), ignoreNulls = true).over(before).as(s"v$at") } :+
          holds(max("whole").over(after)).as("loses"): _*)
      .where(col("id").isNotNull)
    val results = columns.flatMap { case (column, at) =>
      val isLacking = array_contains(col(Lacks), column)
      val isThere   = holds(col(s"v$at.there"))
      val value     = when(col("moved") && !col("own") && isLacking && isThere, col(s"v$at"))
      val isKnown   = (isThere && col("own") =!= col("moved")) || (col("own") && col("loses"))
      Seq(first(value, ignoreNulls = true).as(s"f$at"), (max(isLacking) && !max(isKnown)).as(s"u$at"))
    }
    seen.groupBy(col("id").as(Arrival)).agg(results.head, results.tail: _*)
  }

  /** The events that lack values, with the key that their row had before. */
  private def marked(keyed: DataFrame): DataFrame = {
    // A repeated delete is the same delete; two keys that are left at one position do not show which is this row's.
    val left = keyed.where(col(Kind) === Delete).groupBy("p").agg(min("k").as("lo"), max("k").as("hi"))
    val lost = when(col("lo") === col("hi") && col("lo") =!= col("k"), col("lo"))
    keyed.where(col(Lacks).isNotNull && col(Kind) === Upsert).join(left, Seq("p"), "left")
      .select(col(Arrival), col("k"), col("p"), col(Lacks), coalesce(col("o"), lost).as("o"))
  }

  /** The versions of rows in the batch and in the table by key and position. */
  private def versions(keyed: DataFrame, marked: DataFrame): DataFrame = {
    val own   = marked.select("k").distinct()
    val moved = marked.where(col("o").isNotNull)
    val old   = moved.select(col("o").as("k")).distinct()
    val batch = ofBatch(keyed.where(col(Kind).isin(Upsert, Delete)))
    if (moved.isEmpty) batch.unionByName(stored(keyed, own, hasValues = false))
    else
      batch.unionByName(stored(keyed, old, hasValues = true))
        .unionByName(stored(keyed, own.join(old, Seq("k"), "left_anti"), hasValues = false))
  }

  /** The events with their key, their position and their old key as structs. */
  private def keyed(events: DataFrame): DataFrame = {
    val read = events.withColumn("k", position(target.keys.map(at))).withColumn("p", position(target.ordering.map(at)))
    val old = events.schema(OldKey).dataType match {
      case _: StructType => when(col(OldKey).isNotNull, position(target.keys.map(col(OldKey).getField(_))))
      case _             => lit(null)
    }
    read.withColumn("o", old.cast(read.schema("k").dataType))
  }

  /** The versions of rows in the batch: a value where it is there, and none after a delete. */
  private def ofBatch(keyed: DataFrame): DataFrame = {
    def absent(column: String) = version(nothing(keyed.schema(column).dataType), isThere = false)
    val own = columns.map { case (column, at) =>
      when(col(Kind) === Delete, absent(column))
        .when(!holds(array_contains(col(Lacks), column)), version(named(column), isThere = true)).as(s"v$at")
    }
    val gone  = columns.map { case (column, at) => absent(column).as(s"v$at") }
    val whole = (col(Kind) === Delete || col(Lacks).isNull).as("whole")
    keyed.select(Seq(col("k"), col("p"), whole) ++ own: _*).unionByName(
      keyed.where(col("o").isNotNull).select(Seq(col("o").as("k"), col("p"), lit(true).as("whole")) ++ gone: _*))
  }

  /** The stored rows of some keys, with the values of the columns or only with the note that they are there. */
  private def stored(keyed: DataFrame, keys: DataFrame, hasValues: Boolean): DataFrame = {
    val table = session.read.format("merganser").load(target.path)
    val near  = keys.limit(Literals + 1).collect().map(_.getStruct(0))
    val rows =
      if (near.length > Literals) table
      else target.keys.zipWithIndex.filterNot(_._1.contains('.')).foldLeft(table) { case (rows, (key, number)) =>
        rows.where(named(key).isin(near.map(_.get(number)).toIndexedSeq: _*))
      }
    val values = columns.map { case (column, at) =>
      val name = if (hasValues) spelled(rows.columns.toSeq, column) else None
      version(name.fold(lit(null))(named).cast(keyed.schema(column).dataType), isThere = true).as(s"v$at")
    }
    def own(fields: Seq[String], name: String) = position(fields.map(at)).cast(keyed.schema(name).dataType).as(name)
    rows.select(Seq(own(target.keys, "k"), own(target.ordering, "p"), lit(true).as("whole")) ++ values: _*)
      .join(keys, Seq("k"), "left_semi")
  }
}

private object Unavailable {

  /** So many keys are given to the read of the table as literals, by which it finds their files. */
  private val Literals   = 1000
  private val Unresolved = "__unresolved"

  private def version(value: Column, isThere: Boolean): Column = record(Seq("v" -> value, "there" -> lit(isThere)))

  private def position(values: Seq[Column]): Column =
    record(values.zipWithIndex.map { case (value, number) => s"c$number" -> value })
}
