package io.merganser.spark.write

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.Extensive
import io.merganser.merge.Histories
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.spark.frame.FrameWrite
import io.merganser.table.TableSuite
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SaveMode}

import java.nio.file.Files
import scala.collection.JavaConverters._
import scala.util.Random

/**
 * Dry runs of tables and rows of all kinds: moves between partitions, consistent hashing, partial rows, version 6,
 * tables without a key. Each has the counts and the rows of the write that follows it, and creates nothing.
 */
@Extensive
final class DryRunKindsSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private val mapper  = new ObjectMapper
  private val dry     = Map("spark.merganser.write.dryRun" -> "true", "spark.merganser.write.dryRun.rows" -> "1000")
  private val columns = Seq("k", "ts", "v", "w", "part")
  private val schema =
    StructType.fromDDL("k STRING, ts BIGINT, v STRING, w STRING, part STRING, _hoodie_is_deleted BOOLEAN")

  private def table: String = folder.resolve("t").toString

  private def write(rows: DataFrame, options: Map[String, String]): WriteResult =
    FrameWrite.save(spark, table, SaveMode.Append, options, rows).get

  private def stored: Seq[(String, Long)] =
    if (!Files.exists(folder.resolve("t"))) Nil
    else {
      val all = Files.walk(folder.resolve("t"))
      try all.iterator.asScala.map(f => f.toString -> (if (Files.isDirectory(f)) 0L else Files.size(f))).toList.sortBy(
          _._1)
      finally all.close()
    }

  private def normal(json: String): String = {
    val node = mapper.readTree(json)
    columns.map(name => Option(node.get(name)).filterNot(_.isNull).map(_.asText)).mkString("|")
  }

  /** Rows as strings, by key. */
  private def rowsNow: Map[String, Seq[String]] = if (stored.isEmpty) Map.empty
  else spark.read.format("merganser").load(table).selectExpr(columns: _*).toJSON.collect().toSeq
    .groupBy(json => Option(mapper.readTree(json).get("k")).fold("")(_.asText)).map { case (key, rows) =>
      key -> rows.map(normal).sorted
    }

  /** The dry run has the counts and rows of the write. */
  private def requireSame(clue: String)(rows: Map[String, String] => WriteResult): Unit = withClue(clue) {
    val (before, files) = (rowsNow, stored)
    val preview         = rows(dry)
    assert(stored == files)
    val done  = rows(Map.empty)
    val after = rowsNow
    val shown = preview.dryRun.get
    assert(preview.counts == done.counts)
    assert((preview.filesWritten, preview.rowsWritten) == ((done.filesWritten, done.rowsWritten)))
    assert(shown.rows.map(_.key).distinct.size == shown.rows.size)
    shown.rows.foreach { row =>
      assert(row.before.map(normal).toSeq == before.getOrElse(row.key, Nil), row)
      assert(row.after.map(normal).toSeq == after.getOrElse(row.key, Nil), row)
    }
    (before.keySet ++ after.keySet -- shown.rows.map(_.key)).foreach(key =>
      assert(before.get(key) == after.get(key), key))
    val kinds = shown.rows.groupBy(_.outcome).map { case (outcome, of) => outcome -> of.size.toLong }
    val names = Seq("inserted", "updated", "late", "deleted").map(kinds.getOrElse(_, 0L))
    val m     = shown.merged
    assert(Seq(m.inserted, m.updated, m.late, m.deleted) == names)
  }

  private def random(seed: Long, parts: Int): () => Row = {
    val random = new Random(Histories.seed + seed)
    () => {
      val key = random.nextInt(8)
      Row(s"k$key", random.nextInt(5).toLong, if (random.nextInt(4) == 0) null else s"v${random.nextInt(9)}", "w",
        s"p${if (parts == 0) key % 2 else random.nextInt(parts)}", random.nextInt(6) == 0)
    }
  }

  private def frame(rows: Seq[Row]): DataFrame = spark.createDataFrame(rows.asJava, schema).coalesce(1)

  private val Consistent = Map("hoodie.index.type" -> "BUCKET", "hoodie.index.bucket.engine" -> "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets" -> "2")
  private val Global =
    Map("hoodie.index.type" -> "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path" -> "true")
  private val Staying  = Global + ("hoodie.simple.index.update.partition.path" -> "false")
  private val Version6 = Map("hoodie.write.table.version" -> "6")

  for (
    ((name, mergeOnRead, more, parts), seed) <- Seq(
      ("moves between partitions, copy-on-write", false, Global, 3),
      ("moves between partitions, merge-on-read", true, Global, 3),
      ("a global index that moves no row, merge-on-read", true, Staying, 3),
      ("consistent hashing", true, Consistent, 0), ("version 6, copy-on-write", false, Version6, 0),
      ("version 6, merge-on-read", true, Version6, 0)
    ).zipWithIndex
  )
    test(s"$name: dry runs of random batches have the counts and rows of the writes that follow") {
      val draw    = random(seed.toLong, parts)
      val options = this.options(mergeOnRead, bucketed = false) ++ more + ("hoodie.compact.inline" -> "false")
      (0 until 4).foreach { number =>
        val batch = Seq.fill(8)(draw())
        requireSame(s"batch $number: ${batch.mkString(" ")}")(how => write(frame(batch), options ++ how))
      }
    }

  for (mergeOnRead <- Seq(false, true))
    test(
      s"partial rows, ${if (mergeOnRead) "merge-on-read" else "copy-on-write"}: dry runs have the counts and " +
        "rows of the writes that follow") {
      val draw = random(10, 0)
      val options =
        this.options(mergeOnRead, bucketed = true) ++ Map("hoodie.compact.inline" -> "false",
          "spark.merganser.write.missingColumns" -> "keep")
      (0 until 4).foreach { number =>
        val batch = frame(Seq.fill(8)(draw()))
        val part  = if (number == 0) batch else batch.drop(if (number % 2 == 0) "w" else "v")
        requireSame(s"batch $number")(how => write(part, options ++ how))
      }
    }

  test("dry runs of inserts, DELETE and UPDATE of a keyless table have the counts of the writes") {
    val options = this.options(mergeOnRead = false, bucketed = false) - "hoodie.datasource.write.recordkey.field" -
      "hoodie.table.ordering.fields" + ("hoodie.datasource.write.operation" -> "insert")
    def count = spark.read.format("merganser").load(table).count()
    val batch = frame((1 to 4).map(i => Row(s"k$i", 1L, "v", "w", "p0", false)))
    val first = write(batch, options ++ dry)
    assert(stored.isEmpty && first.dryRun.get.merged == MergeCounts(inserted = 4) && first.dryRun.get.rows.size == 4)
    assert(write(batch, options).counts == first.counts)
    for (
      (statement, outcome) <- Seq(s"DELETE FROM merganser.`$table` WHERE k = 'k1'" -> "deleted",
        s"UPDATE merganser.`$table` SET v = 'x' WHERE k > 'k2'" -> "updated")
    ) {
      val (rows, files) = (count, stored)
      val shown         = spark.sql(s"CALL dry_run(statement => '${statement.replace("'", "\\'")}')").collect().toSeq
      assert(stored == files && count == rows)
      val done = spark.sql(statement).collect().head
      val n    = done.getLong(done.fieldIndex(outcome))
      assert(shown.find(_.getAs[String]("measure") == outcome).get.getAs[Long]("value") == n && n > 0)
      assert(shown.count(_.getAs[String]("outcome") == outcome) == n)
    }
  }
}
