package io.merganser.spark.write.tag

import io.merganser.merge.Histories
import io.merganser.spark.LocalSession
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.WriteSlices
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Random

// Guarantee (Tables of other engines): With the BLOOM index a write reads only files whose filter has one of its keys,
//   with Hudi's filters too. Also:
//   test_each_engine_finds_the_others_rows_by_bloom_filters
/** A lookup finds what a plain map of the same changes contains. */
final class KeyLookupSuite extends TableSuite with LocalSession {
  import KeyLookupSuite._

  override protected def master: String = "local[2]"

  /** With MERGANSER_FULL=1 keys are also looked up before the last commit. */
  private val isFull = sys.env.get("MERGANSER_FULL").contains("1")

  private def write(path: String, rows: Seq[Stored], operation: String, options: Map[String, String]): Unit =
    spark.createDataFrame(rows.map(r => Row(r.k, r.j, r.v, r.part, r.isDeleted)).asJava, schema).coalesce(1)
      .write.format("merganser").options(options).option("hoodie.datasource.write.operation", operation)
      .mode("append").save(path)

  private def options(mergeOnRead: Boolean, key: String): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.datasource.write.recordkey.field" -> key,
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"
  )

  private val wanted = StructType(Seq(StructField("v", StringType), MetaColumns.schema(MetaColumns.PartitionPath)))

  private def source(keys: Seq[(String, String)]): DataFrame = spark.createDataFrame(
    keys.zipWithIndex.map { case ((path, key), i) => Row(i, path, key, i.toLong) }.asJava,
    StructType(Seq(StructField("x", IntegerType), StructField(MetaColumns.PartitionPath, StringType),
        StructField(MetaColumns.RecordKey, StringType), WriteRow.Arrival))
  ).repartition(2)

  /** The lookup's rows as (path and key looked for, arrival, slice, stored value and path), by task. */
  private def lookUp(
      path: String,
      keys: Seq[(String, String)],
      byPath: Boolean,
      stored: StructType = wanted,
      filters: Boolean = false
  ): (Seq[Seq[Found]], LookupCounts) = {
    val table  = OpenTable.load(spark, path)
    val slices = new WriteSlices(table)
    val lookup = KeyLookup(spark, table, StoredRule.of(table.config, Nil), slices, stored, byPath, filters,
      Some(3))
    val frame          = source(keys)
    val (rows, counts) = lookup(frame)
    val found =
      SparkBridge.internalCreateDataFrame(spark, rows, StructType(frame.schema ++ lookup.added)).rdd.glom()
        .collect().toSeq.map(_.toSeq.map { r =>
          val slice = r.getInt(4)
          assert(stored.isEmpty || slice < 0 || r.isNullAt(7) || slices.listed(slice).partitionPath == r.getString(7))
          Found((r.getString(1), r.getString(2)), r.getLong(3), slice,
            if (r.getBoolean(5)) Some(if (stored.isEmpty) "" else s"${r.getString(6)} ${r.getString(7)}") else None)
        })
    (found, counts)
  }

  for (mergeOnRead <- Seq(false, true))
    test(
      s"a lookup in a ${if (mergeOnRead) "merge-on-read" else "copy-on-write"} table with Bloom filters reads " +
        "only the files that have a key") {
      val path = folder.resolve("t").toString
      val options = this.options(mergeOnRead, "k") ++
        Seq("hoodie.index.type" -> "BLOOM", "hoodie.parquet.small.file.limit" -> "0")
      for (file <- 0 until 6)
        write(path, (0 until 20).map(i => Stored(s"k${i * 6 + file + 100}", 1, s"v$file", s"p${file % 2}", false)),
          "insert", options)
      val keys = Seq("p0" -> "k100", "p0" -> "k106", "p1" -> "k103", "p1" -> "k104", "p9" -> "k101")
      for ((byPath, read) <- Seq(true -> 2, false -> 4)) {
        val (found, counts) = lookUp(path, keys, byPath, filters = true)
        assert(found.flatten.sortBy(_.arrival) == lookUp(path, keys, byPath)._1.flatten.sortBy(_.arrival))
        assert(counts.read == read && lookUp(path, keys, byPath)._2.read == 6)
      }
      write(path, Seq(Stored("k100", 1, "new", "p0", false)), "upsert", options)
      val (found, counts) = lookUp(path, Seq("p0" -> "k100"), byPath = true, filters = true)
      assert(found.flatten.map(_.stored) == Seq(Some("new p0")) && counts.read == 1)
    }

  test("ranges and filters of base files are read once, and an excluded file is not opened again") {
    val options = this.options(mergeOnRead = false, "k") ++
      Seq("hoodie.index.type" -> "BLOOM", "hoodie.parquet.small.file.limit" -> "0")
    def loaded(name: String): String = {
      val path = faulty(name).toString
      for (file <- 0 until 6)
        write(path, (0 until 20).map(i => Stored(s"k${i * 6 + file + 100}", 1, s"v$file", "p0", false)), "insert",
          options)
      path
    }
    def opens(path: String, keys: String*): Seq[Int] =
      FaultyFileSystem.recorded(lookUp(path, keys.map("p0" -> _), byPath = true, filters = true))
        .filter(_.matches("open .*\\.parquet")).groupBy(identity).values.map(_.size).toSeq.sorted
    // The range of each file includes the first key, and the filter of one; no range includes the other one.
    val path = loaded("t")
    assert(opens(path, "k107").take(5) == Seq.fill(5)(1) && opens(path, "k107").size == 6)
    assert(opens(loaded("u"), "k999") == Seq.fill(6)(1))
    // This process knows the ranges now.
    assert(opens(path, "k999").isEmpty)
  }

  for ((mergeOnRead, isComposite) <- Seq(false -> true, true -> false))
    test(
      s"lookups in a random ${if (mergeOnRead) "merge-on-read" else "copy-on-write"} table with " +
        s"${if (isComposite) "two key columns" else "one key column"} return the rows of the model") {
      val seed    = Histories.seed
      val random  = new Random(seed)
      val path    = folder.resolve("t").toString
      val options = this.options(mergeOnRead, if (isComposite) "k,j" else "k") + ("hoodie.index.type" -> "BLOOM")
      val model   = mutable.Map.empty[(String, String), Seq[String]].withDefaultValue(Nil)
      def some(v: String, mayDelete: Boolean) =
        Seq.fill(8)(Stored(s"k${random.nextInt(12)}", 1, v, s"p${random.nextInt(3)}",
            mayDelete && random.nextInt(3) == 0)).groupBy(r => (r.part, r.k)).values.map(_.head).toSeq
      def id(r: Stored) = (r.part, if (isComposite) s"k:${r.k},j:${r.j}" else r.k)

      for (commit <- 0 to 4) {
        val inserts = commit == 0 || commit == 2
        val rows    = some(s"v$commit", mayDelete = !inserts)
        write(path, rows, if (inserts) "insert" else "upsert", options)
        rows.foreach { r =>
          if (inserts) model(id(r)) = model(id(r)) :+ r.v
          else if (r.isDeleted) model.remove(id(r))
          else model(id(r)) = model(id(r)).map(_ => r.v) match { case Nil => Seq(r.v); case all => all }
        }
        if (commit == 4 || (isFull && commit == 3)) {
          val keys = Seq.fill(12)(id(Stored(s"k${random.nextInt(14)}", 1, "", s"p${random.nextInt(4)}")))
          for (byPath <- Seq(true, false); filters <- Seq(true, false)) {
            val (found, counts) = lookUp(path, keys, byPath, filters = filters)
            val expected = keys.zipWithIndex.flatMap { case ((part, key), i) =>
              val stored = model.toSeq.filter { case ((p, k), _) => k == key && (!byPath || p == part) }
              stored.flatMap { case ((p, _), values) => values.map(v => (i.toLong, Option(s"$v $p"))) } match {
                case Nil => Seq((i.toLong, None))
                case all => all
              }
            }
            assert(found.flatten.map(f => (f.arrival, f.stored)).sorted == expected.sorted,
              s"seed $seed, commit $commit, by path $byPath, filters $filters")
            assert(counts.read + counts.pruned == counts.all)
            for (task <- found) {
              val ids = task.map(f => if (byPath) f.id else ("", f.id._2))
              assert(ids.distinct.map(one => (ids.indexOf(one), ids.lastIndexOf(one), ids.count(_ == one))).forall {
                case (a, b, n) =>
                  b - a + 1 == n
              })
              assert(ids.zip(task.map(_.arrival)).groupBy(_._1).values.forall(rows =>
                  rows.map(_._2) == rows.map(_._2).sorted))
            }
            assert(found.map(_.map(f => if (byPath) f.id else ("", f.id._2)).distinct).map(_.size).sum == keys.map(k =>
              if (byPath) k else ("", k._2)).distinct.size)
          }
        }
      }
    }

  test("a lookup of a key deleted in a log returns no row but the slice of its tombstone") {
    val path = folder.resolve("t").toString
    write(path, Seq(Stored("a", 1, "a1", "p0"), Stored("b", 1, "b1", "p0")), "insert", options(mergeOnRead = true, "k"))
    write(path, Seq(Stored("a", 1, "", "p0")), "delete", options(mergeOnRead = true, "k"))
    val (found, _) = lookUp(path, Seq("p0" -> "a", "p0" -> "b", "p0" -> "c", "p1" -> "a"), byPath = true)
    val shown      = found.flatten.map(f => s"${f.id._1}/${f.id._2} in ${f.slice}: ${f.stored.mkString}").toSet
    assert(shown == Set("p0/a in 0: ", "p0/b in 0: b1 p0", "p0/c in -1: ", "p1/a in -1: "))
    assert(lookUp(path, Seq("p1" -> "a"), byPath = false)._1.flatten.map(f => (f.slice, f.stored)) == Seq((0, None)))
  }

  test("a lookup finds a key that only logs contain") {
    val path = folder.resolve("t").toString
    val bucketed =
      options(mergeOnRead = true, "k") ++ Map("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "1")
    write(path, Seq(Stored("m", 1, "m1", "p0")), "upsert", bucketed)
    write(path, Seq(Stored("z", 1, "z1", "p0")), "upsert", bucketed)
    assert(lookUp(path, Seq("p0" -> "z"), byPath = true)._1.flatten.map(_.stored) == Seq(Some("z1 p0")))
    assert(lookUp(path, Seq("p9" -> "z"), byPath = false, new StructType)._1.flatten.map(_.stored) == Seq(Some("")))
  }

  test("a source with keys in three of 300 files reads three, and in one partition only its files") {
    val path = folder.resolve("t").toString
    val rows = (0 until 3000).map(i => Stored(f"k$i%05d", 1, s"v$i", "p0"))
    write(path, rows, "bulk_insert",
      options(mergeOnRead = false, "k") + ("hoodie.bulkinsert.shuffle.parallelism" -> "300"))
    write(path, Seq(Stored("k00051", 1, "other", "p1")), "bulk_insert", options(mergeOnRead = false, "k"))
    val files = OpenTable.load(spark, path).view.slices.size
    assert(files > 280)
    val keys            = Seq(51, 2001, 2991).map(i => "p0" -> f"k$i%05d")
    val (found, counts) = lookUp(path, keys, byPath = true)
    assert(found.flatten.map(_.stored).toSet == Set(Some("v51 p0"), Some("v2001 p0"), Some("v2991 p0")))
    // The one file of the other partition is not counted: that partition is not listed.
    assert((counts.read, counts.pruned) == ((3, files - 1 - 3)))
    val (both, all) = lookUp(path, keys, byPath = false)
    assert(both.flatten.size == 4)
    assert(all.read == 4)
    assert(lookUp(path, Seq("p1" -> "k00051"), byPath = true)._2.read == 1)
    assert(lookUp(path, Seq("p7" -> "k00051"), byPath = true)._2.read == 0)
  }
}

private object KeyLookupSuite {
  final case class Stored(k: String, j: Int, v: String, part: String, isDeleted: Boolean = false)

  final case class Found(id: (String, String), arrival: Long, slice: Int, stored: Option[String])

  val schema: StructType = StructType(Seq(
      StructField("k", StringType), StructField("j", IntegerType), StructField("v", StringType),
      StructField("part", StringType),
      StructField("_hoodie_is_deleted", BooleanType)))
}
