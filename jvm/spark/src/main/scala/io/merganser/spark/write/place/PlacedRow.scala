// Hot path: one call per row.
package io.merganser.spark.write.place

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeRowJoiner
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeRow}
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}

/**
 * Rows with the number of their file group and the salt that maps it to its task. The returned row is reused.
 *
 * @param columns of the rows before these two
 */
private[write] final class PlacedRow(columns: StructType) {
  private[this] val numbers = new UnsafeRow(2)
  numbers.pointTo(new Array[Byte](UnsafeRow.calculateBitSetWidthInBytes(2) + 16),
    UnsafeRow.calculateBitSetWidthInBytes(2) + 16)

  // Adjacent bytes are copied at once, where a projection would copy each column.
  private[this] lazy val packed = GenerateUnsafeRowJoiner.create(columns, PlacedRow.Numbers)
  private[this] val joined      = new JoinedRow

  def apply(row: InternalRow, group: Int, salt: Int): InternalRow = {
    numbers.setInt(0, group)
    numbers.setInt(1, salt)
    row match {
      case unsafe: UnsafeRow if unsafe.numFields == columns.length => packed.join(unsafe, numbers)
      case other                                                   => joined(other, numbers)
    }
  }
}

private[write] object PlacedRow {
  val Group = "__merganser_group"
  val Salt  = "__merganser_salt"

  private val Numbers = StructType(Seq(Group, Salt).map(StructField(_, IntegerType, nullable = false)))

  /** The columns of the rows. */
  def schema(columns: StructType): StructType = StructType(columns ++ Numbers)
}
