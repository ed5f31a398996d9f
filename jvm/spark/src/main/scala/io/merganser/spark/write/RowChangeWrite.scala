package io.merganser.spark.write

import io.merganser.spark.OpenTable
import io.merganser.spark.compact.Compaction
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{WriteConfig, WriteSource}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.catalyst.util.WriteDeltaProjections
import org.apache.spark.sql.catalyst.util.RowDeltaUtils
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._

/** The changed rows of a MERGE, UPDATE or DELETE, on their way into the write that frames take too. */
object RowChangeWrite {

  /** Where a changed row's new values, the stored row's identity and its place in the source stand. */
  final case class Projections(row: Option[ProjectingInternalRow], rowId: ProjectingInternalRow, arrival: Option[Int])

  object Projections {
    def apply(p: WriteDeltaProjections, arrival: Option[Int]): Projections =
      Projections(p.rowProjection.map(dataColumns), p.rowIdProjection, arrival)

    /** A statement that names a meta column has all of them among its rows' values. */
    private def dataColumns(values: ProjectingInternalRow): ProjectingInternalRow = {
      val kept = values.schema.indices.filterNot(i => MetaColumns.names.contains(values.schema(i).name))
      ProjectingInternalRow(StructType(kept.map(values.schema(_))), kept.map(values.colOrdinals(_)))
    }
  }

  /** @param changes rows of Spark's row-level plan: the operation first, then what the projections pick */
  def run(session: SparkSession, table: OpenTable, changes: RDD[InternalRow], projections: Projections): WriteResult = {
    val data     = table.schema
    val settings = WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), table.config, WriteSource.SqlChange)
    val columns = StructType(data.map(_.copy(nullable = true)) ++ Seq(
      StructField(Incoming.GivenKey, StringType),
      StructField(Incoming.GivenPath, StringType),
      StructField(Incoming.GivenArrival, LongType),
      StructField(IncomingSchema.UnorderedDelete, BooleanType, nullable = false)
    ))
    val frame  = SparkBridge.internalCreateDataFrame(session, changes.mapPartitions(new ChangedRows(_, projections, data.length)), columns)
    val result = new TableWrite(session, table, settings).run(frame, data, col(IncomingSchema.UnorderedDelete))
    Compaction.inline(session, table, settings)
    result
  }
}

private final class ChangedRows(changes: Iterator[InternalRow], projections: RowChangeWrite.Projections, width: Int)
    extends Iterator[InternalRow] {
  private[this] val joined   = new JoinedRow
  private[this] val identity = new GenericInternalRow(4)
  private[this] val arrival  = projections.arrival
  private[this] val noValues = new GenericInternalRow(width)

  override def hasNext: Boolean = changes.hasNext

  override def next(): InternalRow = {
    val change    = changes.next()
    val operation = change.getInt(0)
    val isDelete  = operation == RowDeltaUtils.DELETE_OPERATION
    if (operation == RowDeltaUtils.INSERT_OPERATION) {
      identity.setNullAt(0)
      identity.setNullAt(1)
    } else {
      projections.rowId.project(change)
      identity.update(0, projections.rowId.getUTF8String(0))
      identity.update(1, projections.rowId.getUTF8String(1))
    }
    identity.update(3, isDelete)
    arrival match {
      case Some(at) if !change.isNullAt(at) => identity.update(2, change.getLong(at))
      case _                                => identity.setNullAt(2)
    }
    joined(if (isDelete) noValues else values(change), identity)
  }

  private def values(change: InternalRow): InternalRow = {
    val row = projections.row.getOrElse(throw new IllegalStateException("a changed row without values"))
    row.project(change)
    row
  }
}
