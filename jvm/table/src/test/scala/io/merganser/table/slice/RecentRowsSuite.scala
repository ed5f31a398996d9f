package io.merganser.table.slice

import io.merganser.merge.{BuiltInRules, Histories, Notation}
import io.merganser.table.base.{BaseFileFooter, RecentRows}
import io.merganser.table.commit.Creation
import io.merganser.table.storage.Storage
import io.merganser.table.{DirectTable, TableSuite}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}

import java.nio.file.{Files, Path}
import scala.collection.JavaConverters._
import scala.util.Random

/** The rows that a rewritten base file has a second time, and readers of changes. */
final class RecentRowsSuite extends TableSuite {

  private def create(name: String, share: Double, mergeOnRead: Boolean = false) = {
    val storage = Storage(folder.resolve(name).toUri.toString, new Configuration())
    Creation.create(storage, DirectTable.properties(mergeOnRead))
    new DirectTable(storage, bucketed = false, recentRows = share)
  }

  private def instants(table: DirectTable): Seq[String] = table.timeline.completed.map(_.requested)

  /** The base file of the newest commit, in partition p1. */
  private def newest(table: DirectTable): Path = {
    val files = Files.list(folder.resolve("t").resolve("p1"))
    try files.iterator.asScala.find(_.getFileName.toString.endsWith(s"${instants(table).last}.parquet")).get
    finally files.close()
  }

  private def overwrite(file: Path, bytes: Array[Byte]): Unit = {
    Files.write(file, bytes)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  private def recent(table: DirectTable): Option[RecentRows] =
    RecentRows.of(BaseFileFooter.read(table.storage.conf, new HadoopPath(newest(table).toUri)))

  private def keys(rows: Seq[String]): Seq[String] = rows.map("k\\d+".r.findFirstIn(_).get)

  test("changed rows are read from their section for as many commits as the share allows") {
    val table = create("t", share = 0.5)
    table.upsert(Notation.changes((1 to 15 by 2).map(i => s"k$i@1=a").mkString(" ")))
    assert(recent(table).isEmpty, "a new file has none")
    table.upsert(Notation.changes("k3@2=b k5@2=c"))
    table.upsert(Notation.changes("k5@3=d k7@3=e k9@0=late"))
    val commits = instants(table)
    assert(recent(table).map(_.after).contains(commits.head))

    // The rows elsewhere in the file are gone.
    val (file, section) = (newest(table), recent(table).get.section)
    val bytes           = Files.readAllBytes(file)
    (4 until section.start.toInt).foreach(bytes(_) = 0)
    overwrite(file, bytes)
    assert(keys(table.rowsSince(commits(1))) == Seq("k3", "k5", "k7"))
    assert(keys(table.rowsSince(commits(2))) == Seq("k5", "k7"))
    intercept[Exception](table.rowsSince(commits.head))

    // A byte of the section itself is an error too.
    bytes(section.start.toInt + section.length / 2) = (bytes(section.start.toInt + section.length / 2) ^ 1).toByte
    overwrite(file, bytes)
    assert(conditionOf(table.rowsSince(commits(1))) == "BASE_FILE_UNREADABLE")
  }

  test("older commits are left out of the section if newer ones changed more rows than the share") {
    val table = create("t", share = 0.3)
    table.upsert(Notation.changes((1 to 19 by 2).map(i => s"k$i@1=a").mkString(" ")))
    table.upsert(Notation.changes("k1@2=b k3@2=b"))
    table.upsert(Notation.changes("k5@3=c k7@3=c"))
    assert(recent(table).map(_.after).contains(instants(table)(1)))
    table.upsert(Notation.changes("k1@4=d k3@4=d k5@4=d k7@4=d"))
    assert(recent(table).isEmpty)
    table.upsert(Notation.changes("k9@5=e"))
    assert(recent(table).map(_.after).contains(instants(table)(3)))
  }

  test("a file written without a share has no section of recent rows") {
    val table = create("t", share = 0.0)
    table.upsert(Notation.changes("k1@1=a k3@1=b"))
    table.upsert(Notation.changes("k1@2=c"))
    assert(recent(table).isEmpty)
  }

  for (mergeOnRead <- Seq(false, true); share <- Seq(0.4, 1.0))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}, share $share: recent rows equal those of files " +
        "without a section") {
      val random = new Random(Histories.seed)
      val table  = create("t", share, mergeOnRead)
      var used   = 0
      for (_ <- 0 until 8) {
        table.upsert(Seq.fill(1 + random.nextInt(4))(
            new Histories(partials = true, BuiltInRules.Unavailable).change(random, keys = 12)))
        if (mergeOnRead && random.nextBoolean()) table.compact()
        instants(table).foreach { since =>
          assert(table.rowsSince(since) == table.filteredSince(since), s"since $since, seed ${Histories.seed}")
        }
        used += table.sections
      }
      assert(used > 0)
    }
}
