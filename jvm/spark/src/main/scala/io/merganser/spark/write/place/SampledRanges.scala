package io.merganser.spark.write.place

import io.merganser.spark.write.prepare.RefusedRows
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  BoundReference,
  Expression,
  GenericInternalRow,
  Literal,
  SortOrder,
  SubqueryExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScan
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.{IntegerType, ObjectType, StringType}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.{Partitioner, RangePartitioner}

/** Ranges of (partition path, record key), as the salts that Spark's hash partitioning sends to the task of a range. */
private[write] final class SampledRanges private (ranges: Partitioner, salts: Array[Int]) extends Serializable {
  @transient private[this] lazy val pair = new GenericInternalRow(2)

  /** Called by generated code, by one thread. */
  def salt(path: UTF8String, key: UTF8String): Int = {
    pair.update(0, path)
    pair.update(1, key)
    salts(ranges.getPartition(pair))
  }

  def of(path: Expression, key: Expression): Expression =
    Invoke(Literal.create(this, ObjectType(classOf[SampledRanges])), "salt", IntegerType, Seq(path, key))
}

private[write] object SampledRanges {

  /** Runs a job that samples the pairs. @param pairs path and key of rows; may be reused objects */
  def sampled(session: SparkSession, pairs: RDD[InternalRow], tasks: Int): SampledRanges = {
    val order = Seq(0, 1).map(i => SortOrder(BoundReference(i, StringType, nullable = true), Ascending))
    implicit val ordering: Ordering[InternalRow] = new LazilyGeneratedOrdering(order)
    val copies                                   = Partitions.map(pairs)(_.map(pair => (pair.copy(), null)))
    val points                                   = session.sessionState.conf.rangeExchangeSampleSizePerPartition
    new SampledRanges(new RangePartitioner[InternalRow, Null](tasks, copies, ascending = true, points),
      DirectPartitions.salts(tasks))
  }

  /**
   * Columns of rows without the others. None if it is better to compute the rows once, and to keep them: anything but
   * columns of Parquet files, ORC files or memory, filtered or computed by functions that return the same for the same
   * row.
   */
  def columns(rows: DataFrame, names: Seq[String]): Option[RDD[InternalRow]] = {
    val few = rows.select(names.map(col): _*)
    if (isCheap(few.queryExecution.optimizedPlan)) Some(few.queryExecution.toRdd) else None
  }

  private def isCheap(plan: LogicalPlan): Boolean = plan match {
    case Project(values, child)   => values.forall(isCheap) && isCheap(child)
    case Filter(condition, child) => isCheap(condition) && isCheap(child)
    case relation: LogicalRelation => relation.relation match {
        case files: HadoopFsRelation => isColumnar(files.fileFormat)
        case _                       => false
      }
    case scan: DataSourceV2ScanRelation => scan.scan match {
        case _: ParquetScan | _: OrcScan => true
        case _                           => false
      }
    case _: InMemoryRelation | _: LocalRelation | _: Range => true
    case _                                                 => false
  }

  private def isColumnar(format: FileFormat): Boolean = format match {
    case _: ParquetFileFormat | _: OrcFileFormat => true
    case _                                       => false
  }

  private def isCheap(value: Expression): Boolean = !value.exists {
    case _: UserDefinedExpression | _: SubqueryExpression => true
    case refusal if RefusedRows.isRefusal(refusal)        => false
    case other => !other.deterministic && other.children.forall(_.deterministic)
  }
}
