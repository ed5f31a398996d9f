package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.slice.{FileNames, LogFile}
import io.merganser.table.{Rows, TempFolder}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.file.{Files, StandardOpenOption}
import scala.util.Random

class LogFilesSuite extends AnyFunSuite with TempFolder {

  private val columns  = Rows.withMeta("id" -> IntegerType, "name" -> StringType)
  private val ordering = new StructType().add("id", IntegerType)
  private val names    = new StructType().add("_hoodie_record_key", StringType).add("name", StringType)

  private def writer(
      instant: String,
      version: Int = 1,
      schema: StructType = columns,
      options: LogOptions = LogOptions(),
      nameInstant: String = null
  ): LogWriter = new LogWriter(
    storage, "t", "p", "f1-0", Option(nameInstant).getOrElse(instant), instant, version, "1-0-1", schema, options
  )

  private def rows(instant: String, keys: Seq[Int]): Iterator[InternalRow] =
    keys.iterator.map(i => Rows.stored(instant, s"k$i", "p", "f1-0")(i, s"$instant:$i"))

  private def deletes(keys: String*): Iterator[LogDelete] =
    keys.iterator.map(key => LogDelete(UTF8String.fromString(key), UTF8String.fromString("p"), null))

  /** The log files of the partition in reading order. */
  private def logs: Seq[LogFile] =
    storage.list("p").flatMap(status => FileNames.parseLog("p", status.getPath.getName, status.getLen)).sorted

  private def scanner(
      isCompleted: String => Boolean = _ => true,
      maxInstant: String = "99",
      version: Int = 9,
      fields: StructType = ordering
  ): LogScanner = new LogScanner(storage, version, fields, isCompleted, maxInstant)

  private def scan(by : LogScanner = scanner(), schema: StructType = names): (Seq[Any], LogScanned) = {
    val sink    = new Recorded(schema)
    val scanned = by.scan(logs, schema, sink)
    (sink.all.toSeq, scanned)
  }

  private def named(instant: String, keys: Int*): Seq[Seq[Any]] = keys.map(i => Seq(s"k$i", s"$instant:$i"))

  /** A block as bytes. */
  private def block(blockType: Int, header: Seq[(Int, String)], content: Array[Byte], version: Int = 1): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out   = new DataOutputStream(bytes)
    val head  = header.map { case (k, v) => (k, v.getBytes("UTF-8")) }
    val length = 4 + 4 + 4 + head.map(8 + _._2.length).sum + 8 + content.length + 4 + 8L
    out.writeBytes("#HUDI#")
    out.writeLong(length)
    out.writeInt(version)
    out.writeInt(blockType)
    out.writeInt(head.size)
    head.foreach { case (k, v) =>
      out.writeInt(k)
      out.writeInt(v.length)
      out.write(v)
    }
    out.writeLong(content.length.toLong)
    out.write(content)
    out.writeInt(0)
    out.writeLong(length + 6)
    bytes.toByteArray
  }

  private def bytesOf(name: String): Array[Byte] = Files.readAllBytes(folder.resolve(s"p/$name"))

  private def append(name: String, bytes: Array[Byte]*): Unit = {
    Files.createDirectories(folder.resolve("p"))
    Files.deleteIfExists(folder.resolve(s"p/.$name.crc"))
    bytes.foreach(Files.write(folder.resolve(s"p/$name"), _, StandardOpenOption.CREATE, StandardOpenOption.APPEND))
  }

  private def logName(instant: String, version: Int = 1): String = FileNames.log("f1-0", instant, version, "1-0-1")

  private def hex(text: String): Array[Byte] =
    text.split("[ |]+").filter(_.nonEmpty).map(Integer.parseInt(_, 16).toByte)

  private def unreadable(schema: StructType = names): MerganserException = {
    val error = intercept[MerganserException](scan(schema = schema))
    assert(error.condition == "LOG_BLOCK_UNREADABLE")
    error
  }

  test("a block's bytes: magic, length, version, type, header, content, footer and pointer") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    val written = log.close()
    val bytes   = bytesOf(log.name)
    val in      = java.nio.ByteBuffer.wrap(bytes)
    assert(written.name == ".f1-0_001.log.1_1-0-1" && written.sizeBytes == bytes.length)
    assert(new String(bytes, 0, 6, "US-ASCII") == "#HUDI#")
    val length = in.getLong(6)
    assert(bytes.length == 6 + 8 + length && in.getLong(bytes.length - 8) == length + 6 && in.getInt(bytes.length - 12) == 0)
    assert((in.getInt(14), in.getInt(18), in.getInt(22)) == ((1, 3, 2)))
    assert(in.getInt(26) == 0 && in.getInt(30) == 3 && new String(bytes, 34, 3, "UTF-8") == "001")
    val schemaBytes = in.getInt(41)
    assert(in.getInt(37) == 2)
    val content = 45 + schemaBytes
    assert(in.getLong(content) == bytes.length - content - 8 - 12)
    assert(in.getInt(content + 8) == 3 && in.getInt(content + 12) == 1)
    assert(in.getInt(content + 16) == bytes.length - (content + 20) - 12)
  }

  test("a delete block of key 2 in partition p with int 0 has the bytes that the reference writes") {
    val log = writer("001")
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), UTF8String.fromString("p"), Array[Any](0))), ordering)
    log.close()
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
  }

  test("a decimal ordering value is rescaled to 15 digits behind the point") {
    val log = writer("001")
    val fields = new StructType().add("d", DecimalType(5, 1))
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), null, Array[Any](Decimal("9.5")))), fields)
    log.close()
    val content = hex("00 00 00 03 00 00 00 0F | 02 02 02 32 00 12 0E 21 C0 33 1D 5D C0 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
  }

  test("an ordering value of int 0 in a delete comes back as 0, and none as none, in the order written") {
    val log = writer("001")
    log.deleteBlock(
      Iterator(
        LogDelete(UTF8String.fromString("a"), UTF8String.fromString("p"), Array[Any](0)),
        LogDelete(UTF8String.fromString("b"), UTF8String.fromString("p"), null),
        LogDelete(UTF8String.fromString("c"), UTF8String.fromString("p"), Array[Any](7))
      ),
      ordering
    )
    log.close()
    assert(scan()._1 == Seq(Deleted("a", "p", Seq(0)), Deleted("b", "p", null), Deleted("c", "p", Seq(7))))
  }

  test("a delete without ordering value is written as the reference writes it, and a 0 of the reference is read so") {
    val log = writer("001")
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), UTF8String.fromString("p"), null)), ordering)
    log.close()
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
    append(logName("002"), block(1, Seq(0 -> "002"), content))
    assert(scan()._1 == Seq(Deleted("2", "p", null), Deleted("2", "p", null)))
  }

  test("ordering values of every type come back from a delete block, alone and several together, nulls too") {
    val fields = StructType(Rows.everyType.take(15))
    val seed   = System.nanoTime()
    val random = new Random(seed)
    withClue(s"seed $seed: ") {
      fields.fields.zipWithIndex.foreach { case (field, i) =>
        val one = new StructType().add(field)
        val log = writer(f"$i%03d")
        val values = Seq.fill(20)(Rows.random(one, random).toSeq(one).head)
        log.deleteBlock(values.iterator.map(v => LogDelete(UTF8String.fromString("k"), null, Array[Any](v))), one)
        log.close()
        val sink = new Recorded(one)
        scanner(fields = one).scan(logs.filter(_.instant == f"$i%03d"), one, sink)
        assert(sink.all.toSeq == values.map(v => Deleted("k", "null", Seq(Recorded.comparable(v)))), field.name)
      }
      val log    = writer("900")
      val values = Seq.fill(50)(Rows.random(fields, random))
      log.deleteBlock(values.iterator.map(v => LogDelete(UTF8String.fromString("k"), null, v.toSeq(fields).toArray)), fields)
      log.close()
      val sink = new Recorded(fields)
      scanner(fields = fields).scan(logs.filter(_.instant == "900"), fields, sink)
      assert(sink.all.toSeq == values.map(v => Deleted("k", "null", v.toSeq(fields).map(Recorded.comparable))))
    }
  }

  test("wrappers other than the one we write are converted to the ordering field's type") {
    // a delete of key k whose ordering value is the branch and value given
    def content(ordering: String): Array[Byte] = {
      val record = hex("02 02 02 6B 00") ++ hex(ordering) ++ hex("00")
      hex("00 00 00 03 00 00 00") ++ Array(record.length.toByte) ++ record
    }
    def read(dataType: DataType, ordering: String): Any = {
      val name = logName("001")
      Files.deleteIfExists(folder.resolve(s"p/$name"))
      append(name, block(1, Seq(0 -> "001"), content(ordering)))
      val fields = new StructType().add("o", dataType)
      scan(scanner(fields = fields))._1 match {
        case Seq(Deleted("k", _, null))       => null
        case Seq(Deleted("k", _, Seq(value))) => value
        case other                            => fail(other.toString)
      }
    }
    assert(read(LongType, "04 0E") == 7L)
    assert(read(LongType, "04 00") == null)
    assert(read(IntegerType, "06 0E") == 7)
    assert(read(DateType, "10 0E") == 7)
    assert(read(TimestampType, "16 0E") == 7L)
    assert(read(TimestampType, "04 0E") == 7L)
    assert(read(DoubleType, "04 0E") == java.lang.Double.doubleToLongBits(7.0))
    assert(read(StringType, "04 0E") == "7")
    assert(read(DecimalType(10, 2), "04 0E") == Decimal("7.00"))
    assert(read(DecimalType(10, 2), "12 0E 21 C0 33 1D 5D C0 00") == Decimal("9.50"))
    assert(read(DateType, "18 02 02 18 0E 00") == 7)
    assert(read(StringType, "0E 02 78") == "x")
    assert(intercept[MerganserException](read(IntegerType, "0E 02 78")).condition == "LOG_BLOCK_UNREADABLE")
    assert(intercept[MerganserException](read(IntegerType, "18 02 04 04 0E 04 0E 00")).condition == "LOG_BLOCK_UNREADABLE")
  }

  test("a timestamp ordering value that is stored in milliseconds is read in microseconds") {
    val schema = """{"type":"record","name":"r","fields":[{"name":"o","type":["null",{"type":"long","logicalType":"timestamp-millis"}]}]}"""
    append(logName("001"), block(1, Seq(0 -> "001", 2 -> schema), hex("00 00 00 03 00 00 00 08 02 02 02 6B 00 06 0E 00")))
    assert(scan(scanner(fields = new StructType().add("o", TimestampType)))._1 == Seq(Deleted("k", "null", Seq(7000L))))
  }

  test("random rows of every type come back from Avro and from Parquet blocks, in order") {
    val seed   = System.nanoTime()
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

  test("many rows become one Parquet block, few an Avro block, none no block and no file") {
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

  test("no block grows beyond its limit: data and deletes go on in the next") {
    val limit = 64 * 1024
    Seq(("001", LogOptions(parquetAboveRows = 1 << 20, maxBlockBytes = limit)), ("002", LogOptions(parquetAboveRows = 10, maxBlockBytes = limit))).foreach {
      case (instant, options) =>
        val log = writer(instant, options = options)
        val random = new Random(1)
        log.dataBlock((0 until 8000).iterator.map(i => Rows.stored(instant, s"k$i", "p", "f1-0")(i, random.alphanumeric.take(50).mkString)))
        val written = log.close()
        assert(written.blocks > 4 && written.records == 8000)
        val reader = new LogFileReader(storage, logs.find(_.instant == instant).get)
        assert(reader.blocks()._1.map(_.contentLength).max <= limit)
        reader.close()
    }
    val (found, scanned) = scan()
    assert(found.map(_.asInstanceOf[Seq[Any]].head) == (0 until 8000).map(i => s"k$i") ++ (0 until 8000).map(i => s"k$i"))
    assert(scanned.records == 16000)
    val log = writer("003", options = LogOptions(maxBlockBytes = 3 * 1024 * 1024))
    log.deleteBlock(deletes((0 until 200000).map(i => s"a key of some length $i"): _*), ordering)
    assert(log.close().blocks > 1)
    assert(scan(scanner())._2.deletes == 200000)
  }

  test("a record larger than the read buffer is read, and so is a block of many buffers") {
    val log = writer("001")
    val big = "x" * 3000000
    log.dataBlock(Iterator(1, 2, 3).map(i => Rows.stored("001", s"k$i", "p", "f1-0")(i, if (i == 2) big else "y" * 700000)))
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
    assert(scanned == LogScanned(3, 6, 0, 3, 3, logs.map(_.sizeBytes).sum))
  }

  test("a partial block says which columns its records carry, in Avro and in Parquet") {
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

  test("from version 8 on a file of a write that is not completed does not count, in version 6 its blocks do not") {
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

  test("blocks written after the view's instant do not count") {
    Seq("001", "002", "003").foreach { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
    }
    assert(scan(scanner(maxInstant = "002"))._1 == named("001", 1) ++ named("002", 1))
  }

  test("change files are passed over") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    val cdc = logs.head.copy(name = logs.head.name + ".cdc")
    val sink = new Recorded(names)
    assert(scanner().scan(Seq(cdc), names, sink).files == 0 && sink.all.isEmpty)
  }

  test("a rollback takes back its instant's blocks that were read before it, and no others") {
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
      val plain  = new LogFileReader(storage, logs.find(_.version == version).get)
      val found  = plain.blocks()._1.head
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

  test("a block cut short between two good ones is stepped over") {
    val bytes = Seq("001", "002", "003").map { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
      val bytes = bytesOf(log.name)
      Files.delete(folder.resolve(s"p/${log.name}"))
      bytes
    }
    Seq(1, 7, 13, 20, 100, bytes(1).length - 1).foreach { kept =>
      if (kept >= 6) {
        val name = logName("001", kept)
        append(name, bytes(0), bytes(1).take(kept), bytes(2))
        val (found, scanned) = scan()
        assert(found == named("001", 1) ++ named("003", 1) && scanned.corruptBlocks == 1, s"$kept bytes kept")
        Files.delete(folder.resolve(s"p/$name"))
      }
    }
    val name = logName("001", 1)
    append(name, bytes(0), bytes(1).dropRight(3))
    assert(scan()._1 == named("001", 1))
    append(name, bytes(2))
    assert(scan()._1 == named("001", 1) ++ named("003", 1))
  }

  test("a block whose pointer or follower is wrong is stepped over, wherever the next begins") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    val good = bytesOf(log.name)
    Files.delete(folder.resolve(s"p/${log.name}"))
    val wrong = good.clone()
    wrong(wrong.length - 1) = (wrong.last + 1).toByte
    append(log.name, wrong, good)
    assert(scan()._1 == named("001", 1))
    Files.delete(folder.resolve(s"p/${log.name}"))
    val garbage = Array.fill[Byte](200000)('#')
    append(log.name, good, garbage, good)
    val (found, scanned) = scan()
    assert(found == named("001", 1) && scanned.corruptBlocks == 1)
  }

  test("a few bytes behind the last block are no block") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    append(log.name, "#HUD".getBytes)
    assert(scan()._1 == named("001", 1))
  }

  test("an empty log file has no blocks") {
    append(logName("001"))
    Files.createDirectories(folder.resolve("p"))
    Files.createFile(folder.resolve(s"p/${logName("001")}"))
    assert(scan()._1.isEmpty)
  }

  test("headers we do not know are passed over") {
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    append(logName("001"), block(1, Seq(9 -> "x", 0 -> "001", 77 -> "y" * 100000, 5 -> "z"), content))
    assert(scan()._1 == Seq(Deleted("2", "p", null)))
  }

  test("blocks we cannot read are refused by file, place and type, unless they were rolled back") {
    val name = logName("001")
    Seq(4 -> "HFile", 9 -> "type 9").foreach { case (blockType, text) =>
      Files.deleteIfExists(folder.resolve(s"p/$name"))
      append(name, block(blockType, Seq(0 -> "001"), Array.emptyByteArray))
      val error = unreadable()
      assert(error.getMessage.contains(text) && error.parameters("file").endsWith(s"p/$name") && error.parameters("offset") == "0")
    }
    append(name, block(0, Seq(0 -> "002", 1 -> "001", 3 -> "0"), Array.emptyByteArray))
    assert(scan()._1.isEmpty)
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(1, Seq(0 -> "001"), hex("00 00 00 02 00 00 00 00")))
    assert(unreadable().getMessage.contains("version 2"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(1, Seq(0 -> "001"), hex("00 00 00 03 | 00 00 00 03 | 02 02 02")))
    unreadable()
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(3, Seq(0 -> "001", 2 -> "no schema"), hex("00 00 00 03 00 00 00 00")))
    assert(unreadable().getMessage.contains("schema"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(3, Seq(0 -> "001"), hex("00 00 00 03 00 00 00 00"), version = 2))
    assert(unreadable().getMessage.contains("version 2"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, "this is no log file at all".getBytes)
    assert(unreadable().parameters("offset") == "0")
  }

  test("a row is given out again and again: what is kept must be copied") {
    val log = writer("001")
    log.dataBlock(rows("001", 1 to 3))
    log.close()
    val seen = scala.collection.mutable.ArrayBuffer.empty[InternalRow]
    scanner().scan(logs, names, new LogSink {
      override def row(row: InternalRow, provided: Array[Boolean]): Unit                                 = seen += row
      override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = ()
    })
    assert(seen.size == 3 && seen.forall(_ eq seen.head))
  }

  test("an aborted file is gone") {
    val log = writer("001")
    log.dataBlock(rows("001", 1 to 3))
    log.abort()
    assert(logs.isEmpty)
  }
}
