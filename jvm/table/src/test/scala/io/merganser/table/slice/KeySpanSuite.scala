package io.merganser.table.slice

import io.merganser.merge.Histories
import io.merganser.table.base.{BaseFileFooter, BaseFileOptions, BaseFileReader, BaseFileWriter, BaseReadOptions}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.{Rows, TempFolder}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Which keys the parts of a base file have. */
final class KeySpanSuite extends AnyFunSuite with TempFolder {
  private val columns = Rows.withMeta("id" -> LongType, "name" -> StringType)
  private val random  = new Random(Histories.seed)
  private val some = Seq.fill(20000)(Seq.fill(1 + random.nextInt(12))(Seq("a", "Z", "9", "_", "é", "€", "😀")(
        random.nextInt(7))).mkString)
  private val sorted = some.map(UTF8String.fromString).distinct.sorted

  private def write(name: String, keys: Seq[UTF8String]): BaseFileFooter = {
    val writer = new BaseFileWriter(conf, path(name), columns, BaseFileOptions(rowGroupBytes = 100000))
    keys.foreach(key => writer.write(Rows.stored("001", key.toString, "p", name)(1L, key.toString)))
    writer.close()
    BaseFileFooter.read(conf, path(name))
  }

  private def keysIn(footer: BaseFileFooter, start: Long, length: Long): Seq[UTF8String] = {
    val key = StructType(Seq(columns(MetaColumns.RecordKey)))
    val file = new BaseFileReader(conf, path(footer.fileName), folder.resolve(footer.fileName).toFile.length, key,
      BaseReadOptions(start = start, length = length))
    try file.rows().map(_.getUTF8String(0).copy()).toList
    finally file.close()
  }

  test("each part has the keys of its row groups, and every other key is in one part") {
    val footer = write("f.parquet", sorted)
    val size   = folder.resolve("f.parquet").toFile.length
    assert(footer.metadata.getBlocks.size > 3)
    for (step <- Seq(size, size / 2 + 1, size / 5, 30000L)) {
      val parts = (0L until size by step).map(start => (start, KeySpan.of(footer, start, step).get))
      for ((start, span) <- parts) {
        val stored = keysIn(footer, start, step)
        assert(stored.forall(span.has))
        assert(sorted.count(span.has) == stored.size)
      }
      val others = Seq("", "\u0000", "a", "zzz", "é", "\uDBFF\uDFFF") ++ some.take(500).map(_ + "!")
      others.map(UTF8String.fromString).foreach(key => assert(parts.count(_._2.has(key)) == 1, key))
    }
  }

  test("the parts of a file are not known whose rows are not sorted, or have a key twice") {
    assert(KeySpan.of(write("mixed.parquet", random.shuffle(sorted)), 0L, 30000L).isEmpty)
    assert(KeySpan.of(write("twice.parquet", sorted.take(500) ++ sorted.drop(499)), 0L, 30000L).isEmpty)
    assert(KeySpan.of(write("empty.parquet", Nil), 0L, 30000L).isEmpty)
  }
}
