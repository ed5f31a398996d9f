package io.merganser.bench

import io.merganser.bench.EngineRows.{Amount, Balance, Position, Schema, Time}
import io.merganser.merge.{EventTimeRule, FillMissingRule, KeyFold, MissingValues, PartialRule, RowLayout, Version}
import io.merganser.merge.buffer.{BatchMerge, MergeIterator, SortedMerge, VersionBuffer}
import io.merganser.merge.columns.{ColumnFunction, ColumnRule}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnarBatchRow}

import java.util.SplittableRandom

/**
 * Stored rows, versions and a rule, merged by the engine.
 *
 * It runs the product's code, from the reader's batches to the resulting row:
 *  - `sorted`: [[SortedMerge]], the merge of a copy-on-write upsert. Stored rows come from the reader's batches one by
 *    one; versions come sorted, as from Spark's sort.
 *  - `keyed`: the merge of [[VersionBuffer]] in a compaction. The versions are in the buffer already, added as from the
 *    reader of a Parquet log block; stored rows come as above.
 *  - `batches`: [[BatchMerge]], the merge of a snapshot read: the buffer as above, stored rows in batches.
 *
 * Of each resulting row it reads two columns, as a sum.
 */
private[bench] final class Case(rule: String, merge: String, stored: Rows, versions: Rows) {
  private[this] val ordering = rule match {
    case "commit-time"                                 => Nil
    case "event-time-1" | "partial-update" | "sum-max" => Seq(Schema(Time).name)
    case "event-time-2"                                => Seq(Schema(Time).name, Schema(Position).name)
  }
  private[this] val layout = RowLayout(Schema, Schema.head.name, ordering, Nil)
  private[this] val fold = new KeyFold(rule match {
    case "partial-update" =>
      new PartialRule(FillMissingRule.byEventTime(layout, MissingValues.Nulls, Nil), layout)
    case "sum-max" =>
      val functions = Map(Schema(Amount).name -> ColumnFunction.Sum, Schema(Balance).name -> ColumnFunction.Max)
      new ColumnRule(layout, functions.getOrElse(_, ColumnFunction.Last), Nil, Nil)
    case _ => new PartialRule(EventTimeRule(layout), layout)
  })

  private[this] val batches = EngineRows.batches(stored)
  private[this] val sorted  = merge == "sorted"
  private[this] val packed  = if (sorted) EngineRows.packed(versions) else null
  private[this] val buffer  = if (sorted) null else buffered(EngineRows.rowsOf(EngineRows.batches(versions)))

  def run(): Long = merge match {
    case "sorted"  => sum(sortedMerge(EngineRows.rowsOf(batches), packed.iterator))
    case "keyed"   => sum(buffer.merge(EngineRows.rowsOf(batches), baseSorted = true))
    case "batches" => sum(buffer.mergeBatches(baseSorted = true))
  }

  private def sortedMerge(base: Iterator[InternalRow], of: Iterator[InternalRow]): MergeIterator =
    SortedMerge.rewrite(base, new EngineRows.Cursor(of, layout), layout, fold)

  private def buffered(of: Iterator[InternalRow]): VersionBuffer = {
    val buffer = new VersionBuffer(layout, fold, Long.MaxValue)
    val record = new Version
    while (of.hasNext) buffer.add(layout.fill(record, of.next()))
    buffer
  }

  private def sum(merge: MergeIterator): Long = {
    var sum = 0L
    while (merge.next())
      if (merge.isLive) sum += used(merge.row)
    sum
  }

  private def sum(merge: BatchMerge): Long = {
    var sum = 0L
    var i   = 0
    while (i < batches.length) {
      sum += untouched(batches(i), merge.take(batches(i)), merge.untouched)
      sum += touched(merge)
      i += 1
    }
    merge.finish()
    sum + touched(merge)
  }

  /** Rows are distinguished by class, so that reading them costs as little as possible. */
  private def used(row: InternalRow): Long = row match {
    case packed: UnsafeRow          => packed.getLong(Amount) + packed.getLong(Balance)
    case columnar: ColumnarBatchRow => columnar.getLong(Amount) + columnar.getLong(Balance)
    case other                      => other.getLong(Amount) + other.getLong(Balance)
  }

  private def touched(merge: BatchMerge): Long = {
    var sum = 0L
    while (merge.next())
      if (merge.isLive) sum += used(merge.row)
    sum
  }

  private def untouched(batch: ColumnarBatch, count: Int, rows: Array[Int]): Long = {
    val amounts  = batch.column(Amount)
    val balances = batch.column(Balance)
    var sum      = 0L
    var i        = 0
    while (i < count) {
      sum += amounts.getLong(rows(i)) + balances.getLong(rows(i))
      i += 1
    }
    sum
  }

  /** @throws java.lang.IllegalStateException if the two sides do not result in the same rows */
  def verify(hand: ByHand): Unit =
    if (run() != hand.run())
      throw new IllegalStateException(s"$rule, $merge: the engine's rows are not those of the loop by hand")

  /**
   * Runs every merge over a few rows of each class that a process of the product sees, so that the measured code is not
   * compiled for one class of rows alone.
   */
  def season(): Unit = {
    val random    = new SplittableRandom(7)
    val rows      = Rows.stored("uuid", 4096, random)
    val some      = Rows.versions(rows, 20, false, versions.arePartial, random)
    val (b, p, g) = (EngineRows.batches(rows), EngineRows.packed(rows), EngineRows.generics(some))
    val changes   = EngineRows.packed(some)
    for (_ <- 1 to Case.SeasonRuns) {
      for (of <- Seq(changes.iterator, g.iterator); base <- Seq(EngineRows.rowsOf(b), p.iterator))
        sum(sortedMerge(base, of))
      for (of <- Seq(changes.iterator, g.iterator, EngineRows.rowsOf(EngineRows.batches(some)))) {
        val buffer = buffered(of)
        sum(buffer.merge(EngineRows.rowsOf(b), baseSorted = true))
        sum(buffer.merge(p.iterator, baseSorted = true))
        val merge = buffer.mergeBatches(baseSorted = true)
        b.foreach { batch =>
          merge.take(batch)
          touched(merge)
        }
      }
    }
  }
}

private[bench] object Case {
  private val SeasonRuns = 15
}
