package io.merganser.spark.write.prepare

import org.apache.spark.HashPartitioner
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

class GeneratedKeysSuite extends AnyFunSuite with BeforeAndAfterAll {

  private var spark: SparkSession = _

  override def beforeAll(): Unit =
    spark = SparkSession.builder().master("local[2]").appName("keys").config("spark.ui.enabled", "false").getOrCreate()

  override def afterAll(): Unit = spark.stop()

  private val instant = "20260102030405678"
  private val schema  = StructType.fromDDL("id INT, tags MAP<STRING, INT>, inner STRUCT<a: ARRAY<STRING>>")
  private val rows    = (0 until 40).map(i => Row(i, Map("t" -> i), Row(Seq(s"v$i"))))

  private def keys(frame: org.apache.spark.sql.DataFrame): Map[Int, String] =
    GeneratedKeys.added(spark, frame, instant).collect().map(r => r.getInt(0) -> r.getString(r.length - 1)).toMap

  test("rows in a known order get keys with the numbers of partition and row") {
    val found = keys(spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema))
    assert(found(0) == s"${instant}_0_0" && found(19) == s"${instant}_0_19" && found(20) == s"${instant}_1_0")
  }

  test("rows in another order after a task's retry get the same keys") {
    val shuffled = spark.sparkContext.parallelize(rows, 4).keyBy(_.getInt(0)).partitionBy(new HashPartitioner(3))
    val random   = shuffled.mapPartitions(it => Random.shuffle(it.map(_._2).toVector).iterator)
    val frame    = spark.createDataFrame(random, schema)
    val first    = keys(frame)
    assert(first.values.toSet.size == rows.size && first.values.forall(_.startsWith(s"${instant}_")))
    (1 to 3).foreach(_ => assert(keys(frame) == first))
  }

  test("rows with a stored key get no generated key") {
    val frame = spark.sql(s"SELECT CAST(id AS INT) id, IF(id = 1, 'stored', null) AS ${WriteRow.StoredKey.name} " +
      "FROM range(0, 3, 1, 1)")
    assert(keys(frame) == Map(0 -> s"${instant}_0_0", 1 -> null, 2 -> s"${instant}_0_1"))
  }
}
