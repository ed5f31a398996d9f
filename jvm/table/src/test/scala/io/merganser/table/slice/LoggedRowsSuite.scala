package io.merganser.table.slice

import io.merganser.merge.Notation
import io.merganser.table.commit.Creation
import io.merganser.table.{DirectTable, FaultyFileSystem, TableSuite}

/** Rows that are newer than the base file of their slice, and what of the base file is read to find them. */
final class LoggedRowsSuite extends TableSuite {

  /** The rows, and how often the base file was opened: of a reader of changes, and of any other. */
  private def newer(batches: Seq[String], more: (String, String)*): (Seq[String], Int) = {
    val storage = faulty(s"t${batches.hashCode}")
    Creation.create(storage, DirectTable.properties(mergeOnRead = true) ++ more)
    val table = new DirectTable(storage, bucketed = true)
    batches.foreach(batch => table.upsert(Notation.changes(batch)))
    var rows = Seq.empty[String]
    val opened = FaultyFileSystem.recorded {
      val (asChanges, asRows) = table.newerThanBase
      assert(asChanges == asRows)
      rows = asChanges
    }.count(_.matches("open .*\\.parquet"))
    (rows.map(row => "k\\d".r.findFirstIn(row).get), opened)
  }

  private val (onlyFooter, all) = (3, 4) // of which two are those of a snapshot read

  test("base rows are not read if the ordering field's statistics show that none can win") {
    val base = "k1@1=a k3@4=b k5@2=c"
    assert(newer(Seq(base, "k1@4=d k7@6=e")) == ((Seq("k1", "k7"), onlyFooter)))
    assert(newer(Seq(base, "k1@5=d", "k3@5- k5@9=e")) == ((Seq("k1", "k5"), onlyFooter)))
    assert(newer(Seq(base, "k1@3=d k3@3=late")) == ((Seq("k1"), all)))
  }

  test("under commit time no row of the base file is read") {
    val rule = Seq("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING", "hoodie.table.ordering.fields" -> "")
    assert(newer(Seq("k1@1=a k3@4=b", "k1@0=d k3- k5@0=e"), rule: _*) == ((Seq("k1", "k5"), onlyFooter)))
  }

  test("a rule that completes rows reads the base file") {
    val rule = "hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS"
    assert(newer(Seq("k1@1=a k3@4=b", "k1@5=d"), rule) == ((Seq("k1"), all)))
  }
}
