package io.merganser.table

import java.nio.file.Files

import io.merganser.merge.{Change, Histories, Oracle}
import io.merganser.table.config.TableConfig
import org.apache.hadoop.conf.Configuration
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Random histories through files: written, appended, compacted and read without an engine, against the oracle. */
final class WholePathSuite extends AnyFunSuite with BeforeAndAfterEach {

  private val perKind = 30

  private var folder: java.nio.file.Path = _

  override protected def beforeEach(): Unit = folder = Files.createTempDirectory("merganser-histories")

  override protected def afterEach(): Unit = { org.apache.hadoop.fs.FileUtil.fullyDelete(folder.toFile); () }

  for {
    mode        <- Seq(Oracle.EventTime, Oracle.CommitTime)
    mergeOnRead <- Seq(false, true)
    bucketed    <- Seq(false, true)
  } test(s"$mode, ${if (mergeOnRead) "merge on read" else "copy on write"}, ${if (bucketed) "bucketed" else "by stored key"}: " +
    s"$perKind random histories read as the oracle has them after every write and compaction") {
    for (i <- 0 until perKind) {
      val random  = new Random(Histories.seed + i)
      val table   = create(s"t$i", mergeOnRead, bucketed, mode == Oracle.EventTime)
      var groups  = Map.empty[String, Group]
      val history = Seq.newBuilder[String]
      for (_ <- 0 until 2 + random.nextInt(4)) {
        val batch = Seq.fill(1 + random.nextInt(6))(new Histories(partials = true).change(random, keys = 6))
        history += batch.mkString(" ")
        table.upsert(batch).foreach { part =>
          val group = groups.getOrElse(part.fileId, Group())
          val after =
            if (part.isLog) group.copy(versions = group.versions ++ part.changes)
            else Group(rowsOf(mode, Group(rowsOf(mode, group), part.changes)))
          groups += part.fileId -> after
        }
        compare(mode, table, groups, history.result(), i)
        if (mergeOnRead && random.nextInt(3) == 0) {
          history += "compaction"
          table.compact()
          groups = groups.map { case (id, group) => id -> Group(rowsOf(mode, group)) }
          compare(mode, table, groups, history.result(), i)
        }
      }
    }
  }

  private def rowsOf(mode: Oracle.Mode, group: Group): Seq[Change] = Oracle.rows(Oracle.merge(mode, group.base, group.versions))

  private def compare(mode: Oracle.Mode, table: DirectTable, groups: Map[String, Group], history: Seq[String], i: Int): Unit = {
    def sorted(rows: Iterable[Change]) = rows.map(_.toString).toSeq.sorted
    val clue                           = s"history $i of seed ${Histories.seed}: ${history.mkString(" | ")}"
    assert(sorted(table.rows) == sorted(groups.values.flatMap(rowsOf(mode, _))), clue)
    assert(sorted(table.readOptimizedRows) == sorted(groups.values.flatMap(_.base)), clue)
  }

  private def create(name: String, mergeOnRead: Boolean, bucketed: Boolean, eventTime: Boolean): DirectTable = {
    val storage = Storage(folder.resolve(name).toUri.toString, new Configuration())
    TableConfig.create(storage, DirectTable.properties(mergeOnRead, eventTime))
    new DirectTable(storage, bucketed)
  }
}

/** What a file group must hold: stored rows, and the versions in its log files. */
private final case class Group(base: Seq[Change] = Nil, versions: Seq[Change] = Nil)
