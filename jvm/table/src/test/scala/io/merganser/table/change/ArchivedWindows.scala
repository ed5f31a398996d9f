package io.merganser.table.change

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.{Creation, Transaction}
import io.merganser.table.options.HistorySettings
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.{Archiving, Restoring, Savepoints}
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.timeline.{InstantTime, OperationType}

/**
 * Reads of the past once commits were archived: of windows that begin before the timeline, in it and behind it, as of
 * each commit, and what a stream begins with.
 */
abstract class ArchivedWindows extends TableSuite {
  import ArchivedWindows._

  protected def created(version: Int, mergeOnRead: Boolean, bucketed: Boolean): DirectTable = {
    Creation.create(storage,
      DirectTable.properties(mergeOnRead) ++ Map(
        "hoodie.table.version" -> version.toString,
        "hoodie.table.initial.version" -> version.toString,
        "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1")))
    new DirectTable(storage, bucketed, Transaction.Options(heartbeatMs = Some(10000L)))
  }

  protected def archive(minCommits: Int): Int = new Archiving(storage, TableConfig.load(storage),
    ArchiveConfig(minCommits = minCommits, maxCommits = minCommits, beyondSavepoint = true, deltaCommits = 1,
      history = HistorySettings(batch = 3))).run().instants

  private def tried(read: => Seq[Any]): String =
    try read.map(_.toString).sorted.mkString(" ")
    catch { case e: MerganserException => e.getMessage }

  protected def shown(read: => Seq[(String, Seq[(Option[Any], Option[Any])])]): String = tried(read.map {
    case (instant, images) =>
      s"$instant: " + images.map { case (a, b) => s"${a.getOrElse("-")} > ${b.getOrElse("-")}" }.sorted.mkString(", ")
  })

  /** What each read returns, by its name. */
  protected def answers(table: DirectTable, commits: Seq[(String, String)]): Map[String, String] = {
    val times = commits.map(_._2)
    val windows = times.map(until => ("earliest", Some(until))) ++ times.map(since => (since, None)) ++
      times.zip(times.drop(1)).map { case (since, until) => (since, Some(InstantTime.preceding(until))) }.take(4)
    (windows.flatMap { case (since, until) =>
      val window = s"since $since until ${until.getOrElse("now")}"
      Seq(s"changes $window" -> shown(table.imagesIn(since, until)),
        s"rows $window" -> tried(table.changedIn(since, until)))
    } ++ times.map(time => s"snapshot at $time" -> shown(table.snapshotImages(time))) ++
      commits.map { case (instant, _) =>
        s"as of $instant" -> tried(table.rowsAsOf(instant))
      } :+
      ("now" -> tried(table.rows))).toMap
  }

  /** Archives one commit after the other; after each, every read returns what it did before. */
  protected def requireSameAnswers(table: DirectTable, history: DirectTable => Unit): Unit = {
    upsert(table, "k1@10=a k3@10=b k5@10=c k2@10=x")
    upsert(table, "k1@20=d k3@5=late k2@20=y")
    history(table)
    val completed = table.timeline.completed
    val commits   = completed.map(i => (i.requested, i.completed.getOrElse(i.requested)))
    val expected  = answers(table, commits)
    var steps     = 0
    for (left <- completed.size - 1 to 1 by -1) if (archive(left) > 0) {
      val found = answers(table, commits)
      val other = expected.keys.toSeq.sorted.filter(read => found(read) != expected(read))
      assert(other.map(read => s"$read: ${found(read)}\n  instead of ${expected(read)}").mkString("\n") == "",
        s"of ${commits.mkString(" ")} are left ${table.timeline.completed.map(_.requested).mkString(" ")}")
      steps += 1
    }
    assert(steps >= 2)
  }
}

object ArchivedWindows {

  def upsert(table: DirectTable, changes: String): Unit = { table.upsert(Notation.changes(changes)); () }

  def savepoint(table: DirectTable, instants: String*): Unit = instants.foreach(instant =>
    new Savepoints(table.storage, TableConfig.load(table.storage)).create(Some(instant), "", ""))

  /** A write that begins before another one and completes after it. */
  def overlapping(table: DirectTable): Unit = {
    val long = table.begun(Notation.changes("k1@36=long k9@36=long"))
    upsert(table, "k2@25=short")
    long.commit()
    ()
  }

  private def restoring(table: DirectTable) = new Restoring(table.storage, TableConfig.load(table.storage))

  /** Around partition p1, whose rows are in base files and, if merge on read, in logs. */
  val histories: Seq[(String, DirectTable => Unit)] = Seq(
    "inserts, updates and deletes" -> { t =>
      Seq("k9@1=new k11@1=new", "k1@31=u k3@32=u k7@11=u", "k1- k3@99-").foreach(upsert(t, _))
    },
    "compactions and log compactions" -> { t =>
      if (TableConfig.load(t.storage).isMergeOnRead) t.compactLogs()
      Seq("k1@31=u k3@32=u", "k1@32=t").foreach(upsert(t, _))
      if (TableConfig.load(t.storage).isMergeOnRead) t.compact()
    },
    "writes that overlap" -> { t =>
      overlapping(t)
      upsert(t, "k2@26=y")
    },
    "savepoints" -> { t =>
      val instants = t.timeline.completed.map(_.requested)
      savepoint(t, instants.head, instants.last)
      Seq("k1@31=u k3@32=u", "k1@32=t").foreach(upsert(t, _))
    },
    "a restore and a rollback" -> { t =>
      upsert(t, "k1@90=taken")
      val restored = t.timeline.completed.takeRight(2).head.requested
      upsert(t, "k1@91=taken k13@1=taken")
      restoring(t).restore(restored)
      upsert(t, "k1@31=u")
      t.overwrite(OperationType.DeletePartition, Set("p1"))
      restoring(t).rollback(None)
      ()
    },
    "an overwritten partition" ->
      (_.overwrite(OperationType.InsertOverwrite, Set("p1"), Notation.changes("k1@1=o k9@1=o"))),
    "a deleted partition" -> (_.overwrite(OperationType.DeletePartition, Set("p1"))),
    "an overwritten table" ->
      (_.overwrite(OperationType.InsertOverwriteTable, Set("p0", "p1"), Notation.changes("k1@1=o k2@1=o"))),
    "a clustering" -> (_.cluster()),
    "replaced groups one after the other" -> { t =>
      t.cluster()
      t.overwrite(OperationType.InsertOverwrite, Set("p1"), Notation.changes("k1@33=o k9@1=o"))
      upsert(t, "k1@34=u")
      t.overwrite(OperationType.InsertOverwrite, Set("p1"), Notation.changes("k1@35=p"))
    }
  )
}
