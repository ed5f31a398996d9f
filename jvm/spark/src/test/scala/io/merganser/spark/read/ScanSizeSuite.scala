package io.merganser.spark.read

import io.merganser.spark.LocalSession
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.TableSuite
import org.apache.spark.sql.functions.{col, expr}

/** How large a scan is taken for, by which Spark decides what to broadcast. */
final class ScanSizeSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  test("the estimated size of one wide column is not a small share of many narrow ones") {
    val path   = folder.resolve("t").toString
    val narrow = (1 to 30).map(i => expr(s"CAST(id % 3 AS BIGINT) AS n$i"))
    spark.range(2000).select(
      col("id") +: expr("concat_ws('', transform(sequence(1, 40), i -> uuid()))").as("wide") +: narrow: _*)
      .write.format("merganser").option("hoodie.table.name", "t").option("hoodie.datasource.write.recordkey.field",
        "id").save(path)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "65536")
    def bytes(columns: String*) =
      spark.read.format("merganser").load(path).select(columns.map(col): _*).queryExecution.optimizedPlan.stats
        .sizeInBytes.toLong
    val all = bytes("*")
    assert(bytes("wide") > all / 2 && bytes("n1", "n2") < all / 20)
  }

  test("a scan that Spark reads as a stream lists no files: each micro-batch lists its own") {
    val path = folder.resolve("s").toString
    spark.range(3).write.format("merganser").option("hoodie.datasource.write.recordkey.field", "id").save(path)
    val table = OpenTable.load(spark, path)
    val scan = new SliceScan(spark, table, () => fail("it lists files"), table.schema, Nil, readOptimized = false,
      stream = Some(_ => null))
    scan.toMicroBatchStream("checkpoint")
    assert(scan.description().endsWith("as a stream") && scan.reportDriverMetrics().isEmpty)
    assert(!scan.estimateStatistics().sizeInBytes.isPresent)
    assert(Set(scan, scan).size == 1)
  }
}
