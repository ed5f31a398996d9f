package io.merganser.spark.service

import io.merganser.spark.write.place.PersistedRows
import io.merganser.table.options.LayoutStrategy
import io.merganser.table.service.SpaceCurve
import io.merganser.table.settings.ClusteringOrder
import io.merganser.table.slice.{FileSlice, SliceReader, SliceRows, SliceWriter}
import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.merganser.{Partitions, RowShuffle}
import org.apache.spark.sql.types.{BinaryType, StructField, StructType}

import scala.collection.mutable

/**
 * The merged rows of file slices in the order of a clustering, with the columns of [[SliceWriter.rowSchema]] first.
 *
 * @param schema the table's data columns
 */
private[service] final class ClusteredRows(
    session: SparkSession,
    table: String,
    reader: SliceReader,
    schema: StructType,
    order: ClusteringOrder
) extends AutoCloseable {
  import ClusteredRows._

  private val rowColumns = RowShuffle.columns(SliceWriter.rowSchema(schema))
  private val values     = ClusteringColumns.of(table, order, schema, rowColumns)
  private val isCurve    = values.nonEmpty && order.strategy != LayoutStrategy.Linear
  private val columns =
    if (isCurve) RowShuffle.columns(StructType(SliceWriter.rowSchema(schema) :+ StructField(Place, BinaryType)))
    else rowColumns
  private val sortedBy: Seq[Expression] =
    if (isCurve) Seq(columns.last)
    else ClusteringColumns.of(table, order, schema, columns)

  /** False if the rows stay in the order of their files. */
  def isSorted: Boolean = values.nonEmpty

  private val persisted = mutable.ArrayBuffer.empty[PersistedRows]

  /**
   * The rows of some slices.
   *
   * @param tasks partitions of the result, whose ranges follow each other
   */
  def of(slices: Seq[FileSlice], tasks: Int): RDD[InternalRow] =
    if (!isSorted) read(slices, tasks)
    else {
      val read = this.read(slices, math.min(slices.size, MostReaders))
      val rows = if (isCurve) placed(read) else read
      // Ranges come from a sample of the rows, which takes a job over all of them.
      val once =
        if (tasks == 1) rows
        else {
          val kept = new PersistedRows(rows, StructType(columns.map(a => StructField(a.name, a.dataType, a.nullable))))
          persisted += kept
          kept.rows
        }
      val ranges = RowShuffle.ranges(session, once, columns, sortedBy, tasks)
      RowShuffle.sorted(session, ranges, columns, sortedBy)
    }

  override def close(): Unit = persisted.foreach(_.close())

  /** Rows as unsafe rows in a reused object; each of the partitions reads some slices, one after the other. */
  private def read(slices: Seq[FileSlice], partitions: Int): RDD[InternalRow] = {
    val parts                  = shares(slices, partitions)
    val (reader, shownColumns) = (this.reader, rowColumns)
    Partitions.map[Seq[FileSlice], InternalRow](session.sparkContext.parallelize(parts, parts.size)) { it =>
      val pack = UnsafeProjection.create(shownColumns, shownColumns)
      it.flatten.flatMap(slice => closing(reader.rows(slice))).map(pack)
    }
  }

  private def placed(rows: RDD[InternalRow]): RDD[InternalRow] = {
    val bounds    = if (order.isSampled) Some(session.sparkContext.broadcast(sampled(rows))) else None
    val bound     = BindReferences.bindReferences(values, rowColumns)
    val isHilbert = order.strategy == LayoutStrategy.Hilbert
    val ranks     = bounds.map(b => Ranks(b, values.map(_.dataType)))
    Partitions.map[InternalRow, InternalRow](rows) { it =>
      val point  = new Array[Long](bound.size)
      val place  = new GenericInternalRow(1)
      val joined = new JoinedRow
      val found  = bound.toArray
      val rank   = ranks.map(_.finder)
      it.map { row =>
        var i = 0
        while (i < found.length) {
          val value = found(i).eval(row)
          point(i) = rank.fold(SpaceCurve.coordinate(value))(_(i, value))
          i += 1
        }
        place.update(0, if (isHilbert) SpaceCurve.hilbert(point) else SpaceCurve.zOrder(point))
        joined(row, place)
      }
    }
  }

  /** Bounds of ranges with about as many sampled values each, by column. */
  private def sampled(rows: RDD[InternalRow]): Array[Array[Any]] = {
    val bound = BindReferences.bindReferences(values, rowColumns)
    val each  = math.max(LeastSample, order.sampleRows / math.max(1, rows.getNumPartitions)).toInt
    val sample = Partitions.collect[InternalRow, Array[Any]](rows) { it =>
      val random = new scala.util.Random(0L)
      val kept   = mutable.ArrayBuffer.empty[Array[Any]]
      var seen   = 0L
      it.foreach { row =>
        seen += 1
        val at = if (kept.size < each) kept.size else (random.nextDouble() * seen).toLong.min(Int.MaxValue.toLong).toInt
        if (at < each) {
          val copy = bound.map(e => InternalRow.copyValue(e.eval(row))).toArray[Any]
          if (at == kept.size) kept += copy else kept(at) = copy
        }
      }
      kept.iterator
    }
    values.indices.map { i =>
      val ordering = TypeUtils.getInterpretedOrdering(values(i).dataType)
      val sorted   = sample.map(_(i)).filter(_ != null).sorted(ordering)
      val count    = math.min(MostBounds, sorted.size)
      val picked   = (0 until count).map(k => sorted((k.toLong * sorted.size / count).toInt))
      picked.foldLeft(Vector.empty[Any])((done, v) =>
        if (done.lastOption.exists(ordering.equiv(_, v))) done else done :+ v).toArray
    }.toArray
  }
}

private[service] object ClusteredRows {

  /** The slices of each task. */
  def shares(slices: Seq[FileSlice], tasks: Int): Seq[Seq[FileSlice]] = {
    val count = math.max(1, math.min(tasks, slices.size))
    (0 until count).map(task => slices.indices.filter(_ % count == task).map(slices))
  }

  private val Place       = "__merganser_place"
  private val MostReaders = 200
  private val MostBounds  = 1024
  private val LeastSample = 100L

  /** The rows, whose files are closed after the last one or at the end of the task. */
  private def closing(rows: SliceRows): Iterator[InternalRow] = {
    TaskContext.get().addTaskCompletionListener[Unit](_ => rows.close())
    new Iterator[InternalRow] {
      private[this] var isOpen = true
      override def hasNext: Boolean = isOpen && {
        isOpen = rows.hasNext
        if (!isOpen) rows.close()
        isOpen
      }
      override def next(): InternalRow = rows.next()
    }
  }

  /** Ranks of values among bounds, by column; null is before all. */
  private final case class Ranks(
      bounds: Broadcast[Array[Array[Any]]],
      types: Seq[org.apache.spark.sql.types.DataType]
  ) {
    def finder: (Int, Any) => Long = {
      val orderings = types.map(TypeUtils.getInterpretedOrdering).toArray
      val all       = bounds.value
      (column, value) =>
        if (value == null) 0L
        else {
          val (ordering, of) = (orderings(column), all(column))
          var (low, high)    = (0, of.length)
          while (low < high) {
            val middle = (low + high) >>> 1
            if (ordering.compare(of(middle), value) <= 0) low = middle + 1 else high = middle
          }
          low + 1L
        }
    }
  }
}
