// Hot path: a few calls per version.
package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.vectorized.ColumnarBatchRow

/**
 * Columns of rows of any class. A merge sees rows of three classes, too many for the JIT to inline a call on their
 * common one; distinguished here, the two most frequent need no call at all.
 */
private[merge] object RowAccess {

  def numFields(row: InternalRow): Int = row match {
    case packed: UnsafeRow          => packed.numFields
    case columnar: ColumnarBatchRow => columnar.numFields
    case other                      => other.numFields
  }

  def isNullAt(row: InternalRow, ordinal: Int): Boolean = row match {
    case packed: UnsafeRow          => packed.isNullAt(ordinal)
    case columnar: ColumnarBatchRow => columnar.isNullAt(ordinal)
    case other                      => other.isNullAt(ordinal)
  }

  def getLong(row: InternalRow, ordinal: Int): Long = row match {
    case packed: UnsafeRow          => packed.getLong(ordinal)
    case columnar: ColumnarBatchRow => columnar.getLong(ordinal)
    case other                      => other.getLong(ordinal)
  }

  def getBoolean(row: InternalRow, ordinal: Int): Boolean = row match {
    case packed: UnsafeRow          => packed.getBoolean(ordinal)
    case columnar: ColumnarBatchRow => columnar.getBoolean(ordinal)
    case other                      => other.getBoolean(ordinal)
  }
}
