package io.merganser.spark.size

import java.nio.file.Files

import io.merganser.spark.LocalSession
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{LargeTable, LargeTableFileSystem, TableSuite}

import scala.collection.JavaConverters._

/** Tables of many file groups and commits; with MERGANSER_FULL=1 in their full size and with calls of 20 ms. */
trait LargeTables extends LocalSession { this: TableSuite =>

  protected val isFull: Boolean = sys.env.get("MERGANSER_FULL").contains("1")

  /** What each call of the file system takes, in milliseconds. */
  protected val callMs: Long = if (isFull) 20 else 2

  /** Calls that run at the same time at least: short ones end before a busy machine has begun many more. */
  protected val atOnce: Int = if (isFull) 32 else 8

  /** A hundred thousand file groups and ten thousand commits, or a tenth of them. */
  protected val scale: Int = if (isFull) 10 else 1

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.hadoopConfiguration.set(LargeTableFileSystem.Setting._1, LargeTableFileSystem.Setting._2)
  }

  override def afterAll(): Unit =
    try LargeTableFileSystem.clear()
    finally super.afterAll()

  /** Paths of `count` partitions with `each` groups. */
  protected def even(count: Int, each: Int): IndexedSeq[(String, Int)] = (0 until count).map(i => f"p$i%04d" -> each)

  /**
   * A table `name` at a path of scheme `large`, created by a write of ten rows of partition p0000.
   *
   * @param partitions of the table that the file system presents
   * @param without    properties that the table does not store
   * @param replaced   see [[LargeTable]]
   * @param more       options of its creation
   */
  protected def large(
      name: String,
      partitions: IndexedSeq[(String, Int)],
      commits: Int,
      archived: Int = 0,
      mergeOnRead: Boolean = false,
      columns: Seq[String] = Seq("part"),
      without: Set[String] = Set.empty,
      replaced: Int = 0,
      more: Map[String, String] = Map.empty
  ): (String, LargeTable) = {
    val parts = columns.map(c => s"'p0000' AS $c")
    val rows  = spark.range(10).selectExpr(Seq("concat('k', id) AS k", "1L AS ts", "'v' AS v") ++ parts: _*)
    val options = this.options(mergeOnRead, bucketed = false) ++
      Map("hoodie.datasource.write.partitionpath.field" -> columns.mkString(",")) ++ more
    val seed = folder.resolve(s"$name-seed")
    rows.coalesce(1).write.format("merganser").options(options).save(seed.toString)
    val opened = OpenTable.load(spark, seed.toString)
    val base   = opened.view.slices.head.base.get
    val schema = opened.timeline.tableSchemaJson.get
    val root   = folder.resolve(name)
    Files.createDirectories(root.resolve(".hoodie"))
    val properties = ".hoodie/hoodie.properties"
    val kept = Files.readAllLines(seed.resolve(properties)).asScala.filterNot(line =>
      without(line.takeWhile(_ != '=')) || line.startsWith("hoodie.table.checksum"))
    Files.write(root.resolve(properties), kept.asJava)
    val table = new LargeTable(root, partitions, commits, archived, seed.resolve(base.path), schema, mergeOnRead,
      replaced)
    LargeTableFileSystem.register(table)
    (s"large://$root", table)
  }

  protected def megabytesInUse(): Long = {
    System.gc()
    val runtime = Runtime.getRuntime
    (runtime.totalMemory - runtime.freeMemory) >> 20
  }
}
