package io.merganser.spark.write

import io.merganser.merge.{Histories, MerganserException}
import io.merganser.spark.LocalSession
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.TableSuite
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Random

/** Keys that are one in the whole table. Rows in notation: `key@ordering=value/partition`, a delete has no value. */
final class GlobalIndexSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val schema =
    StructType.fromDDL("k STRING, ts BIGINT, v STRING, w STRING, part STRING, _hoodie_is_deleted BOOLEAN")
  private val notation = """(\w+)@(\d+)(?:=(\w*),?(\w*))?/(\w+)""".r

  private def table: String = folder.resolve("t").toString

  private def options(mergeOnRead: Boolean, more: (String, String)*): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.table.ordering.fields" -> "ts",
    "hoodie.index.type" -> "GLOBAL_SIMPLE"
  ) ++ more

  private def write(
      rows: String,
      options: Map[String, String],
      operation: String = "upsert",
      lacks: Seq[String] = Nil
  ): Unit = {
    val parsed = rows.split(" ").toSeq.filter(_.nonEmpty).map {
      case notation(k, ts, v, w, part) => Row(k, ts.toLong, text(v), text(w), part, v == null)
      case other                       => throw new IllegalArgumentException(other)
    }
    spark.createDataFrame(parsed.asJava, schema).drop(lacks: _*).coalesce(1).write.format("merganser").options(options)
      .option("hoodie.datasource.write.operation", operation).mode("append").save(table)
  }

  private def text(value: String): String = if (value == null || value.isEmpty) null else value

  private def read: Seq[String] =
    spark.read.format("merganser").load(table).select("k", "ts", "v", "w", "part", "_hoodie_partition_path")
      .collect().toSeq.map { r =>
        assert(r.getString(4) == r.getString(5))
        val values = Option(r.getString(2)).mkString + Option(r.getString(3)).map("," + _).mkString
        s"${r.getString(0)}@${r.getLong(1)}=$values/${r.getString(4)}"
      }.sorted

  private def compact(): Unit = {
    spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$table')").collect(); ()
  }

  for ((mergeOnRead, moves) <- Seq(false -> true, true -> true, true -> false))
    test(
      s"random upserts and deletes of a ${if (mergeOnRead) "merge-on-read" else "copy-on-write"} table whose " +
        s"rows ${if (moves) "move" else "stay"} give the rows and partitions of the model") {
      val seed    = Histories.seed
      val random  = new Random(seed)
      val options = this.options(mergeOnRead, "hoodie.simple.index.update.partition.path" -> moves.toString)
      val model   = mutable.Map.empty[String, (Int, String, String)]
      for (commit <- 0 to 3) {
        val rows = Seq.fill(9)((s"k${random.nextInt(9)}", random.nextInt(6), s"v$commit${random.nextInt(100)}",
            s"p${random.nextInt(3)}"))
        if (commit == 2) {
          write(rows.take(2).map { case (k, ts, _, part) => s"$k@$ts/$part" }.mkString(" "), options, "delete")
          rows.take(2).foreach(r => model.remove(r._1))
        } else {
          write(rows.map { case (k, ts, v, part) => s"$k@$ts=$v/$part" }.mkString(" "), options)
          val before = model.toMap
          rows.foreach { case (k, ts, v, part) =>
            val stored = before.get(k).filterNot(_ => moves).map(_._3)
            if (model.get(k).forall(_._1 <= ts)) model(k) = (ts, v, stored.getOrElse(part))
          }
        }
        val expected = model.toSeq.map { case (k, (ts, v, part)) => s"$k@$ts=$v/$part" }.sorted
        assert(read == expected, s"seed $seed, commit $commit")
        if (commit == 3 && mergeOnRead) {
          compact()
          assert(read == expected, s"seed $seed, compacted")
        }
      }
    }

  for (mergeOnRead <- Seq(false, true)) {
    val kind = if (mergeOnRead) "merge on read" else "copy on write"

    test(s"$kind: a late row leaves a key of two partitions in both, and a newer one makes it one row") {
      write("a@5=a/p0 b@5=b/p0", options(mergeOnRead), "insert")
      write("a@6=a/p1 b@6=b/p1", options(mergeOnRead), "insert")
      write("a@4=late/p2 b@7=both/p2", options(mergeOnRead))
      assert(read == Seq("a@5=a/p0", "a@6=a/p1", "b@7=both/p2"))
      write("a@6=a2/p1", options(mergeOnRead))
      assert(read == Seq("a@6=a2/p1", "b@7=both/p2"))
    }

    test(s"$kind: a delete by key removes its rows from every partition") {
      write("a@5=a/p0 b@5=b/p0 c@5=c/p1", options(mergeOnRead), "insert")
      write("a@5=a/p1", options(mergeOnRead), "insert")
      write("a@1/p9 c@1/p0 unknown@1/p0", options(mergeOnRead), "delete")
      assert(read == Seq("b@5=b/p0"))
    }

    test(s"$kind: a row that moves keeps the columns that the frame lacks") {
      write("a@5=a,w/p0 b@5=b,w/p0", options(mergeOnRead))
      write("a@6=a2/p1 b@4=late/p1 c@1=c/p1", options(mergeOnRead, "spark.merganser.write.missingColumns" -> "keep"),
        lacks = Seq("w"))
      assert(read == Seq("a@6=a2,w/p1", "b@5=b,w/p0", "c@1=c/p1"))
    }
  }

  test("a row that moves into a partition with an older delete of its key survives compaction") {
    write("a@5=a/p1 b@1=b/p0", options(mergeOnRead = true))
    write("a@10/p1", options(mergeOnRead = true))
    assert(read == Seq("b@1=b/p0"))
    write("a@3=back/p0", options(mergeOnRead = true))
    write("a@6=moved/p1", options(mergeOnRead = true))
    assert(read == Seq("a@6=moved/p1", "b@1=b/p0"))
    compact()
    assert(read == Seq("a@6=moved/p1", "b@1=b/p0"))
  }

  test("several rows of a key in one write leave it in the partition of the last one, or deleted") {
    write("a@1=a/p0 b@1=b/p1 c@1=c/p2 d@1=d/p0", options(mergeOnRead = false))
    write("a@2=a2/p1 b@2=b2/p2 c@2=c2/p0 a@3=a3/p2 d@2=d2/p1 d@3/p2", options(mergeOnRead = false))
    assert(read == Seq("a@3=a3/p2", "b@2=b2/p2", "c@2=c2/p0"))
  }

  test("an insert that drops or refuses stored keys finds them in all partitions") {
    write("a@1=a/p0", options(mergeOnRead = false))
    val policy = "hoodie.datasource.insert.dup.policy"
    write("a@2=no/p1 b@2=b/p1", options(mergeOnRead = false, policy -> "drop"), "insert")
    assert(read == Seq("a@1=a/p0", "b@2=b/p1"))
    val thrown =
      intercept[MerganserException](write("a@2=no/p1", options(mergeOnRead = false, policy -> "fail"), "insert"))
    assert(thrown.condition == "DUPLICATE_KEY")
  }

  test("a row moves to the partition of its merged columns, which a rule may fill from both rows") {
    val schema = StructType.fromDDL("k STRING, ts BIGINT, v STRING, a STRING, b STRING")
    val options = this.options(mergeOnRead = false) ++ Map("hoodie.datasource.write.partitionpath.field" -> "a,b",
      "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.PartialUpdateAvroPayload")
    def write(row: Row): Unit =
      spark.createDataFrame(Seq(row).asJava, schema).write.format("merganser").options(options).mode("append").save(
        table)
    write(Row("x", 1L, "v", "1", "2"))
    write(Row("x", 2L, null, null, "3"))
    val found =
      spark.read.format("merganser").load(table).select("v", "a", "b", "_hoodie_partition_path").collect().toSeq
    assert(found == Seq(Row("v", "1", "3", "1/3")))
    assert(OpenTable.load(spark, table).view.partitions == Seq("1/2", "1/3"))
  }
}
