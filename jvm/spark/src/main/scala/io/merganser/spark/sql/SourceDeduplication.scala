package io.merganser.spark.sql

import io.merganser.merge.{KeyFold, MergeRule, RowLayout, Version}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.{StringType, StructField, StructType}

import scala.collection.mutable

/**
 * Several source rows for one key are versions of one row: where the rule chooses between whole rows, only the winner
 * reaches the clauses. The merge chooses it, from a batch of versions with the source's values for the ordering
 * columns.
 *
 * @param keys    values that the rows of one key share, over the rows
 * @param arrival ordinal of a source row's position in the source
 * @param order   whether ON is true (a row that ON excludes loses to any row that it includes), then the source's
 *                values for the ordering columns; over the rows. On ties the later row wins
 */
private[sql] final case class SourceDeduplication(keys: Seq[Expression], arrival: Int, order: Seq[Expression]) {

  /** @param rows sorted by key, then by arrival */
  def of(rows: Iterator[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] val keyOf    = UnsafeProjection.create(keys)
    private[this] val keyOrder = InterpretedOrdering.forSchema(keys.map(_.dataType))
    private[this] val versions = new SourceVersions(order)

    private[this] val ready             = mutable.Queue.empty[InternalRow]
    private[this] val winner            = mutable.ArrayBuffer.empty[InternalRow]
    private[this] var ownKey: UnsafeRow = _
    private[this] var place             = -1L
    private[this] var isWinner          = false

    override def hasNext: Boolean = {
      while (ready.isEmpty && rows.hasNext) take(rows.next())
      if (ready.isEmpty) finish()
      ready.nonEmpty
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      ready.dequeue()
    }

    private def take(row: InternalRow): Unit = {
      val key      = keyOf(row)
      val isNewKey = ownKey == null || keyOrder.compare(key, ownKey) != 0
      if (isNewKey) {
        finish()
        ownKey = key.copy()
      }
      if (isNewKey || row.getLong(arrival) != place) {
        place = row.getLong(arrival)
        isWinner = isNewKey || versions.newerWins(winner.head, row)
        if (isWinner) winner.clear()
      }
      if (isWinner) winner += row.copy()
    }

    private def finish(): Unit = {
      ready ++= winner
      winner.clear()
    }
  }
}

/** Two source rows of one key as versions of one batch: the merge chooses one. */
private final class SourceVersions(order: Seq[Expression]) {
  private[this] val version = UnsafeProjection.create(Literal("") +: order)
  private[this] val schema =
    StructType(StructField("key", StringType) +: order.zipWithIndex.map { case (e, i) =>
      StructField(s"order_$i", e.dataType)
    })
  private[this] val layout = RowLayout(schema, "key", order.indices.map(i => s"order_$i"), Nil)
  private[this] val fold   = new KeyFold(MergeRule.eventTime(layout))

  def newerWins(older: InternalRow, newer: InternalRow): Boolean = {
    val next = versionOf(newer)
    fold.combine(versionOf(older), next) eq next
  }

  private def versionOf(row: InternalRow): Version = layout.fill(new Version, version(row).copy())
}

/**
 * Keeps the rows of one source row per key, chosen by [[SourceDeduplication]].
 *
 * @param keys   values that the rows of one key share
 * @param number position of a source row in the source
 * @param order  as in [[SourceDeduplication]]
 */
private[sql] final case class LatestRows(
    keys: Seq[Expression],
    number: Attribute,
    order: Seq[Expression],
    child: LogicalPlan
) extends UnaryNode {
  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(child = newChild)
}

private[sql] object LatestRows {

  /** @param keys empty where all rows are kept */
  def of(keys: Seq[Expression], number: Attribute, order: Seq[Expression], rows: LogicalPlan): LogicalPlan =
    if (keys.isEmpty) rows else LatestRows(keys, number, order, rows)
}

private[sql] final case class LatestRowsExec(
    keys: Seq[Expression],
    number: Attribute,
    order: Seq[Expression],
    child: SparkPlan
) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output

  override def requiredChildDistribution: Seq[Distribution] = Seq(ClusteredDistribution(keys))

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq((keys :+ number).map(SortOrder(_, Ascending)))

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.output
    val latest =
      SourceDeduplication(BindReferences.bindReferences(keys, rows), rows.indexWhere(_.exprId == number.exprId),
        BindReferences.bindReferences(order, rows))
    Partitions.map(child.execute())(latest.of(_))
  }
}
