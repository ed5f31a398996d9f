package org.apache.spark.sql.merganser

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicBoolean

import io.merganser.spark.LocalSession
import org.apache.spark.SparkException
import org.scalatest.funsuite.AnyFunSuite

final class RunningTasksSuite extends AnyFunSuite with LocalSession {
  import RunningTasksSuite._

  override protected def master: String = "local[2]"

  test("a failed job ends only after its other tasks have ended") {
    val rows = spark.sparkContext.parallelize(Seq(0, 1), 2)
    intercept[SparkException] {
      Partitions.collect(rows) { found =>
        if (found.next() == 0) {
          started.await()
          throw new IllegalStateException("the first task fails")
        }
        started.countDown()
        Thread.sleep(500)
        ended.set(true)
        Iterator(1)
      }
    }
    assert(ended.get)
  }
}

private object RunningTasksSuite {
  val started = new CountDownLatch(1)
  val ended   = new AtomicBoolean
}
