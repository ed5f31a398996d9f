package io.merganser.table

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path => NioPath}

import io.merganser.table.FolderState._
import org.apache.avro.file.{DataFileReader, SeekableByteArrayInput}
import org.apache.avro.generic.{GenericDatumReader, GenericRecord}
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.ParquetReader
import org.apache.parquet.hadoop.example.GroupReadSupport

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.matching.Regex

/**
 * Describes the folder of a table after an action on it, apart from what differs between two runs of one action: times,
 * durations, random ids and numbers of tasks. Folders with equal descriptions have the same files with the same
 * contents, so that reads and writes of them, which know nothing else of the action, do the same.
 *
 * @param before the table's folder before the action: its files, ids and instants are compared as they are
 */
final class FolderState(before: NioPath) {

  private val old: Map[String, Array[Byte]] = files(before).toMap

  private val known: Set[String] = old.keySet.flatMap(path => (Instant.findAllIn(path) ++ Id.findAllIn(path)).toSeq)

  /** One line for each file. */
  def of(folder: NioPath): Seq[String] = {
    val found = files(folder).map { case (path, bytes) =>
      if (old.get(path).exists(java.util.Arrays.equals(_, bytes))) s"same $path"
      else s"$path: ${describe(folder.resolve(path), bytes).replace(folder.toString, "table")}"
    }
    val lines    = found.sortBy(renamed(_, _ => "new", _ => "new"))
    val instants = lines.flatMap(Instant.findAllIn(_)).filterNot(known).distinct.sorted
    val ids      = lines.flatMap(Id.findAllIn(_)).filterNot(known).distinct
    lines.map(renamed(_, time => s"time${instants.indexOf(time)}", id => s"id${ids.indexOf(id)}")).sorted
  }

  /** The text with other names of the instants and ids that are new. */
  private def renamed(text: String, instant: String => String, id: String => String): String = {
    val timed = Instant.replaceAllIn(text, m => if (known(m.matched)) m.matched else instant(m.matched))
    val named = Id.replaceAllIn(timed, m => if (known(m.matched)) m.matched else id(m.matched))
    Checksum.replaceAllIn(Token.replaceAllIn(named, "token"), "#")
  }
}

object FolderState {

  private val Instant: Regex = "(?<!\\d)\\d{17}(?!\\d)".r

  private val Id: Regex = "(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".r

  /** Of the task that wrote a file. */
  private val Token: Regex = "(?<=_)\\d+-\\d+-\\d+(?![0-9a-zA-Z-])".r

  /** Durations and points in time in the text of a commit, a plan or a lock, and sizes of files, which have ids. */
  private val Varying: Regex = "(?i)(\"?\\w*(?:time|millis|duration|bytes|size|checksum)\\w*\"?\\s*[:=]\\s*)\\d+".r

  /** Of a log file with ids and times, in a commit. */
  private val Checksum: Regex = "(?<=token=)[0-9a-f]+".r

  private val Clock: Regex = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z?".r

  private val LongNumber: Regex = "(?<![\\w-])\\d{4,16}(?![\\w-])".r

  private def files(folder: NioPath): Seq[(String, Array[Byte])] = {
    val stream = Files.walk(folder)
    try stream.iterator.asScala.filter(Files.isRegularFile(_)).toList
        .map(file => folder.relativize(file).toString -> Files.readAllBytes(file))
    finally stream.close()
  }

  private def describe(file: NioPath, bytes: Array[Byte]): String = {
    def starts(magic: String) = new String(bytes.take(magic.length), ISO_8859_1) == magic
    val content =
      if (starts("PAR1")) Try(rowsOf(file)).toOption
      else if (starts("Obj\u0001")) Try(recordsOf(bytes)).toOption.map(withoutTimes)
      else if (starts("#HUDI#")) Some(new String(bytes, ISO_8859_1))
      else Some(withoutTimes(new String(bytes, ISO_8859_1)))
    content.getOrElse(s"damaged, ${bytes.length} bytes")
  }

  private def withoutTimes(text: String): String = {
    val dated = text.linesIterator.filterNot(_.startsWith("#")).mkString("\n")
    LongNumber.replaceAllIn(Varying.replaceAllIn(Clock.replaceAllIn(dated, "#"), "$1#"), "#")
  }

  private def recordsOf(bytes: Array[Byte]): String = {
    val reader =
      new DataFileReader[GenericRecord](new SeekableByteArrayInput(bytes), new GenericDatumReader[GenericRecord]())
    try reader.iterator.asScala.map(_.toString).mkString("\n")
    finally reader.close()
  }

  private def rowsOf(file: NioPath): String = {
    val reader: ParquetReader[Group] = ParquetReader.builder(new GroupReadSupport, new Path(file.toUri))
      .withConf(FaultyFileSystem.configuration).build()
    try Iterator.continually(reader.read()).takeWhile(_ != null).map(_.toString).mkString("\n")
    finally reader.close()
  }
}
