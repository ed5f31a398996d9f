package io.merganser.table.schema

import org.apache.spark.sql.types.{StructField, StructType}

/**
 * Where partition columns are among a table's columns: last, in the order of the partitioning, in tables that SQL or a
 * name creates. Other tables keep the order that they have.
 */
object ColumnOrder {

  /** The columns of a new table; partition fields inside structs stay there. */
  def ofNew(columns: StructType, partitionFields: Seq[String]): StructType = {
    val partitions = partitionFields.flatMap(field => columns.find(_.name.equalsIgnoreCase(field)))
    StructType(columns.filterNot(partitions.contains) ++ partitions)
  }

  /** The columns with others, before the partition columns that are the last ones. */
  def withAdded(columns: StructType, added: Seq[StructField], partitionFields: Seq[String]): StructType = {
    val count = columns.reverseIterator.takeWhile(c => partitionFields.exists(_.equalsIgnoreCase(c.name))).length
    val (before, last) = columns.splitAt(columns.length - count)
    StructType(before ++ added ++ last)
  }
}
