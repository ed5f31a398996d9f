package io.merganser.table.slice

import io.merganser.merge.{MerganserException, OrderingField}
import io.merganser.table.base.{BaseFileFooter, BaseFileOptions, BaseFileReader, BaseFileWriter}
import io.merganser.table.file.{BaseFile, FileNames}
import io.merganser.table.index.StoredBloomFilter
import io.merganser.table.storage.Storage
import io.merganser.table.{Rows, TempFolder}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.nio.file.Files

/** Bytes of retained deletes. */
final class TombstoneFormatSuite extends AnyFunSuite with TempFolder {

  private def key(k: String) = UTF8String.fromString(k)

  private def shown(all: Tombstones): Map[String, (String, Seq[Any])] =
    all.byKey.map { case (k, t) =>
      k.toString -> ((t.since, t.ordering.toSeq.map { case b: Array[Byte] => b.toSeq; case v => v }))
    }

  test("stored deletes are read back with ordering values of every type") {
    val values: Seq[(DataType, Any)] = Seq(
      BooleanType -> true,
      ByteType -> 1.toByte,
      ShortType -> 2.toShort,
      IntegerType -> 0,
      LongType -> Long.MaxValue,
      FloatType -> 1.5f,
      DoubleType -> 2.5d,
      StringType -> key("x"),
      DateType -> 10,
      TimestampType -> 123456789L,
      TimestampNTZType -> 5L,
      DecimalType(20, 3) -> Decimal(BigDecimal("1.250"), 20, 3),
      BinaryType -> Array[Byte](1, 2),
      LongType -> null
    )
    for ((dataType, value) <- values) {
      val one = Tombstones(Map(key("a") -> Tombstone(Array(value), "20260101000000000"),
          key("b") -> Tombstone(Array(value), "20260102000000000")))
      assert(shown(Tombstones.decode(one.encode(Array(dataType)), Array(dataType))) == shown(one), dataType.toString)
    }
    val several = Tombstones(Map(key("a") -> Tombstone(Array(1L, null), "1")))
    assert(
      shown(Tombstones.decode(several.encode(Array(LongType, StringType)), Array(LongType, StringType))) ==
        shown(several))
  }

  test("a delete is retained for the given hours, and one without a known time as long as its file") {
    val all = Tombstones(Seq("20260101000000000", "20260101115959000", "x").zipWithIndex.map { case (since, i) =>
      key(s"k$i") -> Tombstone(Array(1L), since)
    }.toMap)
    assert(all.retainedAt("20260101120000000", 12).byKey.keySet == Set(key("k1"), key("k2")))
    assert(all.retainedAt("20260101115959999", 12).byKey.size == 3)
  }

  private val columns = Rows.withMeta("id" -> LongType)
  private val name    = FileNames.base("f-0", "0-0-0", "20260101000000000")

  private def written(): (Storage, BaseFile) = {
    val storage = Storage(folder.toUri.toString, conf)
    val writer =
      new BaseFileWriter(conf, storage.path(name), columns, BaseFileOptions(bloomFilter = Some((100L, 0.0001))))
    Seq("b", "c").foreach(k => writer.write(Rows.stored("001", k, "p", name)(1L)))
    val all = Tombstones(Seq("a", "d").map(k => key(k) -> Tombstone(Array(7L), "20260101000000000")).toMap)
    writer.append(BaseFileFooter.Tombstones, all.encode(Array(LongType)), all.keys)
    val size = writer.close().sizeBytes
    (storage, BaseFile("", "f-0", "20260101000000000", name, size))
  }

  private def read(storage: Storage, base: BaseFile): Tombstones = {
    val footer = BaseFileFooter.read(conf, storage.path(base.path), base.sizeBytes)
    Tombstones.of(storage, base, footer, OrderingField.find(columns, "id").toArray)
  }

  test("a file contains rows and deletes, and its footer's range and filter cover the deletes' keys") {
    val (storage, base) = written()
    assert(read(storage, base).byKey.keySet == Set(key("a"), key("d")))
    val footer = BaseFileFooter.read(conf, storage.path(base.path), base.sizeBytes)
    assert(footer.minKey.contains("a") && footer.maxKey.contains("d") && footer.isSorted)
    val filter = StoredBloomFilter.decode(footer.bloomFilter.get).get
    assert(Seq("a", "b", "c", "d").forall(k => filter.mayContain(k.getBytes)))
    val reader = new BaseFileReader(conf, storage.path(base.path), base.sizeBytes, columns)
    try assert(reader.rows().map(_.getUTF8String(2).toString).toList == List("b", "c"))
    finally reader.close()
  }

  test("any changed byte of the deletes is an error that names the file") {
    val (storage, base) = written()
    val file            = folder.resolve(name)
    val intact          = Files.readAllBytes(file)
    val entry           = BaseFileFooter.read(conf, storage.path(base.path), base.sizeBytes)
    val place           = entry.keyValues(BaseFileFooter.Tombstones).split(':').slice(1, 3).map(_.toInt)
    for (at <- place(0) until place(0) + place(1)) {
      val changed = intact.clone()
      changed(at) = (changed(at) ^ 1).toByte
      Files.deleteIfExists(folder.resolve(s".$name.crc"))
      Files.write(file, changed)
      assert(intercept[MerganserException](read(storage, base)).condition == "BASE_FILE_UNREADABLE")
    }
  }
}
