package io.merganser.spark.write.place

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.scalatest.funsuite.AnyFunSuite

class DirectPartitionsSuite extends AnyFunSuite {

  test("Spark's hash partitioning sends each salt to its intended partition") {
    for (count <- Seq(1, 2, 3, 7, 8, 64, 200, 1000)) {
      val reached = DirectPartitions.salts(count).toSeq.map { salt =>
        HashPartitioning(Seq(Literal(salt)), count).partitionIdExpression.eval().asInstanceOf[Int]
      }
      assert(reached === (0 until count), s"of $count partitions")
    }
  }
}
