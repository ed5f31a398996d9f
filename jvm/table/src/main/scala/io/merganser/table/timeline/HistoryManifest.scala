package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import io.merganser.merge.MerganserException
import io.merganser.table.storage.Storage

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

/**
 * A file of the history of layout 2, as a manifest lists it:
 * `<first instant>_<last instant>_<layer>.parquet`.
 *
 * @param sizeBytes None if the manifest does not have it
 */
private[timeline] final case class HistoryFile(name: String, sizeBytes: Option[Long]) {

  private def parts: Array[String] = name.stripSuffix(".parquet").split('_')

  /** The first and the last instant. */
  def range: (String, String) = parts match {
    case Array(first, last, _*) => (first, last)
    case _                      => ("", "\uffff")
  }

  /** None if the name has none. */
  def layer: Option[Int] = parts match {
    case Array(_, _, layer) => Try(layer.toInt).toOption
    case _                  => None
  }

  def covers(instant: String): Boolean = range._1 <= instant && instant <= range._2
}

/**
 * The manifests of the history of layout 2: each lists the files of one version of the history. The file `_version_`
 * has the number of the current one; while it is replaced, the one with the largest number is the current one.
 */
private[timeline] final class HistoryManifests(storage: Storage, folder: String) {
  import HistoryManifests._

  /** The current files, with the number of their manifest; None without a history. */
  def current: Option[(Long, Seq[HistoryFile])] = newest.map(number => number -> files(number))

  /** @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE */
  def files(number: Long): Seq[HistoryFile] = {
    val name = s"$Prefix$number"
    named(name) {
      val files = Json.readTree(storage.read(s"$folder/$name")).path("files")
      if (!files.isArray) throw new IllegalArgumentException("it has no files")
      files.elements.asScala.map { entry =>
        val (file, bytes) = (entry.path("fileName").asText, entry.path("fileLen"))
        if (file.isEmpty) throw new IllegalArgumentException("one of its files has no name")
        HistoryFile(file, if (bytes.isNumber) Some(bytes.asLong) else None)
      }.toList
    }
  }

  /** The numbers of all manifests. */
  def numbers: Seq[Long] = storage.list(folder).flatMap(f => numberOf(f.getPath.getName))

  private def newest: Option[Long] =
    try {
      val number = new String(storage.read(s"$folder/$Version"), UTF_8).trim
      if (number.isEmpty || !number.forall(c => c >= '0' && c <= '9'))
        throw unreadable(Version, new IllegalArgumentException("it is not the number of a manifest"))
      Some(number.toLong)
    } catch { case _: FileNotFoundException => numbers.sorted.lastOption }

  /**
   * Makes a manifest of these files the current one. Call under the table lock.
   *
   * @param after number of the current manifest
   */
  def replace(after: Option[Long], files: Seq[HistoryFile]): Unit = {
    val number  = after.getOrElse(0L) + 1
    val content = Json.createObjectNode()
    val list    = content.putArray("files")
    files.foreach { file =>
      val entry = list.addObject().put("fileName", file.name)
      file.sizeBytes.foreach(entry.put("fileLen", _))
    }
    storage.delete(s"$folder/$Prefix$number") // of a process that ended before it was the current one
    storage.createNew(s"$folder/$Prefix$number", content.toString.getBytes(UTF_8))
    storage.delete(s"$folder/$Version")
    storage.createNew(s"$folder/$Version", number.toString.getBytes(UTF_8))
  }

  def delete(number: Long): Unit = { storage.delete(s"$folder/$Prefix$number"); () }

  def named[T](file: String)(read: => T): T =
    try read
    catch {
      case e: MerganserException => throw e
      case NonFatal(e)           => throw unreadable(file, e)
    }

  def unreadable(file: String, cause: Throwable): MerganserException = MerganserException("TIMELINE_FILE_UNREADABLE",
    "file" -> storage.path(s"$folder/$file"), "reason" -> String.valueOf(cause.getMessage)).causedBy(cause)
}

private[timeline] object HistoryManifests {

  private val Json = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  private val Version = "_version_"
  private val Prefix  = "manifest_"

  /** Whether a file of this name means that instants have been archived. */
  def isOne(name: String): Boolean = name == Version || name.startsWith(Prefix)

  private def numberOf(name: String): Option[Long] =
    Some(name).filter(_.startsWith(Prefix)).flatMap(n => Try(n.drop(Prefix.length).toLong).toOption)
}
