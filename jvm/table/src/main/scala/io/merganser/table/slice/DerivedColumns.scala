// Hot path: one call per row.
package io.merganser.table.slice

import io.merganser.table.file.LogFile
import io.merganser.table.log.LogSink
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{DroppedColumns, MetaColumns}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StringType, StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String

/**
 * How the record key is computed from the columns of a row.
 *
 * @param expression over attributes with the names of the columns
 * @param columns    the table's columns that it reads
 */
final case class RowKey(expression: Expression, columns: StructType)

/**
 * Columns that rows have and files do not store: partition columns, whose values are in the path
 * (`drop.partition.columns`), and the record key and partition path of a table that stores no keys.
 *
 * @param schema the columns of the rows
 * @param rowKey of a table that stores no keys
 */
final class DerivedColumns(config: TableConfig, val schema: StructType, rowKey: Option[RowKey]) extends Serializable {
  private val dropped   = DroppedColumns.of(config)
  private val isVirtual = !config.storesKeys

  /** True if the files store all columns. */
  val isEmpty: Boolean = !schema.fieldNames.exists(isDerived)

  private val needsKey = isVirtual && schema.fieldNames.contains(MetaColumns.RecordKey)

  /** The columns to read of a file: the stored ones, then those that the record key is computed from. */
  val stored: StructType =
    if (isEmpty) schema
    else {
      val own = StructType(schema.filterNot(field => isDerived(field.name)))
      // A table without columns has no files, and no key columns yet.
      val ofKey = rowKey.filter(_ => needsKey).toSeq.flatMap(_.columns)
      StructType(own ++ ofKey.filterNot(f => own.fieldNames.contains(f.name) || isDerived(f.name)))
    }

  private def isDerived(name: String): Boolean =
    dropped.contains(name) || (isVirtual && (name == MetaColumns.RecordKey || name == MetaColumns.PartitionPath))

  private def key: RowKey =
    rowKey.getOrElse(throw new IllegalStateException(s"no key columns are known of '${config.name}'"))

  /** The filters that a file can be pruned by. */
  def usable(filters: Seq[Filter]): Seq[Filter] =
    if (isEmpty) filters else filters.filter(_.references.forall(column => !isDerived(column)))

  /** True if all derived columns have one value in a partition. */
  private[slice] def areConstant: Boolean = !needsKey

  /** Completes stored rows of a partition, into a row that is reused. */
  private[slice] def complete(partitionPath: String): InternalRow => InternalRow = {
    val constants  = new GenericInternalRow(constantsOf(partitionPath).toArray)
    val joined     = new JoinedRow
    val projection = UnsafeProjection.create(schema.map(field => expression(field.name)))
    row => projection(joined(row, constants))
  }

  /** Values of the dropped columns, then the path, in one partition. Those that no column needs are null. */
  private def constantsOf(partitionPath: String): Seq[Any] = {
    val isNeeded = schema.fieldNames.exists(dropped.contains) || (needsKey && dropped.nonEmpty)
    val values =
      if (!isNeeded) dropped.map(_ => null)
      else PathValues.of(config, partitionPath).zip(dropped).map { case (text, name) =>
        PathValues.typed(config, partitionPath, StructField(name, typeOf(name)), text)
      }
    values :+ UTF8String.fromString(partitionPath)
  }

  /** The type of a column in the rows; of one that only the key is computed from, its type in the table. */
  private def typeOf(name: String): DataType =
    (schema ++ rowKey.toSeq.flatMap(_.columns)).find(_.name == name).fold(StringType: DataType)(_.dataType)

  /** The index of a constant column; -1 for a stored one. */
  private def constantAt(name: String): Int =
    if (isVirtual && name == MetaColumns.PartitionPath) dropped.length else dropped.indexOf(name)

  private def expression(name: String): Expression =
    if (needsKey && name == MetaColumns.RecordKey) key.expression.transform { case a: Attribute => expression(a.name) }
    else {
      val at = constantAt(name)
      if (at >= 0) BoundReference(stored.length + at, typeOf(name), nullable = true)
      else {
        val field = stored.fieldIndex(name)
        BoundReference(field, stored(field).dataType, nullable = true)
      }
    }

  /** Completes stored batches of a partition, where [[areConstant]]. Nothing is copied. */
  private[slice] def completeBatch(partitionPath: String): ColumnarBatch => ColumnarBatch = {
    val constants = new GenericInternalRow(constantsOf(partitionPath).toArray)
    batch => {
      val columns = schema.fieldNames.map { name =>
        val at = constantAt(name)
        if (at < 0) batch.column(stored.fieldIndex(name))
        else {
          val column = new ConstantColumnVector(batch.numRows, typeOf(name))
          ColumnVectorUtils.populate(column, constants, at)
          column
        }
      }
      new ColumnarBatch(columns, batch.numRows)
    }
  }

  /** Receives log records with the columns of [[stored]], and passes them on with all columns. */
  private[slice] def sink(partitionPath: String, next: LogSink): LogSink =
    if (isEmpty) next
    else
      new LogSink {
        private[this] val completed                   = complete(partitionPath)
        private[this] var last, ofAll: Array[Boolean] = _

        override def block(log: LogFile, instant: String): Unit = next.block(log, instant)

        override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit =
          next.row(completed(row), all(provided), inserts)

        override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit =
          next.delete(key, partitionPath, ordering)

        private def all(provided: Array[Boolean]): Array[Boolean] =
          if (provided == null) null
          else {
            if (provided ne last) {
              last = provided
              ofAll = schema.fieldNames.map(name => isDerived(name) || provided(stored.fieldIndex(name)))
            }
            ofAll
          }
      }
}
