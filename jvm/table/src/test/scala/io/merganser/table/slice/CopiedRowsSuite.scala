package io.merganser.table.slice

import io.merganser.merge.{Change, Histories}
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import io.merganser.table.{DirectTable, HadoopDefaults, TableSuite}

import scala.collection.JavaConverters._
import scala.util.Random

/**
 * Writes and compactions that copy row groups and columns of base files, beside those of the same batches that copy
 * nothing.
 */
final class CopiedRowsSuite extends TableSuite {

  private def create(
      name: String,
      copiesFromBytes: Long,
      mergeOnRead: Boolean,
      eventTime: Boolean,
      share: Double = 0.0,
      bucketed: Boolean = false
  ): DirectTable = {
    val storage = Storage(folder.resolve(name).toUri.toString, HadoopDefaults.shared)
    Creation.create(storage,
      DirectTable.properties(mergeOnRead, eventTime) +
        ("hoodie.table.cdc.enabled" -> "true"))
    new DirectTable(storage, bucketed, recentRows = share, rowGroupBytes = if (mergeOnRead) 4000 else 8000,
      copiesFromBytes = copiesFromBytes)
  }

  private def change(number: Int, random: Random): Change = {
    val isDelete = random.nextInt(10) == 0
    def text     = if (isDelete || random.nextInt(4) == 0) None else Some(s"v${random.nextInt(9)}")
    Change(f"k$number%05d", if (random.nextInt(9) == 0) None else Some(random.nextInt(4).toLong), Seq(text, text),
      isDelete)
  }

  /** Keys with numbers in a range, each with a probability. */
  private def batch(random: Random): Seq[Change] = {
    val (from, size) = (random.nextInt(2200), Seq(1, 30, 2200)(random.nextInt(3)))
    val share        = Seq(0.01, 0.3, 1.0)(random.nextInt(3))
    val keys         = (from until from + size).filter(_ => random.nextDouble() < share)
    val stored       = if (random.nextBoolean()) keys.filter(_ % 3 > 0) else keys
    random.shuffle(stored.flatMap(key => Seq.fill(1 + random.nextInt(2))(change(key, random))))
  }

  /** The numbers of rows in the row groups of each base file, in the order of the partitions. */
  private def rowGroupsOf(table: DirectTable): Seq[Seq[Long]] = {
    val config = TableConfig.load(table.storage)
    val view   = new TableView(table.storage, config, Timeline.load(table.storage, config))
    view.slices.sortBy(_.partitionPath).flatMap(_.base).map(base =>
      BaseFileFooter.read(table.storage.conf, table.storage.path(base.path)).metadata.getBlocks.asScala
        .map(_.getRowCount).toList)
  }

  /** Instants as their numbers, which are those of both tables. */
  private def numbered(table: DirectTable): Map[String, Int] =
    table.timeline.completed.map(_.requested).zipWithIndex.toMap

  for (mergeOnRead <- Seq(false, true); eventTime <- Seq(true, false); share <- Seq(0.0, 0.2))
    test(
      s"the same rows, commit columns, changes and recent rows, merge on read $mergeOnRead, event time $eventTime, " +
        s"share $share") {
      for (i <- 0 until 5) withClue(s"seed ${Histories.seed + i}: ") {
        val random = new Random(Histories.seed + i)
        val tables = Seq("copied" -> 0L, "written" -> Long.MaxValue).map { case (name, from) =>
          create(s"$name$i", from, mergeOnRead, eventTime, share, bucketed = mergeOnRead) // new keys are in logs too
        }
        def requireEqual[T](of: DirectTable => T) = assert(of(tables.head) == of(tables.last))
        val count                                 = if (mergeOnRead) 6000 else 2000 // logs are small beside the files
        val first = (0 until count).filter(_ % 3 > 0).map(n => change(n, random).copy(isDelete = false))
        tables.foreach(_.upsert(first))
        assert(rowGroupsOf(tables.head).map(_.size).max > 2)
        for (_ <- 0 until 5) {
          val changes = batch(random)
          if (changes.nonEmpty) tables.foreach(_.upsert(changes))
          if (mergeOnRead && random.nextInt(3) > 0) tables.foreach(_.compact())
          requireEqual(_.rows.map(_.toString).sorted)
          requireEqual { table =>
            val numbers = numbered(table)
            table.commitColumns.map { case (key, time, seqno) => (key, numbers(time), seqno.dropWhile(_ != '_')) }
          }
          requireEqual(table => table.rowsSince(table.timeline.completed.last.requested).size)
        }
        requireEqual(_.imagesByCommit.map(_._2.map(_.toString).sorted))
      }
    }

  test("a compaction of small logs copies row groups") {
    val table          = create("compacted", 0L, mergeOnRead = true, eventTime = true, bucketed = true)
    val (some, others) = (new Random(1), new Random(2))
    table.upsert((0 until 20000).map(n => change(n, some).copy(isDelete = false)))
    val before = rowGroupsOf(table)
    val larger = new DirectTable(table.storage, bucketed = true, rowGroupBytes = 16000, copiesFromBytes = 0L)
    table.upsert((100 until 140).map(n => change(n, others).copy(isDelete = false)))
    larger.compact()
    assert(before.forall(_.size > 3) && rowGroupsOf(table).map(_.size) == before.map(_.size))
  }

  /** Slices of a partition: a new one begins where all others have logs. */
  private def withSlices(table: DirectTable, random: Random): Unit = {
    table.upsert((0 until 1500).filter(_ % 5 > 0).map(n => change(n, random).copy(isDelete = false)))
    table.upsert((1 until 500 by 5).map(change(_, random)))
    table.upsert((1500 until 2500).filter(_ % 5 > 0).map(n => change(n, random).copy(isDelete = false)))
    table.upsert((2000 until 2700 by 5).map(n => change(n, random)))
  }

  for (mergeOnRead <- Seq(false, true); eventTime <- Seq(true, false))
    test(s"slices that become one file have the same rows, merge on read $mergeOnRead, event time $eventTime") {
      for (i <- 0 until 5) withClue(s"seed ${Histories.seed + i}: ") {
        val tables = Seq("copied" -> 0L, "written" -> Long.MaxValue).map { case (name, from) =>
          val random = new Random(Histories.seed + i)
          val table  = create(s"$name$i", from, mergeOnRead, eventTime)
          withSlices(table, random)
          table.join()
          table.upsert(batch(random) :+ change(1, random))
          table.join()
          table.upsert(batch(random) :+ change(2, random))
          table
        }
        def requireEqual[T](of: DirectTable => T) = assert(of(tables.head) == of(tables.last))
        requireEqual(_.rows.map(_.toString).sorted)
        requireEqual { table =>
          val numbers = numbered(table)
          table.commitColumns.map { case (key, time, _) => (key, numbers(time)) }
        }
        requireEqual(_.imagesByCommit.map(_._2.map(_.toString).sorted))
      }
    }

  test("row groups of the slices that become one file are those of the file, if they are large enough") {
    val table = create("joined", 0L, mergeOnRead = true, eventTime = true)
    withSlices(table, new Random(1))
    table.compact()
    val before = rowGroupsOf(table)
    table.join()
    assert(before.size == 4 && before.forall(_.size > 2))
    assert(rowGroupsOf(table).map(_.sorted) == before.grouped(2).map(_.flatten.sorted).toSeq)
    val larger = new DirectTable(table.storage, bucketed = false, rowGroupBytes = 1 << 20, copiesFromBytes = 0L)
    larger.join()
    assert(rowGroupsOf(larger).map(_.size) == Seq(1, 1))
  }

  test("a file of slices without rows is not written") {
    val table = create("gone", 0L, mergeOnRead = true, eventTime = false)
    withSlices(table, new Random(1))
    table.upsert(table.rows.map(_.copy(isDelete = true)))
    table.join()
    assert(table.rows.isEmpty && rowGroupsOf(table).isEmpty)
  }
}
