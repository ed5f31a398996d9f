package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.{Rows, TempFolder}
import io.merganser.table.file.{FileNames, LogFile}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.file.{Files, StandardOpenOption}

/** Log files of one file group, written by us or assembled from bytes, and scans of them. */
abstract class LogFixture extends AnyFunSuite with TempFolder {

  protected val columns  = Rows.withMeta("id" -> IntegerType, "name" -> StringType)
  protected val ordering = new StructType().add("id", IntegerType)
  protected val names    = new StructType().add("_hoodie_record_key", StringType).add("name", StringType)

  protected def writer(
      instant: String,
      version: Int = 1,
      schema: StructType = columns,
      options: LogOptions = LogOptions(),
      nameInstant: String = null,
      announce: String => Unit = _ => (),
      compacted: Seq[String] = Nil
  ): LogWriter = new LogWriter(
    storage, "t", LogNames("p", "f1-0", Option(nameInstant).getOrElse(instant), version, "1-0-1"), instant, schema,
    options, announce, compacted
  )

  protected def rows(instant: String, keys: Seq[Int]): Iterator[InternalRow] =
    keys.iterator.map(i => Rows.stored(instant, s"k$i", "p", "f1-0")(i, s"$instant:$i"))

  protected def deletes(keys: String*): Iterator[LogDelete] =
    keys.iterator.map(key => LogDelete(UTF8String.fromString(key), UTF8String.fromString("p"), null))

  /** The log files of the partition in reading order. */
  protected def logs: Seq[LogFile] =
    storage.list("p").flatMap(status => FileNames.parseLog("p", status.getPath.getName, status.getLen)).sorted

  protected def scanner(
      isCompleted: String => Boolean = _ => true,
      maxInstant: String = "99",
      version: Int = 9,
      fields: StructType = ordering
  ): LogScanner = new LogScanner(storage, version, fields, isCompleted, maxInstant, isWhole = _ => version >= 8)

  protected def scan(
      by: LogScanner = scanner(),
      schema: StructType = names,
      files: => Seq[LogFile] = logs
  ): (Seq[Any], LogScanned) = {
    val sink    = new Recorded(schema)
    val scanned = by.scan(files, schema, sink)
    (sink.all.toSeq, scanned)
  }

  protected def named(instant: String, keys: Int*): Seq[Seq[Any]] = keys.map(i => Seq(s"k$i", s"$instant:$i"))

  /** A block as bytes. */
  protected def block(
      blockType: Int,
      header: Seq[(Int, String)],
      content: Array[Byte],
      version: Int = 1
  ): Array[Byte] = {
    val bytes  = new ByteArrayOutputStream()
    val out    = new DataOutputStream(bytes)
    val head   = header.map { case (k, v) => (k, v.getBytes("UTF-8")) }
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

  protected def bytesOf(name: String): Array[Byte] = Files.readAllBytes(folder.resolve(s"p/$name"))

  protected def append(name: String, bytes: Array[Byte]*): Unit = {
    Files.createDirectories(folder.resolve("p"))
    Files.deleteIfExists(folder.resolve(s"p/.$name.crc"))
    bytes.foreach(Files.write(folder.resolve(s"p/$name"), _, StandardOpenOption.CREATE, StandardOpenOption.APPEND))
  }

  protected def logName(instant: String, version: Int = 1): String = FileNames.log("f1-0", instant, version, "1-0-1")

  protected def hex(text: String): Array[Byte] =
    text.split("[ |]+").filter(_.nonEmpty).map(Integer.parseInt(_, 16).toByte)

  /** The files with their committed bytes, as their commits record them. */
  protected def committed(bytes: Long): Seq[LogFile] = logs.map(_.copy(committedBytes = Some(bytes)))

  protected def unreadable(schema: StructType = names, files: => Seq[LogFile] = logs): MerganserException = {
    val error = intercept[MerganserException](scan(schema = schema, files = files))
    assert(error.condition == "LOG_BLOCK_UNREADABLE")
    error
  }
}
