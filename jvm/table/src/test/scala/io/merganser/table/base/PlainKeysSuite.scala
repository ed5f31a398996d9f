package io.merganser.table.base

import io.merganser.merge.{Histories, MerganserException}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.{Rows, TempFolder}
import org.apache.parquet.crypto.FileEncryptionProperties
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.Encoding
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.hadoop.{CodecFactory, ParquetFileWriter}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.sources.{Filter, GreaterThan}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import scala.collection.JavaConverters._
import scala.util.Random

/** Record keys that are read where they are in the pages of a file. */
final class PlainKeysSuite extends AnyFunSuite with TempFolder {
  private val columns = Rows.withMeta("id" -> LongType, "name" -> StringType)

  /** The rows of a file, and whether their keys were read in place. */
  private def read(name: String, schema: StructType, filters: Seq[Filter] = Nil): (Seq[Seq[Any]], Boolean) = {
    val (footer, input) = BaseFileFooter.open(conf, path(name), folder.resolve(name).toFile.length)
    val file = new BaseFileReader(conf, path(name), folder.resolve(name).toFile.length, schema,
      BaseReadOptions(filters, known = Some(footer), input = Some(input)))
    try {
      var isInPlace = false
      val rows = file.batches().flatMap { batch =>
        isInPlace |= batch.column(schema.fieldIndex(MetaColumns.RecordKey)).isInstanceOf[PlainKeys]
        batch.rowIterator().asScala.map(Rows.plain(_, schema)).toList
      }.toList
      (rows, isInPlace)
    } finally file.close()
  }

  private def expected(name: String, schema: StructType): Seq[Seq[Any]] = {
    val file = new BaseFileReader(conf, path(name), folder.resolve(name).toFile.length, schema)
    try file.rows().map(Rows.plain(_, schema)).toList
    finally file.close()
  }

  private def write(name: String, keys: Seq[String], options: BaseFileOptions): Unit = {
    val writer = new BaseFileWriter(conf, path(name), columns, options)
    keys.foreach(key => writer.write(Rows.stored("001", key, "p", name)(key.hashCode.toLong, s"name of $key")))
    writer.close()
    ()
  }

  private val some = StructType(Seq("name", MetaColumns.RecordKey, "id").map(columns(_)))

  for (codec <- Seq("uncompressed", "snappy", "gzip", "zstd"))
    test(s"keys of any length, in many pages and row groups, $codec") {
      val random = new Random(Histories.seed)
      val keys   = Seq.fill(20000)(Seq.fill(random.nextInt(12))("aZ9_é€ :," (random.nextInt(9))).mkString)
      write("f.parquet", keys, BaseFileOptions(codec, rowGroupBytes = 100000, pageBytes = 2000))
      assert(BaseFileFooter.read(conf, path("f.parquet")).metadata.getBlocks.size > 2)
      for (schema <- Seq(some, columns, StructType(some.filter(_.name == MetaColumns.RecordKey))))
        assert(read("f.parquet", schema) == ((expected("f.parquet", schema), true)))
    }

  test("rows of a file are read whole where a filter may skip pages") {
    write("f.parquet", Seq("b", "a"), BaseFileOptions())
    assert(read("f.parquet", some, Seq(GreaterThan("id", 0L)))._2 == false)
  }

  private def others(key: String, version: WriterVersion, hasDictionary: Boolean, keys: Seq[String]) = {
    val schema = MessageTypeParser.parseMessageType(
      s"message m { $key binary _hoodie_record_key (UTF8); required int64 id; }")
    val name = s"$key$version$hasDictionary${keys.hashCode}.parquet"
    val writer = ExampleParquetWriter.builder(path(name)).withConf(conf).withType(schema).withWriterVersion(version)
      .withDictionaryEncoding(hasDictionary).withPageRowCountLimit(7)
      .withCompressionCodec(CompressionCodecName.SNAPPY).build()
    val groups = new SimpleGroupFactory(schema)
    keys.zipWithIndex.foreach { case (text, i) =>
      val group = groups.newGroup()
      if (text != null) group.append("_hoodie_record_key", text)
      writer.write(group.append("id", i.toLong))
    }
    writer.close()
    val read  = StructType(Seq(columns(MetaColumns.RecordKey), columns("id")))
    val found = this.read(name, read)
    assert(found._1 == expected(name, read), name)
    found._2
  }

  test("files of other writers: in place where no key is null, and none in a dictionary or another encoding") {
    val keys = Seq.tabulate(100)(i => s"key ${i * 7919 % 101}")
    for (column <- Seq("optional", "required")) {
      assert(others(column, WriterVersion.PARQUET_1_0, hasDictionary = false, keys))
      assert(!others(column, WriterVersion.PARQUET_1_0, hasDictionary = true, keys.map(_.take(5))))
      assert(!others(column, WriterVersion.PARQUET_2_0, hasDictionary = false, keys))
    }
    assert(!others("optional", WriterVersion.PARQUET_1_0, hasDictionary = false, keys.updated(50, null)))
  }

  for (codec <- Seq(CompressionCodecName.SNAPPY, CompressionCodecName.UNCOMPRESSED))
    test(s"pages of the second version, $codec") {
      val schema = MessageTypeParser.parseMessageType("message m { optional binary _hoodie_record_key (UTF8); }")
      val column = schema.getColumns.get(0)
      val file = new ParquetFileWriter(HadoopOutputFile.fromPath(path("f.parquet"), conf), schema,
        ParquetFileWriter.Mode.CREATE, 1 << 20, 0, 64, 64, true, null: FileEncryptionProperties)
      val keys                 = Seq.tabulate(100)(i => Binary.fromString("k" * (i % 9) + i))
      val values               = new ByteArrayOutputStream
      val sizes: Statistics[_] = Statistics.createStats(column.getPrimitiveType)
      keys.foreach { key =>
        values.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(key.length).array)
        values.write(key.getBytes)
        sizes.updateStats(key)
      }
      val plain      = BytesInput.from(values.toByteArray)
      val compressed = new CodecFactory(conf, 1024).getCompressor(codec).compress(plain)
      val levels     = BytesInput.from(Array[Byte](0xc8.toByte, 1, 1)) // a hundred times 1
      file.start()
      file.startBlock(200)
      file.startColumn(column, 200, codec)
      for (_ <- 1 to 2)
        file.writeDataPageV2(100, 0, 100, BytesInput.empty(), levels, Encoding.PLAIN, compressed, plain.size.toInt,
          sizes)
      file.endColumn()
      file.endBlock()
      file.end(new java.util.HashMap[String, String])
      val read = StructType(Seq(columns(MetaColumns.RecordKey)))
      assert(this.read("f.parquet", read) == ((expected("f.parquet", read), true)))
      assert(expected("f.parquet", read) == (keys ++ keys).map(key => Seq(key.toStringUsingUTF8)))
    }

  test("a damaged page is an error") {
    write("f.parquet", Seq.tabulate(1000)(i => s"key $i"), BaseFileOptions("uncompressed"))
    val footer = BaseFileFooter.read(conf, path("f.parquet"))
    val chunk = footer.metadata.getBlocks.get(0).getColumns.asScala.find(
      _.getPath.toDotString == MetaColumns.RecordKey).get
    java.nio.file.Files.delete(folder.resolve(".f.parquet.crc"))
    val bytes = java.nio.file.Files.readAllBytes(folder.resolve("f.parquet"))
    for (at <- Seq(0L, chunk.getTotalSize / 2, chunk.getTotalSize - 1)) {
      val damaged = bytes.clone()
      val place   = (chunk.getStartingPos + at).toInt
      damaged(place) = (damaged(place) ^ 0x55).toByte
      java.nio.file.Files.write(folder.resolve("f.parquet"), damaged)
      assert(intercept[MerganserException](read("f.parquet", some)).condition == "BASE_FILE_UNREADABLE")
    }
  }
}
