package io.merganser.spark.service

import java.nio.file.{Files, Path => NioPath}

import io.merganser.Extensive
import io.merganser.spark.write.FaultPoints
import io.merganser.table.{Leftovers, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, Timeline}

import scala.collection.JavaConverters._

/**
 * A file system that fails at an operation of a repair of duplicates: on both types of tables, one of each layout of
 * the timeline, and of one in two commits; on all of them with MERGANSER_FULL=1.
 */
@Extensive
final class RepairFaultsSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  private def repair(storage: Storage): Unit = {
    spark.sql(s"CALL repair_deduplicate(path => '$storage', dry_run => false)").collect()
    ()
  }

  private val tables = Seq("6" -> false, "9" -> true) ++ (if (isFull) Seq("9" -> false, "6" -> true) else Nil)

  for ((version, mergeOnRead) <- tables)
    test(
      s"a repair of duplicates, version $version, ${if (mergeOnRead) "merge on read" else "copy on write"}: " +
        "after any failed operation rows are old or merged, and the next one completes it") {
      val created = options(mergeOnRead, bucketed = false) + ("hoodie.write.table.version" -> version)
      val inserts = created - "hoodie.write.table.version" + ("hoodie.datasource.write.operation" -> "bulk_insert")
      val prepared: NioPath = {
        val storage = faulty("prepared")
        write(storage, "k1@10=a k2@20=b k3@10=c", created)
        write(storage, "k1@15=A k2@15=B k4@10=d", inserts)
        folder.resolve("prepared")
      }
      everyRepair(prepared, mergeOnRead, copies = 6)(_ => true)
    }

  for (mergeOnRead <- if (isFull) Seq(false, true) else Seq(true))
    test(
      s"a repair of buckets, merge on read $mergeOnRead: after any failed operation rows are old or merged, and " +
        "the next one completes it") {
      val prepared: NioPath = {
        val storage = faulty("prepared")
        val created = options(mergeOnRead, bucketed = true) + ("hoodie.bucket.index.num.buckets" -> "4")
        write(storage, "k1@10=a k2@20=b k3@10=c k4@10=d k5@10=e k6@10=f", created)
        haveBuckets(storage, 2)
        write(storage, "k1@15=A k2@15=B k3@15=C k4@15=D k5@15=E k6@15=F", Map.empty)
        folder.resolve("prepared")
      }
      val all = copy(prepared, "emptied")
      assert(groups(all).exists(_ >= 2))
      repair(all)
      assert(groups(all).forall(_ < 2))
      val commits = Timeline.load(all, TableConfig.load(all)).completed.map(_.action)
      assert(commits.last == Action.ReplaceCommit && commits.count(_ == Action.ReplaceCommit) == 1, commits)
      val copies = seen(copy(prepared, "copies")).rows.size
      everyRepair(prepared, mergeOnRead, copies)(storage => groups(storage).forall(_ < 2))
    }

  /** The numbers of buckets in the names of the file groups that a reader finds. */
  private def groups(storage: Storage): Seq[Int] = {
    val files = spark.newSession().read.format("merganser").load(storage.toString).select("_hoodie_file_name").collect()
    files.map(_.getString(0).take(8).toInt).toSeq
  }

  /** As if other writers had another number of buckets: some keys are in buckets that they do not look for. */
  private def haveBuckets(storage: Storage, number: Int): Unit = {
    val file  = folder.resolve("prepared/.hoodie/hoodie.properties")
    val lines = Files.readAllLines(file).asScala.filterNot(_.contains("checksum"))
    val name  = "hoodie.bucket.index.num.buckets"
    assert(lines.exists(_.startsWith(name)), lines)
    val text = folder.resolve("buckets.properties")
    Files.write(text, lines.map(line => if (line.startsWith(name)) s"$name=$number" else line).asJava)
    spark.sql(s"CALL repair_overwrite_hoodie_props(path => '$storage', new_props_file_path => '$text')").collect()
    ()
  }

  private def everyRepair(prepared: NioPath, mergeOnRead: Boolean, copies: Int)(isWhole: Storage => Boolean): Unit = {
    val old = seen(copy(prepared, "old"))
    val all = copy(prepared, "all")
    repair(all)
    val merged = seen(all)
    assert(old.rows.size == copies && merged.rows.size < copies)
    points(prepared)(repair) { (storage, isDone, failed) =>
      val now = seen(storage)
      assert(if (isDone) now == merged else now == old || now == merged, failed)
      Leftovers.age(storage)
      repair(storage)
      assert(seen(storage) == merged && isWhole(storage), failed)
      // A compaction that was planned before the fault is run by the next one.
      if (mergeOnRead) spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$storage')").collect()
      assert(seen(storage) == merged && Leftovers.of(storage).isEmpty, failed)
    }
  }
}
