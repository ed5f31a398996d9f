package io.merganser.merge.buffer

import io.merganser.merge._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

class VersionBufferSuite extends AnyFunSuite {
  private val rule = MergeRule.eventTime(Notation.layout)

  private def buffer(versions: String, rule: MergeRule = rule): VersionBuffer =
    MergePaths.buffer(Notation.changes(versions), rule)

  private def lines(buffer: VersionBuffer, base: String): Seq[String] =
    MergePaths.lines(buffer.merge(new StoredRows(Notation.changes(base)), baseSorted = false))

  test("versions are combined as they come, where the rule is associative") {
    val buffered = buffer("k1@1=a k1@3=b k1@2=c k2-")
    assert(buffered.keyCount == 2 && !buffered.isEmpty)
    val version = buffered.get(UTF8String.fromString("k1"))
    assert(Notation.read(version).toString == "k1@3=b" && version.oldestFirst.size == 1)
    assert(buffered.get(UTF8String.fromString("k3")) == null)
  }

  test("versions are buffered separately where the rule is not associative or one is partial") {
    for (
      (versions, rule) <- Seq("k1@1=a k1@3=b k1@2=c" -> new MergePaths.Apart(rule), "k1@1=a k1@3=b,_ k1@2=c" -> rule)
    ) {
      val version = buffer(versions, rule).get(UTF8String.fromString("k1"))
      assert(version.oldestFirst.map(Notation.read(_).toString).mkString(" ") == versions)
    }
  }

  test("full versions before the first partial one are combined") {
    val version = buffer("k1@1=a k1@3=b k1@4=c,_ k1@5=d").get(UTF8String.fromString("k1"))
    assert(version.oldestFirst.map(Notation.read(_).toString) == List("k1@3=b", "k1@4=c,_", "k1@5=d"))
  }

  test("a key that is stored twice is merged with its versions each time, and is not new afterwards") {
    assert(lines(buffer("k1@5=x"), "k1@1=a k2@1=d k1@9=b") == Seq("Updated k1@5=x", "Unchanged k2@1=d", "Kept k1@9=b"))
  }

  test("a key that is stored twice, deleted and written again is one row") {
    for (rule <- Seq(rule, new MergePaths.Apart(rule)))
      assert(lines(buffer("k1- k1@5=x", rule), "k1@1=a k2@1=d k1@9=b") == Seq("Updated k1@5=x", "Unchanged k2@1=d",
        "Deleted k1"))
  }

  test("an empty buffer leaves the stored rows as they are") {
    val empty = new VersionBuffer(Notation.layout, MergePaths.fold(rule), 1)
    assert(empty.isEmpty && empty.keyCount == 0)
    assert(lines(empty, "k1@1=a") == Seq("Unchanged k1@1=a"))
    assert(!empty.merge().next())
  }

  test("a buffer can be merged twice") {
    val buffered = buffer("k1@5=x k2@1=b")
    assert(lines(buffered, "k1@1=a").toSet == Set("Updated k1@5=x", "Inserted k2@1=b"))
    assert(lines(buffered, "").toSet == Set("Inserted k1@5=x", "Inserted k2@1=b"))
  }

  test("keys with equal hashes are merged with their own versions") {
    val (a, b) = KeyTableSuite.collision
    assert(lines(buffer(s"$b@2=x"), s"$a@1=a $b@1=b") == Seq(s"Unchanged $a@1=a", s"Updated $b@2=x"))
  }

  test("many keys, in any order, are each merged with their own versions") {
    val keys     = (0 until 20000).map(i => f"k$i%05d")
    val versions = keys.filter(_.hashCode % 3 == 0).map(key => Change(key, Some(2), Seq(Some("new"), None)))
    val base = new Random(Histories.seed).shuffle(keys.filter(_.hashCode % 2 == 0)).map(key =>
      Change(key, Some(1), Seq(Some("old"), None)))
    assert(
      MergePaths.lines(MergePaths.buffer(versions, rule).merge(new StoredRows(base), baseSorted = false)).sorted ==
        Oracle.merge(Oracle.EventTime, base, versions).sorted
    )
  }

  test("outside a task nothing spills, however small the buffer") {
    val buffered = MergePaths.buffer(Notation.changes("k1@1=a k2@1=b k3@1=c"), rule, bufferBytes = 0)
    assert(buffered.keyCount == 3)
  }

  test("the buffer copies a row that a rule built from the reader's bytes") {
    val concatenating = new MergeRule {
      override def laws: Laws = Laws(associative = true, idempotent = false, orderFree = false)

      override def merge(older: Version, newer: Version): Version = {
        val columns = Array[Any](newer.row.getUTF8String(0), newer.row.getLong(1), newer.row.getUTF8String(2),
          older.row.getUTF8String(2))
        new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
      }
    }
    for ((path, merge) <- MergePaths.all.take(2))
      assert(
        MergePaths.lines(merge(Nil, Notation.changes("k1@1=a k1@2=b k2@1=c k2@2=d"), concatenating)).toSet == Set(
          "Inserted k1@2=b,a",
          "Inserted k2@2=d,c"
        ),
        path
      )
  }

  test("the size of a row includes its text, its bytes and nested values") {
    val schema = new StructType()
      .add("s", StringType)
      .add("b", BinaryType)
      .add("a", ArrayType(StringType))
      .add("m", MapType(StringType, StringType))
      .add("r", new StructType().add("s", StringType))
    val long = UTF8String.fromString("x" * 1000)
    val row = new GenericInternalRow(
      Array[Any](
        long,
        new Array[Byte](1000),
        new GenericArrayData(Array[Any](long, null)),
        new ArrayBasedMapData(new GenericArrayData(Array[Any](long)), new GenericArrayData(Array[Any](long))),
        new GenericInternalRow(Array[Any](long))
      )
    )
    for (r <- Seq[InternalRow](row, UnsafeProjection.create(schema)(row)))
      assert(RowSize.of(r) > 6000 && RowSize.of(r) < 8000, r.getClass)
    assert(RowSize.of(new GenericInternalRow(Array[Any](null, null, null, null, null))) < 1000)
  }
}
