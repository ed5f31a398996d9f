package io.merganser.spark.write

import java.nio.file.{Path => NioPath}

import io.merganser.Extensive
import io.merganser.merge.Notation
import io.merganser.table.TableSuite
import io.merganser.table.storage.Storage
import org.apache.spark.sql.functions.lit

/** A file system that fails at an operation of a write: each kind of write, type of table and index. */
@Extensive
final class WriteFaultsByActionSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  private val before = "k1@10=a k2@10=b k3@10=c k4@10=d"
  private val batch  = "k1@20=A k2@20- k5@20=e k6@20=f"

  private val indexes = Map(
    "SIMPLE" -> Map.empty[String, String],
    "BUCKET" -> Map("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "2"),
    "BLOOM" -> Map("hoodie.index.type" -> "BLOOM"),
    "GLOBAL" -> Map("hoodie.index.type" -> "GLOBAL_SIMPLE"),
    "consistent buckets" -> Map(
      "hoodie.index.type" -> "BUCKET",
      "hoodie.index.bucket.engine" -> "CONSISTENT_HASHING",
      "hoodie.bucket.index.num.buckets" -> "2"
    )
  )

  private def options(mergeOnRead: Boolean, index: String, more: (String, String)*): Map[String, String] =
    options(mergeOnRead, bucketed = false) ++ indexes(index) ++ more

  private def operation(name: String) = "hoodie.datasource.write.operation" -> name

  /** A table with two commits, the second one in log files where it is merge on read. */
  private def prepare(options: Map[String, String]): NioPath = {
    val storage = faulty("prepared")
    write(storage, before, options)
    write(storage, "k1@11=aa k4@11=dd", options - "hoodie.write.table.version")
    folder.resolve("prepared")
  }

  private def each(name: String, kinds: (Boolean, String)*)(
      more: (String, String)*
  )(work: (Storage, Map[String, String]) => Unit): Unit =
    for ((mergeOnRead, index) <- kinds)
      test(
        s"$name, ${if (mergeOnRead) "merge on read" else "copy on write"}, $index: after any failed operation " +
          "rows are old or new, and the next write repairs the table") {
        val options = this.options(mergeOnRead, index, more: _*)
        val after   = options - "hoodie.write.table.version"
        everyPoint(prepare(options), after)(work(_, after))
      }

  private val cow = false
  private val mor = true

  each("an upsert", cow -> "BLOOM", mor -> "BLOOM", mor -> "consistent buckets")()(write(_, batch, _))

  each("an upsert that moves rows", cow -> "GLOBAL", mor -> "GLOBAL")() { (storage, options) =>
    frame(Notation.changes(batch)).withColumn("part", lit("p0")).write.format("merganser").options(options)
      .mode("append").save(storage.toString)
  }

  each("an upsert of version 6", cow -> "SIMPLE", mor -> "SIMPLE", mor -> "BUCKET")(
    "hoodie.write.table.version" -> "6")(write(_, batch, _))

  each("an upsert of version 8", mor -> "SIMPLE")("hoodie.write.table.version" -> "8")(write(_, batch, _))

  each("a write of one of several writers", cow -> "SIMPLE", mor -> "BUCKET")(
    "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.fs.atomic_creation.support" -> "faulty",
    "hoodie.write.num.retries.on.conflict.failures" -> "2"
  )(write(_, batch, _))

  each("an insert", cow -> "SIMPLE", mor -> "SIMPLE")() { (storage, options) =>
    write(storage, "k7@5=g k8@5=h", options + operation("insert"))
  }

  each("a delete", cow -> "BUCKET", mor -> "SIMPLE")() { (storage, options) =>
    write(storage, "k1@20=x k4@20=y", options + operation("delete"))
  }

  each("an overwrite of partitions", cow -> "SIMPLE", mor -> "BUCKET", mor -> "consistent buckets")() {
    (storage, options) => write(storage, "k2@5=B k6@5=F", options + operation("insert_overwrite"))
  }

  each("an overwrite of the table", cow -> "BUCKET", mor -> "SIMPLE")() { (storage, options) =>
    write(storage, "k2@5=B k6@5=F", options + operation("insert_overwrite_table"))
  }

  each("a removal of partitions", cow -> "SIMPLE", mor -> "BUCKET", mor -> "consistent buckets")() {
    (storage, options) =>
      write(storage, "k1@5=x",
        options ++ Map(operation("delete_partition"),
          "hoodie.datasource.write.partitions.to.delete" -> "p0"))
  }

  each("an UPDATE", cow -> "SIMPLE", mor -> "SIMPLE")() { (storage, _) =>
    spark.sql(s"UPDATE merganser.`$storage` SET v = 'changed', ts = 50 WHERE k < 'k3'").collect(); ()
  }

  each("a DELETE", cow -> "SIMPLE", mor -> "SIMPLE")() { (storage, _) =>
    spark.sql(s"DELETE FROM merganser.`$storage` WHERE k < 'k3'").collect(); ()
  }

  each("a MERGE", cow -> "BUCKET", mor -> "BUCKET")() { (storage, _) =>
    spark.sql(s"""MERGE INTO merganser.`$storage` t USING (SELECT 'k1' k, 60L ts, 'm' v, 'p1' part UNION ALL
                 |SELECT 'k8', 60L, 'm', 'p0') s ON t.k = s.k AND t.part = s.part
                 |WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts
                 |WHEN NOT MATCHED THEN INSERT (k, ts, v, part)
                 |VALUES (s.k, s.ts, s.v, s.part)""".stripMargin).collect()
    ()
  }

  for (mergeOnRead <- Seq(cow, mor))
    test(
      s"a write with a transaction, ${if (mergeOnRead) "merge on read" else "copy on write"}: after any failed " +
        "operation the repeated write stores the rows once") {
      val options = this.options(mergeOnRead, "SIMPLE")
      val numbered =
        options ++ Map("txnAppId" -> "job", "txnVersion" -> "7", operation("insert"))
      val prepared                    = prepare(options)
      def job(storage: Storage): Unit = write(storage, "k7@5=g k8@5=h", numbered)
      val all                         = copy(prepared, "all")
      job(all)
      val expected = seen(all)
      points(prepared)(job) { (storage, _, failed) =>
        job(storage)
        assert(seen(storage) == expected, failed)
        assertGoesOn(storage, options, expected, failed)
        assert(io.merganser.table.Leftovers.of(storage).isEmpty, failed)
      }
    }
}
