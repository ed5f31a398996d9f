package io.merganser.table.service

import io.merganser.table.{Leftovers, TableSuite}
import io.merganser.table.commit.{Rollback, Transaction}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Action

/** Change files (`.cdc`) stay as long as the slice of their write, and go with it. */
final class ChangeFilesSuite extends TableSuite with CleaningFixture with RestoreFixture {

  /** Instants of the change files of group `a`. */
  private def changesOf(s: Storage): Seq[String] =
    short(data(s).filter(_.endsWith(".cdc")).toSeq.sorted).map(_.stripPrefix(".a_").takeWhile(_ != '.'))

  private def upserted(version: Int, instants: String*): Storage = {
    val s = storage
    table(version, s)
    instants.foreach(write(s, _, Seq("a"), changes = Seq("a")))
    if (version < 8) completeInOrder(s)
    s
  }

  for (version <- Seq(6, 9))
    test(s"version $version: a clean deletes and counts change files with their slices") {
      val s    = upserted(version, "100", "200", "300", "400", "500")
      val done = clean(s, commits(2)).head
      assert(done.filesDeleted == 4 && done.bytesDeleted == 4 && changesOf(s) == Seq("300", "400", "500"))
      assert(names(s, "p").count(_.endsWith(".parquet")) == 3)
    }

  test("a clean by file versions keeps change files of saved slices and deletes those of replaced groups") {
    val s = upserted(9, "100", "200", "300")
    savepoint(s, "100", Map("p" -> Seq(base("a", "100"))))
    clean(s, versions(1))
    assert(changesOf(s) == Seq("100", "300"))
    write(s, later("600"), Seq("c"), action = "replacecommit", replaced = Seq("a"))
    s.list(".hoodie/timeline").map(_.getPath.getName).filter(_.endsWith("savepoint")).foreach(n =>
      s.delete(s".hoodie/timeline/$n"))
    new Cleaning(s, TableConfig.load(s), versions(1)).onRequest()
    assert(changesOf(s).isEmpty && data(s) == Set(base("c", later("600"))))
  }

  test("a later clean deletes change files without their slices unless their write is running") {
    val s = storage
    table(9, s)
    write(s, "100", Seq("b"))
    Seq("200", "300", "400").foreach(write(s, _, Seq("a"), changes = Seq("a")))
    s.createNew(changeFile("a", "100"), Array[Byte](1))
    s.createNew(changeFile("a", "050"), Array[Byte](1))
    s.createNew(s".hoodie/timeline/${t("050")}.commit.requested", Array.emptyByteArray)
    write(s, "500", Seq("a"))
    assert(preview(s, versions(2)).filter(_.endsWith(".cdc")).map(changed) == Set("100", "200", "300"))
  }

  private def changed(name: String): String = short(Seq(name)).head.stripPrefix(".a_").takeWhile(_ != '.')

  for (version <- Seq(6, 9))
    test(s"version $version: a restore deletes exactly the change files of the removed writes") {
      val s               = faulty(s"t$version")
      val table           = created(s, version, mergeOnRead = true)
      val (f, l)          = (upsert(table, "k1@1=a"), upsert(table, "k1@2=b"))
      val group           = view(s).slices.head
      def file(i: String) = s"${group.partitionPath}/.${group.fileId}_$i.log.1_0-0-0.cdc".stripPrefix("/")
      Seq(f, l).foreach(i => s.createNew(file(i), Array[Byte](1)))
      restoring(s).restore(f)
      assert(s.exists(file(f)) && !s.exists(file(l)) && rowsOf(s).size == 1)
    }

  for (version <- Seq(6, 9))
    test(s"version $version: a rollback of another engine's write finds change files by name") {
      val s      = storage
      val config = table(version, s)
      val failed = Transaction.begin(s, config, Action.Commit)
      failed.markers.close()
      failed.markers.deleteAll()
      val file = s"p/.a_${failed.instant}.log.1_0-0-0.cdc"
      s.createNew(file, Array[Byte](1))
      Rollback.failed(s, config, Transaction.Options())
      assert(!s.exists(file) && Leftovers.of(s).isEmpty)
    }
}
