package io.merganser.spark.write

import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}

/** The row that MERGE, UPDATE and DELETE return: counts, and the requested time of the commit. */
object StatementResult {

  val CountNames: Seq[String] = Seq(
    "inserted", "updated", "unchanged", "deleted", "late", "ties", "appended", "file_groups_read",
    "file_groups_written",
    "file_groups_pruned")

  val columns: StructType = StructType(CountNames.map(StructField(_, LongType, nullable = false)) :+
    StructField("instant", StringType, nullable = false))
}
