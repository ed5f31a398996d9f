package io.merganser.table.base

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Files

import io.merganser.merge.MerganserException
import io.merganser.table.{Rows, TempFolder}
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.util.{HadoopInputFile, HadoopOutputFile}
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.{LongType, StringType}
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

class FooterChecksumSuite extends AnyFunSuite with TempFolder {

  private val columns = Rows.withMeta("id" -> LongType, "name" -> StringType)

  /** Bytes after the footer: its length and the magic. */
  private val Tail = 8

  private def write(name: String, settings: Configuration = conf, rows: Int = 500): Array[Byte] = {
    val writer = new BaseFileWriter(settings, path(name), columns, BaseFileOptions(rowGroupBytes = 4096))
    (0 until rows).foreach(i => writer.write(Rows.stored("001", f"k$i%05d", "p", name)(i.toLong, s"name $i")))
    val written = writer.close()
    val bytes   = Files.readAllBytes(folder.resolve(name))
    assert(written.sizeBytes == bytes.length)
    bytes
  }

  private def footerStart(bytes: Array[Byte]): Int =
    bytes.length - Tail - Integer.reverseBytes(java.nio.ByteBuffer.wrap(bytes, bytes.length - Tail, 4).getInt)

  private def footer(bytes: Array[Byte]): BaseFileFooter = {
    Files.write(folder.resolve("changed.parquet"), bytes)
    BaseFileFooter.read(conf, path("changed.parquet"), bytes.length.toLong)
  }

  test("any changed byte of a footer is an error, except in the entry's name") {
    val bytes   = write("f.parquet", rows = 20)
    val start   = footerStart(bytes)
    val entry   = new String(bytes, US_ASCII).lastIndexOf(FooterChecksum.Entry)
    val name    = entry - 2 until entry + FooterChecksum.Entry.length + 2 // with the headers of name and value
    val changed = start until bytes.length - Tail
    assert(entry > start)
    val unnoticed = changed.filter { at =>
      val copy = bytes.clone()
      copy(at) = (copy(at) ^ (1 << (at % 8))).toByte
      try { footer(copy); true }
      catch { case e: MerganserException => assert(e.condition == "BASE_FILE_UNREADABLE"); false }
    }
    assert(unnoticed.forall(name.contains), s"bytes $unnoticed, entry at $entry")
    assert(footer(bytes).rowCount == 20)
  }

  test("a changed digit of the checksum is an error that names the file and both checksums") {
    val bytes  = write("f.parquet")
    val digits = new String(bytes, US_ASCII).lastIndexOf(FooterChecksum.Entry) + FooterChecksum.Entry.length + 2
    bytes(digits) = if (bytes(digits) == 'a') 'b' else 'a'
    val error = intercept[MerganserException](footer(bytes))
    assert(error.condition == "BASE_FILE_UNREADABLE")
    assert(error.getMessage.contains("changed.parquet") && error.getMessage.contains("checksum"))
  }

  test("Parquet reads the file, of several row groups or without a row, with the entry in its metadata") {
    for (rows <- Seq(0, 1, 5000)) {
      write(s"f$rows.parquet", rows = rows)
      val reader = ParquetFileReader.open(HadoopInputFile.fromPath(path(s"f$rows.parquet"), conf))
      try {
        val metadata = reader.getFooter
        assert(metadata.getBlocks.size == 0 == (rows == 0))
        assert(metadata.getBlocks.size > 1 == rows > 500)
        assert(metadata.getFileMetaData.getKeyValueMetaData.get(FooterChecksum.Entry).matches("[0-9a-f]{8}"))
        assert(reader.getRecordCount == rows)
      } finally reader.close()
    }
  }

  test("a footer with a copied checksum, as tools that copy row groups write it, is read") {
    write("f.parquet")
    val stored = BaseFileFooter.read(conf, path("f.parquet")).keyValues(FooterChecksum.Entry)
    val schema = MessageTypeParser.parseMessageType("message m { required int64 id; }")
    def copy(entries: (String, String)*): BaseFileFooter = {
      val name    = s"copy${entries.size}.parquet"
      val file    = HadoopOutputFile.fromPath(path(name), conf)
      val builder = ExampleParquetWriter.builder(file).withConf(conf).withType(schema)
      builder.withExtraMetaData(entries.toMap.asJava).build().close()
      BaseFileFooter.read(conf, path(name))
    }
    val entry = FooterChecksum.Entry -> stored
    assert(copy(entry, "original.created.by" -> "merganser").keyValues(FooterChecksum.Entry) == stored)
    assert(intercept[MerganserException](copy(entry)).condition == "BASE_FILE_UNREADABLE")
  }

  private def encrypting: Configuration = {
    val settings = new Configuration(conf)
    settings.set("parquet.crypto.factory.class", classOf[FooterChecksumSuite.PlainFactory].getName)
    settings
  }

  test("an encrypted file has no recent rows and no checksum beside its row groups") {
    for (settings <- Seq(conf, encrypting)) {
      val recent = new RecentRowBuffer("000", most = 10L, UnsafeProjection.create(columns))
      val writer = new BaseFileWriter(settings, path("f.parquet"), columns, recent = Some(recent))
      writer.write(Rows.stored("001", "k", "p", "f.parquet")(1L, "secret"))
      writer.close()
      assert(RecentRows.of(BaseFileFooter.read(conf, path("f.parquet"))).isDefined == (settings eq conf))
      Files.delete(folder.resolve("f.parquet"))
    }
  }

  test("a footer without a checksum is read, whether of another engine or encrypted") {
    write("f.parquet", encrypting)
    val footer = BaseFileFooter.read(conf, path("f.parquet"))
    assert(footer.rowCount == 500 && !footer.keyValues.contains(FooterChecksum.Entry))
  }
}

object FooterChecksumSuite {
  import org.apache.hadoop.fs.Path
  import org.apache.parquet.crypto.{EncryptionPropertiesFactory, FileEncryptionProperties}
  import org.apache.parquet.hadoop.api.WriteSupport

  /** Encrypts no file. */
  final class PlainFactory extends EncryptionPropertiesFactory {
    override def getFileEncryptionProperties(
        conf: Configuration,
        file: Path,
        context: WriteSupport.WriteContext
    ): FileEncryptionProperties = null
  }
}
