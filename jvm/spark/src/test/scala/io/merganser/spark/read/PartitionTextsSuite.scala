package io.merganser.spark.read

import io.merganser.spark.LocalSession
import io.merganser.spark.prune.PartitionPruning
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.PartitionValues
import io.merganser.table.TableSuite
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._

/** What was written to a partition column comes back, whatever its path looks like. */
final class PartitionTextsSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val schema = StructType.fromDDL("k INT, part STRING, v INT")

  private val printable: Seq[Char] = (0x20 to 0x7e).map(_.toChar)

  /** Each character that is no letter or digit by itself, and all of them in one. */
  private val texts: Seq[String] = printable.filterNot(_.isLetterOrDigit).map(_.toString) ++
    Seq("ä日本\uD83E\uDD86", "%41", printable.filterNot(_ == '/').mkString, "a/b", "x=1/y=2")

  private def table: String = folder.resolve("t").toString

  private def upsert(texts: Seq[String], v: Int, options: Map[String, String]): Unit =
    spark.createDataFrame(texts.zipWithIndex.map { case (text, i) => Row(i, text, v) }.asJava, schema).coalesce(1).write
      .format("merganser")
      .options(options).option("hoodie.datasource.write.recordkey.field", "k").option(
        "hoodie.datasource.write.partitionpath.field", "part")
      .mode("append").save(table)

  private def read(
      where: String = "true"
  ): Seq[(Int, String, Int)] = spark.read.format("merganser").load(table).where(where).collect().toSeq
    .map(r => (r.getInt(0), r.getString(1), r.getInt(2))).sorted(Ordering.by[(Int, String, Int), Int](_._1))

  for (hiveStyle <- Seq(false, true); urlEncode <- Seq(false, true))
    test(s"a table with hive style $hiveStyle and url encoding $urlEncode returns every character, empty and null") {
      val options = Map("hoodie.datasource.write.hive_style_partitioning" -> hiveStyle.toString,
        "hoodie.datasource.write.partitionpath.urlencode" -> urlEncode.toString)
      // Without encoding a '/' makes levels, of which none may be empty; without names a level may not be '.'.
      val stored = texts.filter(t => (urlEncode || t != "/") && (hiveStyle || t != ".")) ++ Seq("", null)
      upsert(stored, 1, options)
      if (hiveStyle == urlEncode) upsert(stored, 2, options)
      val expected = stored.zipWithIndex.map { case (text, i) => (i, text, if (hiveStyle == urlEncode) 2 else 1) }
      assert(read() == expected)
      for (text <- Seq("%", "")) assert(read(s"part = '$text'").map(_._1) == Seq(stored.indexOf(text)))
      assert(read("part IS NULL").map(_._2) == Seq(null))
      val opened = OpenTable.load(spark, table)
      val prunes = PartitionPruning(opened.config, opened.schema)
      val values = new PartitionValues(opened, schema)
      val paths  = spark.read.format("merganser").load(table).select("part", "_hoodie_partition_path").collect().toSeq
      for (row <- paths; text = row.getString(0); path = row.getString(1)) {
        assert(prunes.values(path).flatMap(_.get("part")).forall(_ == text), path)
        assert(Option(values.of(path).getUTF8String(0)).map(_.toString) == Option(text).filter(_.nonEmpty), path)
      }
    }
}
