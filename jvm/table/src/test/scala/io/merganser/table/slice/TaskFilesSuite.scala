package io.merganser.table.slice

import io.merganser.merge.Notation
import io.merganser.merge.buffer.InTask
import io.merganser.table.{DirectTable, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.base.BaseFileOptions
import io.merganser.table.commit.{Creation, Rollback, Transaction}
import io.merganser.table.file.{FileNames, Marker, MarkerKind, WriteToken}
import io.merganser.table.log.LogOptions
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

import java.io.IOException

/** Attempts of a task that Spark does not kill, as on an executor that it has lost: their write has ended meanwhile. */
final class TaskFilesSuite extends TableSuite with InTask {

  private def created(version: String = "9"): Storage = {
    val s = faulty("t")
    Creation.create(s,
      DirectTable.properties(mergeOnRead = true) ++ Map("hoodie.table.version" -> version,
        "hoodie.timeline.layout.version" -> (if (version == "6") "1" else "2")))
    new DirectTable(s, bucketed = false).upsert(Notation.changes("k1@1=a"))
    s
  }

  private def begun(s: Storage): Transaction = Transaction.begin(s, TableConfig.load(s), Action.DeltaCommit)

  private def writer(s: Storage, transaction: Transaction): SliceWriter =
    SliceWriter(s, TableConfig.load(s), DirectTable.schema, transaction.instant, transaction.markers,
      BaseFileOptions(codec = "uncompressed"), LogOptions())

  /** One row of a new file group. */
  private def file(writer: SliceWriter, token: WriteToken, key: String): Seq[WrittenFile] = {
    val row = new GenericInternalRow(SliceWriter.rowSchema(DirectTable.schema).length)
    row.update(DirectTable.schema.length, UTF8String.fromString(key))
    row.update(DirectTable.schema.length + 1, UTF8String.fromString("p1"))
    writer.rewrite("p1", FileNames.newFileId(), Iterator[InternalRow](row), updatesCommitMetadata = true, token)
  }

  /** A task that writes files, one for each key. */
  private def task(writer: SliceWriter, keys: Seq[String])(before: String => Unit): Seq[WrittenFile] =
    inTask(TaskFiles.write(writer, run = 0)(token =>
        keys.iterator.flatMap { key => before(key); file(writer, token, key) }).toList)

  private def commit(transaction: Transaction, files: Seq[WrittenFile]): Unit = {
    val metadata = CommitMetadata(OperationType.Upsert, files.map(_.stat).groupBy(_.partitionPath), Map.empty)
    transaction.commit(metadata, Set.empty)
    ()
  }

  /** Data files of an instant. */
  private def dataFiles(s: Storage, instant: String): Seq[String] =
    names(s, "p1").filter(FileNames.instant(_).contains(instant)).toSeq

  private val ends: Seq[(String, (Storage, Transaction, SliceWriter) => Unit)] = Seq(
    "has been committed" -> { (_, transaction, writer) =>
      commit(transaction, file(writer, WriteToken(0, 0, 99), "k3"))
    },
    "has been rolled back" -> { (s, _, _) =>
      Rollback.failed(s, TableConfig.load(s), Transaction.Options()); ()
    }
  )

  for ((what, end) <- ends) {
    val named = if (what.endsWith("committed")) 1 else 0

    test(s"an attempt begins no file and removes its own once its write $what") {
      val s           = created()
      val transaction = begun(s)
      val files       = writer(s, transaction)
      val error = intercept[IOException](task(files, Seq("k5", "k7"))(key =>
          if (key == "k7") end(s, transaction, files)))
      assert(error.getMessage.contains(s"write ${transaction.instant} of $s has ended"))
      assert(dataFiles(s, transaction.instant).size == named && Leftovers.of(s).isEmpty)
    }

    for (
      operation <-
        Seq("create .*/.temp/.*parquet.marker.*", "create .*/p1/[^/]*parquet", "close .*/p1/[^/]*parquet")
    )
      test(s"an attempt whose write $what at a $operation removes its file") {
        val s           = created()
        val transaction = begun(s)
        val files       = writer(s, transaction)
        intercept[IOException](FaultyFileSystem.interrupting(operation)(end(s, transaction, files))(
            task(files, Seq("k5"))(_ => ())))
        assert(dataFiles(s, transaction.instant).size == named && Leftovers.of(s).isEmpty)
      }
  }

  test("a file that appears between the markers' last look and their removal is removed by the commit") {
    val s           = created()
    val transaction = begun(s)
    val files       = writer(s, transaction)
    val written     = task(files, Seq("k5"))(_ => ())
    val late        = FileNames.path("p1", FileNames.base("x", "0-0-9", transaction.instant))
    transaction.markers.create(Marker("p1", late.stripPrefix("p1/"),
        MarkerKind.Create))
    FaultyFileSystem.interrupting(s"delete .*/.temp/${transaction.instant}")(s.createNew(late, Array[Byte](1)))(
      commit(transaction, written))
    assert(!s.exists(late) && Leftovers.of(s).isEmpty)
  }

  test("an attempt that begins and ends between the markers' last look and their removal removes its file") {
    val s           = created()
    val transaction = begun(s)
    val files       = writer(s, transaction)
    val written     = task(files, Seq("k5"))(_ => ())
    FaultyFileSystem.interrupting(s"delete .*/.temp/${transaction.instant}")(
      intercept[IOException](task(files, Seq("k7"))(_ => ())))(commit(transaction, written))
    assert(dataFiles(s, transaction.instant).size == 1 && Leftovers.of(s).isEmpty)
  }

  test("an attempt that fails removes all of its files and markers, and its failure is reported") {
    val s           = created()
    val transaction = begun(s)
    val files       = writer(s, transaction)
    val error = intercept[IllegalStateException](task(files, Seq("k5", "k7", "k9"))(key =>
        if (key == "k9") throw new IllegalStateException("the third")))
    assert(error.getMessage.contains("the third"))
    assert(dataFiles(s, transaction.instant).isEmpty && transaction.markers.all.isEmpty)
    transaction.rollback()
    assert(Leftovers.of(s).isEmpty)
  }

  test("version 6: an attempt that fails leaves a log to which another engine has appended") {
    val s           = created("6")
    val transaction = begun(s)
    val table       = new DirectTable(s, bucketed = false)
    val slice       = view(s).slices.head
    val other       = FileNames.log(slice.fileId, slice.baseInstant, 1, "0-0-0")
    transaction.rollback()
    table.upsert(Notation.changes("k1@2=b"))
    val block = s.read(s"p1/$other")
    val again = begun(s)
    val files = writer(s, again)
    intercept[IllegalStateException](inTask {
      TaskFiles.write[Unit](files, run = 0) { token =>
        for ((version, content) <- Seq(2 -> block, 3 -> Array.emptyByteArray)) {
          val name = FileNames.log(slice.fileId, slice.baseInstant, version, token.toString)
          token.announce(Marker("p1", name, MarkerKind.Append),
            again.markers)
          s.createNew(s"p1/$name", content)
        }
        throw new IllegalStateException("it fails")
      }
    })
    assert(names(s, "p1").count(_.contains(".log.2_")) == 1 && !names(s, "p1").exists(_.contains(".log.3_")))
    assert(again.markers.all.map(_.fileName).forall(_.contains(".log.2_")) && again.markers.all.size == 1)
  }
}
