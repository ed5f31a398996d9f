package io.merganser.table.log

import io.merganser.merge.Histories
import io.merganser.table.{DrawnPoints, Rows}
import io.merganser.table.file.FileNames
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.nio.file.Files
import scala.util.Random

// Guarantee (Size): A slice of 20,000 logs is read and compacted (`--full`; otherwise 4,000). Also: CompactionRunsSuite
class LogFilesSuite extends LogFixture {

  test("a block has magic, length, version, type, header, content, footer and pointer") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    val written = log.close()
    val bytes   = bytesOf(log.name)
    val in      = java.nio.ByteBuffer.wrap(bytes)
    assert(written.name == ".f1-0_001.log.1_1-0-1" && written.sizeBytes == bytes.length)
    assert(new String(bytes, 0, 6, "US-ASCII") == "#HUDI#")
    val length = in.getLong(6)
    assert(
      bytes.length == 6 + 8 + length && in.getLong(bytes.length - 8) == length + 6 && in.getInt(bytes.length - 12) == 0)
    assert((in.getInt(14), in.getInt(18), in.getInt(22)) == ((1, 3, 2)))
    assert(in.getInt(26) == 0 && in.getInt(30) == 3 && new String(bytes, 34, 3, "UTF-8") == "001")
    val schemaBytes = in.getInt(41)
    assert(in.getInt(37) == 2)
    val content = 45 + schemaBytes
    assert(in.getLong(content) == bytes.length - content - 8 - 12)
    assert(in.getInt(content + 8) == 3 && in.getInt(content + 12) == 1)
    assert(in.getInt(content + 16) == bytes.length - (content + 20) - 12)
  }

  test("Avro and Parquet blocks return random rows of every type in order") {
    val seed   = Histories.seed
    val random = new Random(seed)
    Seq(LogOptions(), LogOptions(parquetAboveRows = 0)).zipWithIndex.foreach { case (options, i) =>
      val log  = writer(s"00$i", schema = Rows.everyType, options = options)
      val data = Seq.fill(500)(Rows.random(Rows.everyType, random))
      log.dataBlock(data.iterator)
      assert(log.close().records == 500)
      val sink = new Recorded(Rows.everyType)
      scanner().scan(logs.filter(_.instant == s"00$i"), Rows.everyType, sink)
      withClue(s"seed $seed, $options: ")(assert(sink.all.toSeq == data.map(Rows.plain(_, Rows.everyType))))
    }
  }

  test("many rows become a Parquet block, few an Avro block, and no rows no file") {
    val many = writer("001")
    many.dataBlock(rows("001", 1 to 1001))
    many.close()
    val few = writer("002")
    few.dataBlock(rows("002", 1 to 1000))
    few.close()
    val none = writer("003")
    none.dataBlock(Iterator.empty)
    none.deleteBlock(Iterator.empty, ordering)
    assert(none.close() == LogWritten(".f1-0_003.log.1_1-0-1", 0L, 0, 0L, 0L))
    assert(logs.map(_.instant) == Seq("001", "002"))
    def blockType(name: String) = java.nio.ByteBuffer.wrap(bytesOf(name)).getInt(18)
    assert((blockType(many.name), blockType(few.name)) == ((5, 3)))
    assert(scan()._1 == named("001", 1 to 1001: _*) ++ named("002", 1 to 1000: _*))
  }

  test("data and deletes continue in a new block at the size limit") {
    val limit = 64 * 1024
    Seq(("001", LogOptions(parquetAboveRows = 1 << 20, maxBlockBytes = limit)),
      ("002", LogOptions(parquetAboveRows = 10, maxBlockBytes = limit))).foreach {
      case (instant, options) =>
        val log    = writer(instant, options = options)
        val random = new Random(1)
        log.dataBlock(
          (0 until 8000).iterator.map(i =>
            Rows.stored(instant, s"k$i", "p", "f1-0")(i, random.alphanumeric.take(50).mkString)))
        val written = log.close()
        assert(written.blocks > 4 && written.records == 8000)
        val reader = new LogFileReader(storage, logs.find(_.instant == instant).get)
        assert(reader.blocks()._1.map(_.contentLength).max <= limit)
        reader.close()
    }
    val (found, scanned) = scan()
    assert(
      found.map(_.asInstanceOf[Seq[Any]].head) == (0 until 8000).map(i => s"k$i") ++ (0 until 8000).map(i => s"k$i"))
    assert(scanned.records == 16000)
    val log = writer("003", options = LogOptions(maxBlockBytes = 3 * 1024 * 1024))
    log.deleteBlock(deletes((0 until 200000).map(i => s"a key of some length $i"): _*), ordering)
    assert(log.close().blocks > 1)
    assert(scan(scanner())._2.deletes == 200000)
  }

  test("a full log continues in a file with the next number, and both are read in order") {
    var announced = Seq.empty[String]
    val log =
      writer("003", options = LogOptions(maxBlockBytes = 2000, maxFileBytes = 3000),
        announce = name => announced = announced :+ name)
    log.dataBlock(rows("003", 1 to 200))
    log.deleteBlock(deletes("k7"), ordering)
    val last = log.close()
    val all  = log.earlier :+ last
    assert(all.size > 2 && all.map(_.name) == announced && all.map(_.records).sum == 200 && last.deletes == 1)
    assert(all.map(_.name) == all.indices.map(i => s".f1-0_003.log.${i + 1}_1-0-1"))
    assert(all.forall(file => storage.status(s"p/${file.name}").exists(_.getLen == file.sizeBytes)) && all.init.forall(
      _.sizeBytes >= 3000))
    val (found, scanned) = scan()
    assert(found.size == 201 && scanned.records == 200 && scanned.deletes == 1)
  }

  test("records and blocks larger than the read buffer are read") {
    val log = writer("001")
    val big = "x" * 3000000
    log.dataBlock(Iterator(1, 2, 3).map(i =>
        Rows.stored("001", s"k$i", "p", "f1-0")(i, if (i == 2) big else "y" * 700000)))
    log.close()
    assert(scan()._1.map(_.asInstanceOf[Seq[Any]](1).toString.length) == Seq(700000, 3000000, 700000))
  }

  test("data and deletes of one file take effect in block order, files in reading order") {
    Seq(10, 2, 1).foreach { version =>
      val log = writer("001", version)
      log.dataBlock(rows("001", Seq(version)))
      log.deleteBlock(deletes(s"d$version"), ordering)
      log.close()
    }
    val (found, scanned) = scan()
    assert(found == Seq(1, 2, 10).flatMap(v => named("001", v) :+ Deleted(s"d$v", "p", null)))
    assert(scanned == LogScanned(3, 6, 0, 3, 3, logs.map(_.sizeBytes).sum, Seq("001")))
  }

  test("a partial block records which columns its records carry, in Avro and in Parquet") {
    val part = StructType(columns.take(5)).add("name", StringType)
    val row  = () => Iterator(Rows.stored("001", "k1", "p", "f1-0")("new"))
    Seq(("001", LogOptions()), ("002", LogOptions(parquetAboveRows = 0))).foreach { case (instant, options) =>
      val log = writer(instant, options = options)
      log.partialBlock(part, row())
      log.close()
    }
    val full = writer("003")
    full.dataBlock(rows("003", Seq(1)))
    full.close()
    val request = new StructType().add("id", IntegerType).add("name", StringType).add("_hoodie_record_key", StringType)
    val sink    = new Recorded(request)
    scanner().scan(logs, request, sink)
    assert(sink.all.toSeq == Seq(Seq(null, "new", "k1"), Seq(null, "new", "k1"), Seq[Any](1, "003:1", "k1")))
    assert(sink.provided.toSeq == Seq(Seq(false, true, true), Seq(false, true, true), null))
  }

  test("incomplete writes are skipped by file from version 8 on and by block in version 6") {
    Seq("001", "002").foreach { instant =>
      val log = writer(instant, nameInstant = instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
    }
    assert(scan(scanner(_ == "001"))._1 == named("001", 1))
    val old = writer("004", version = 3, nameInstant = "001")
    old.dataBlock(rows("004", Seq(4)))
    old.close()
    assert(scan(scanner(_ != "001", version = 6))._1 == named("004", 4) ++ named("002", 1))
  }

  test("blocks written after the view's instant are skipped") {
    Seq("001", "002", "003").foreach { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
    }
    assert(scan(scanner(maxInstant = "002"))._1 == named("001", 1) ++ named("002", 1))
  }

  test("a scan of logs skips change files") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    val cdc  = logs.head.copy(name = logs.head.name + ".cdc")
    val sink = new Recorded(names)
    assert(scanner().scan(Seq(cdc), names, sink).files == 0 && sink.all.isEmpty)
  }

  test("a rollback block revokes only blocks of its instant that were read before it") {
    Seq("001", "002").foreach { instant =>
      val log = writer(instant, nameInstant = "001", version = instant.toInt)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
    }
    append(logName("001", 3), block(0, Seq(0 -> "003", 1 -> "002", 3 -> "0"), Array.emptyByteArray))
    val again = writer("002", nameInstant = "001", version = 4)
    again.dataBlock(rows("002", Seq(2)))
    again.close()
    assert(scan(scanner(version = 6))._1 == named("001", 1) ++ named("002", 2))
    assert(scan()._1 == named("001", 1) ++ named("002", 2))
  }

  test("a merged block replaces the blocks of its instants, at the place of the newest of them") {
    def merged(instant: String, key: Int, of: String, version: Int): Unit = {
      val log = writer(instant, version, nameInstant = "001")
      log.dataBlock(rows(instant, Seq(key)))
      log.close()
      val plain   = new LogFileReader(storage, logs.find(_.version == version).get)
      val found   = plain.blocks()._1.head
      val content = new Array[Byte](found.contentLength.toInt)
      plain.read(found.contentOffset, content, 0, content.length)
      plain.close()
      Files.delete(folder.resolve(s"p/${log.name}"))
      append(log.name, block(found.blockType, found.header.toSeq :+ (4 -> of), content))
    }
    Seq(1, 2, 3, 4).foreach { i =>
      val log = writer(s"00$i", version = i, nameInstant = "001")
      log.dataBlock(rows(s"00$i", Seq(i)))
      log.close()
    }
    merged("005", 5, "001,002", 5)
    assert(scan(scanner(version = 6))._1 == named("005", 5) ++ named("003", 3) ++ named("004", 4))
    merged("006", 6, "005,003", 6)
    assert(scan(scanner(version = 6))._1 == named("006", 6) ++ named("004", 4))
  }

  test("a merged block without an instant in the slice is ignored") {
    val merged = writer("005", compacted = Seq("001", "002"))
    merged.dataBlock(rows("005", Seq(5)))
    merged.deleteBlock(deletes("k7"), ordering)
    merged.close()
    val later = writer("006")
    later.dataBlock(rows("006", Seq(6)))
    later.close()
    assert(scan()._1 == named("006", 6))
    val original = writer("002")
    original.dataBlock(rows("002", Seq(2)))
    original.close()
    val (found, scanned) = scan()
    assert(found == named("005", 5) ++ Seq(Deleted("k7", "p", null)) ++ named("006", 6))
    assert(scanned.instants == Seq("005", "006") && scanner().blocks(logs) == LogBlocks(3, scanned.instants, false))
  }

  test("a file whose blocks a later one replaces is not opened") {
    Seq("001", "002").foreach { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
    }
    val merged = writer("003", compacted = Seq("001", "002"))
    merged.dataBlock(rows("003", Seq(3)))
    merged.close()
    val known = logs.map(log => log.copy(isOfOneWrite = log.instant != "003"))
    storage.delete(known.head.path)
    assert(scan(files = known)._1 == named("003", 3))
    assert(intercept[java.io.FileNotFoundException](scan(files = known.map(_.copy(isOfOneWrite = false)))) != null)
    // As of an earlier time the replaced files are read.
    assert(scan(scanner(maxInstant = "002"), files = known.tail)._1 == named("002", 1))
  }

  test("a scan reuses its row object") {
    val log = writer("001")
    log.dataBlock(rows("001", 1 to 3))
    log.close()
    val seen = scala.collection.mutable.ArrayBuffer.empty[InternalRow]
    scanner().scan(logs, names,
      new LogSink {
        override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit        = seen += row
        override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = ()
      })
    assert(seen.size == 3 && seen.forall(_ eq seen.head))
  }

  test("an aborted log file is deleted") {
    val log = writer("001")
    log.dataBlock(rows("001", 1 to 3))
    log.abort()
    assert(logs.isEmpty)
  }

  // 20,000 with MERGANSER_FULL=1.
  test("a slice of thousands of log files is read, in their order") {
    val count = if (DrawnPoints.isFull) 20000 else 4000
    val log   = writer("000001")
    log.dataBlock(rows("000001", Seq(1)))
    log.close()
    val text = new String(bytesOf(log.name), "ISO-8859-1")
    Files.delete(folder.resolve(s"p/${log.name}"))
    val files = (1 to count).map { i =>
      val instant = f"$i%06d"
      val bytes   = text.replace("000001", instant).getBytes("ISO-8859-1")
      Files.write(folder.resolve(s"p/${logName(instant)}"), bytes)
      FileNames.parseLog("p", logName(instant), bytes.length.toLong).get
    }
    val (found, scanned) = scan(scanner(maxInstant = "999999"), files = files)
    assert(scanned.files == count && scanned.records == count)
    assert(found.head == named("000001", 1).head && found.last == named(f"$count%06d", 1).head)
  }
}
