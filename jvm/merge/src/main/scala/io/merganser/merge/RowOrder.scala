package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow

/** An order of rows by the values of some columns. Hot path: one call for two versions that are merged. */
trait RowOrder extends Serializable {

  /** Negative, zero or positive as `a` is ordered before, with or after `b`. */
  def compare(a: InternalRow, b: InternalRow): Int
}
