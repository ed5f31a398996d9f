package io.merganser.table.log

import io.merganser.merge.{Change, Histories, KeyFold, MergePaths, MergeRule, Notation, RowLayout, Version}
import io.merganser.merge.buffer.{SortedMerge, VersionCursor}
import io.merganser.table.base.EventTimes
import io.merganser.table.file.WriteToken
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.SliceWriter
import io.merganser.merge.MergePaths.Apart
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

/** Versions of a batch on their way into a log and out again: of each key all of them, in order. */
class BlockPlannerSuite extends LogFixture {
  private val schema = StructType(Notation.schema.map(_.copy(nullable = true)))
  private val layout = RowLayout(SliceWriter.rowSchema(schema), MetaColumns.RecordKey, Seq("ts"), None)
  private val rule   = MergeRule.eventTime(layout)

  private def write(
      changes: Seq[Change],
      by: MergeRule,
      bufferBytes: Long,
      options: LogOptions = LogOptions()
  ): LogWritten = {
    val merge = SortedMerge.forLog(new Cursor(MergePaths.inKeyOrder(changes)), layout, new KeyFold(by))
    val meta  = new MetaRow("001", WriteToken(1, 0, 1), UTF8String.fromString("f1-0"))
    val log   = writer("001", schema = MetaColumns.before(schema), options = options)
    val blocks =
      new BlockPlanner(merge, layout, LogForm(layout.deletes, writesDeletedRows = false, supportsPartials = true),
        schema, "p", meta, new EventTimes(None), bufferBytes)
    if (!blocks.isEmpty) blocks.write(log)
    log.close()
  }

  private def read(): Seq[Change] = {
    val found = ArrayBuffer.empty[Change]
    scanner(fields = StructType(Seq(schema("ts")))).scan(logs, schema,
      new LogSink {
        override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit =
          found += Notation.read(row).copy(provided = if (provided == null) Nil else provided.toSeq.tail,
            inserts = inserts)
        override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit =
          found += Change(key.toString,
            Option(ordering).flatMap(o => Option(o(0).asInstanceOf[java.lang.Long])).map(_.toLong),
            Seq(None, None), isDelete = true, ordered = ordering != null)
      })
    found.toSeq
  }

  private def byKey(changes: Seq[Change]): Map[String, Seq[String]] =
    changes.groupBy(_.key).map { case (key, versions) => key -> versions.map(_.toString) }

  test("versions that are not combined are all written, each key's in order of arrival") {
    write(Notation.changes("a@2=x b@1=y a@1=z a@5- a@3=u b- b@0=w"), new Apart(rule), Long.MaxValue)
    assert(byKey(read()) == Map("a" -> Seq("a@2=x", "a@1=z", "a@5-", "a@3=u"), "b" -> Seq("b@1=y", "b-", "b@0=w")))
  }

  test("combined versions become one, but a row after an unconditional delete keeps that delete") {
    write(Notation.changes("a@2=x a@1=z b@1=y b- b@0=w"), rule, Long.MaxValue)
    assert(byKey(read()) == Map("a" -> Seq("a@2=x"), "b" -> Seq("b-", "b@0=w")))
  }

  test("an ordered delete after an unconditional one keeps that one") {
    write(Notation.changes("a- a@3-"), rule, Long.MaxValue)
    assert(byKey(read()) == Map("a" -> Seq("a-", "a@3-")))
  }

  test("partial rows are written in blocks of their columns, beside all versions of their keys") {
    write(Notation.changes("a@2=x,_ a@3=y,z a@_=u,_ a@4=_,v b@2=x,_"), rule, Long.MaxValue)
    assert(byKey(read()) == Map("a" -> Seq("a@2=x,_", "a@3=y,z", "a@_=u,_", "a@4=_,v"), "b" -> Seq("b@2=x,_")))
  }

  test("any history is read as written with any memory for waiting blocks, in Avro and Parquet") {
    for (i <- 0 until 60) {
      val random  = new Random(Histories.seed + i)
      val changes = Seq.fill(1 + random.nextInt(40))(new Histories(partials = true).change(random, keys = 6))
      val written =
        write(changes, new Apart(rule), Seq(0L, 500L, Long.MaxValue)(i % 3),
          LogOptions(parquetAboveRows = if (i % 2 == 0) 1000 else 0))
      val clue = s"history $i of seed ${Histories.seed}: ${changes.mkString(" ")}"
      assert(byKey(read()) == byKey(changes), clue)
      assert(written.records + written.deletes == changes.size, clue)
      logs.foreach(log => storage.fs.delete(storage.path(log.path), false))
    }
  }

  test("full waiting blocks are written at once, which makes more blocks") {
    val changes = (100 until 200).flatMap(i => Notation.changes(s"k$i@1=x k$i@2- k$i@3=y"))
    assert(write(changes, new Apart(rule), Long.MaxValue).blocks == 3)
    logs.foreach(log => storage.fs.delete(storage.path(log.path), false))
    assert(write(changes, new Apart(rule), bufferBytes = 10000).blocks > 3)
    assert(byKey(read()) == byKey(changes))
  }

  private final class Cursor(changes: Seq[Change]) extends VersionCursor {
    private val left = changes.iterator
    private val row  = new GenericInternalRow(layout.schema.length)

    override val record: Version = new Version

    override def next(): Boolean = left.hasNext && {
      val change = left.next()
      val image  = Notation.row(change)
      schema.indices.foreach(i => row.update(i, image.get(i, schema(i).dataType)))
      row.update(layout.keyOrdinal, UTF8String.fromString(change.key))
      record.set(row, change.isDelete, !change.ordered)
      if (change.isPartial) record.provided = (true +: change.provided).toArray.padTo(layout.schema.length, true)
      record.inserts = change.isPartial && change.inserts
      true
    }
  }
}
