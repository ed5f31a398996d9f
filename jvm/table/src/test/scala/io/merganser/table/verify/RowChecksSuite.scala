package io.merganser.table.verify

import io.merganser.merge.{BufferedRecord, Notation, RecordContext, RecordMerger}
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.base.{BaseFileOptions, BaseFileWriter}
import io.merganser.table.commit.Creation
import io.merganser.table.file.{BaseFile, FileNames}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

import java.util.{Map => JavaMap}
import java.util.concurrent.atomic.AtomicInteger

/** Each kind of damage of rows is found by name; see also `test_verify.py`. */
class RowChecksSuite extends TableSuite {
  private val name = FileNames.base("f1-0", "0-0-0", "100")

  /** Rows of key, partition path, file name and commit time; the footer has the range of the tracked keys. */
  private def findings(
      rows: Seq[(String, String, String, String)],
      tracked: Seq[String],
      written: Long = 0,
      place: Option[KeyPlace] = None
  ): Seq[(String, Option[String], Long)] = {
    val config = table()
    val path   = storage.path(s"p/$name")
    val writer = new BaseFileWriter(storage.conf, path, MetaColumns.schema,
      BaseFileOptions(bloomFilter = Some((100L, 0.0001))), storesKeys = false)
    rows.foreach { case (key, partition, file, commit) =>
      def text(value: String) = Option(value).map(UTF8String.fromString).orNull
      writer.write(new GenericInternalRow(Array[Any](text(commit), null, text(key), text(partition), text(file))))
    }
    tracked.foreach(key => writer.track(UTF8String.fromString(key)))
    val bytes = writer.close().sizeBytes
    instantFiles(storage, "100_110.deltacommit", "200.deltacommit.requested")
    val base = BaseFile("p", "f1-0", "100", name, bytes)
    val now  = io.merganser.table.timeline.Timeline.load(storage, config)
    val check = new BaseFileCheck(storage, config, now.completedInstants, None, None, Map(s"p/$name" -> written),
      place, None)
    val slice = FileSlice("p", "f1-0", "100", Some(base), Nil)
    check.of(slice, base).map(f => (f.kind.name, f.key, f.problems))
  }

  private def good(key: String): (String, String, String, String) = (key, "p", name, "100")

  test("verify finds nothing in rows that agree with their file") {
    assert(findings(Seq(good("a"), good("b")), Seq("a", "b"), written = 2) == Nil)
  }

  test("verify finds rows without a key and a number of rows other than the commit's") {
    assert(findings(Seq(good("a"), good(null), good("")), Seq("a"), written = 2).toSet ==
      Set(("record_count", None, 1L), ("null_key", None, 2L)))
  }

  test("verify finds keys that the footer's range or Bloom filter excludes") {
    assert(findings(Seq(good("a"), good("b"), good("c")), Seq("a", "c")) == Seq(("key_statistics", Some("b"), 1L)))
    assert(conditionOfRange == Set(("key_statistics", Some("z"), 2L)))
  }

  /** The filter rules out the same keys. */
  private def conditionOfRange: Set[(String, Option[String], Long)] = {
    org.apache.hadoop.fs.FileUtil.fullyDelete(folder.resolve("t").toFile)
    findings(Seq(good("a"), good("z"), good("y")), Seq("a", "c")).groupBy(_._1).values.map { same =>
      assert(same.size == 2)
      same.head
    }.toSet
  }

  test("verify finds meta columns of another partition or file and of uncommitted writes") {
    val found = findings(Seq(("a", "q", name, "100"), ("b", "p", "other", "100"), ("c", "p", name, "200"),
        ("d", "p", name, null)), Seq("a", "b", "c", "d"))
    assert(found.map(_._1).distinct == Seq("meta_columns"))
    assert(found.flatMap(_._2) == Seq("a", "b", "c", "d"))
  }

  test("verify finds keys in the wrong bucket") {
    val place = new KeyPlace {
      override def admits(partitionPath: String, fileId: String, key: UTF8String): Boolean = key.toString != "b"
    }
    assert(findings(Seq(good("a"), good("b")), Seq("a", "b"), place = Some(place)) ==
      Seq(("other_bucket", Some("b"), 1L)))
  }

  test("the replay finds a merger with different results for the same versions") {
    val merger = classOf[RowChecksSuite.Unstable]
    Creation.create(storage,
      DirectTable.properties(mergeOnRead = true) ++ Map("hoodie.record.merge.mode" -> "CUSTOM",
        "hoodie.record.merge.strategy.id" -> RowChecksSuite.Id))
    val table = new DirectTable(storage, bucketed = true, mergers = Seq(merger.getName))
    table.upsert(Notation.changes("k1@1=a k2@1=x"))
    assert(table.findings == Nil)
    table.upsert(Notation.changes("k1@2=b"))
    val found = table.findings
    assert(found.map(f => (f.kind.name, f.key)).distinct == Seq(("replay", Some("k1"))))
    assert(found.head.detail.startsWith("a snapshot read results in {"))
  }
}

object RowChecksSuite {
  private val Id    = "9a3a7a2c-2f0c-4a6e-8f57-2f3c1d0e7b11"
  private val calls = new AtomicInteger

  /** Has a state, which no merger may have. */
  class Unstable extends RecordMerger {
    override def getMergingStrategy: String = Id

    override def merge(
        older: BufferedRecord,
        newer: BufferedRecord,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord =
      context.mergeWithEngineRecord(newer, java.util.Collections.singletonMap("v", s"call ${calls.incrementAndGet()}"))
  }
}
