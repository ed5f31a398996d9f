package org.apache.spark.sql.merganser

import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow

/** Functions of rows by their place in their partition. Spark must know that a partition's order matters to them. */
object NumberedRows {

  /** Whether a partition that is computed again may have its rows in another order. */
  def mayChangeOrder(rows: RDD[InternalRow]): Boolean = rows.outputDeterministicLevel != DeterministicLevel.DETERMINATE

  /**
   * @param isSorted whether the rows of each partition are sorted by their values: otherwise, if their order may change
   *                 and a part of the result is lost, Spark computes all of it again
   * @param make     of a partition's number and rows
   */
  def map(rows: RDD[InternalRow], isSorted: Boolean)(
      make: (Int, Iterator[InternalRow]) => Iterator[InternalRow]
  ): RDD[InternalRow] =
    rows.mapPartitionsWithIndexInternal(make, preservesPartitioning = false, isOrderSensitive = !isSorted)
}
