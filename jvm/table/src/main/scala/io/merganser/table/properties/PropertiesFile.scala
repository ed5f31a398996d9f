package io.merganser.table.properties

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Properties

import io.merganser.merge.MerganserException
import io.merganser.table.storage.Storage

import scala.collection.JavaConverters._

/**
 * `.hoodie/hoodie.properties` and the backup that is read in its place while it is replaced.
 *
 * At every step of a replacement one of the two is complete: backup written, file deleted, new file written, backup
 * deleted. Both become visible only with their full content.
 */
private[table] object PropertiesFile {

  val Name     = ".hoodie/hoodie.properties"
  val Backup   = ".hoodie/hoodie.properties.backup"
  val Checksum = "hoodie.table.checksum"

  /** Of the backup, without its folder. */
  val BackupName: String = Backup.split('/').last

  private val Attempts = 10
  private val PauseMs  = 50L

  /**
   * The file, or else its backup; retries for half a second while a replacement is in progress.
   *
   * @throws io.merganser.merge.MerganserException PATH_IS_NO_TABLE if neither is there, TABLE_PROPERTIES_INVALID
   */
  def read(storage: Storage): Map[String, String] = {
    var attempt = 0
    while (true) {
      val file   = load(storage, Name)
      val backup = if (file.exists(_.isCertain)) None else load(storage, Backup)
      // Without a checksum the file may be truncated; if there is a backup, that one is complete.
      val found = file.filter(_.isCertain).orElse(backup.filter(_.isValid)).orElse(file.filter(_.isValid))
      if (found.isDefined) return found.get.properties
      attempt += 1
      if (file.isEmpty && backup.isEmpty && attempt > 1) throw MerganserException("PATH_IS_NO_TABLE", "path" -> storage)
      if (attempt == Attempts)
        throw MerganserException("TABLE_PROPERTIES_INVALID", "file" -> storage.path(Name),
          "reason" -> file.orElse(backup).flatMap(_.fault).getOrElse("it is gone"))
      if (attempt > 1) Thread.sleep(PauseMs)
    }
    throw new IllegalStateException("unreachable")
  }

  /** The properties of one of the two files if it is complete; a file without a checksum counts as complete. */
  private[table] def intact(storage: Storage, name: String): Option[Map[String, String]] =
    load(storage, name).filter(_.isValid).map(_.properties)

  /** Completes a replacement that was cut short: afterwards the file is complete and there is no backup. */
  def recover(storage: Storage): Unit = {
    val backup = load(storage, Backup)
    if (backup.isDefined) {
      if (!load(storage, Name).exists(_.isCertain) && backup.get.isValid) {
        storage.delete(Name)
        storage.createNew(Name, write(backup.get.properties))
      }
      storage.delete(Backup)
    }
  }

  /** To be called under the table lock and after `recover`. */
  def replace(storage: Storage, old: Map[String, String], changed: Map[String, String]): Unit = {
    storage.createNew(Backup, write(old))
    storage.delete(Name)
    storage.createNew(Name, write(changed))
    if (!load(storage, Name).exists(_.properties == changed)) {
      storage.delete(Name)
      throw MerganserException("TABLE_PROPERTIES_INVALID", "file" -> storage.path(Name),
        "reason" -> "it differs from the written content; the previous file remains as its backup")
    }
    storage.delete(Backup)
    ()
  }

  /** In the format of Java properties, sorted by key, the checksum last: a truncated file has none. */
  def write(properties: Map[String, String]): Array[Byte] = {
    val (last, others) = properties.toSeq.sortBy(_._1).partition(_._1 == Checksum)
    ("#Properties of the table" +: (others ++ last).map { case (key, value) => line(key, value) })
      .mkString("", "\n", "\n").getBytes(ISO_8859_1)
  }

  /** One line, escaped by java.util.Properties itself. */
  private def line(key: String, value: String): String = {
    val one = new Properties
    one.setProperty(key, value)
    val out = new ByteArrayOutputStream()
    one.store(out, null)
    out.toString("ISO-8859-1").linesIterator.filterNot(_.startsWith("#")).mkString
  }

  private final case class Content(properties: Map[String, String], fault: Option[String]) {
    def isValid: Boolean   = fault.isEmpty
    def isCertain: Boolean = isValid && properties.contains(Checksum)
  }

  private def load(storage: Storage, name: String): Option[Content] =
    try Some(parse(storage.readUnverified(name)))
    catch {
      case _: FileNotFoundException => None
      case _: IOException if storage.status(name).exists(_.isDirectory) =>
        Some(Content(Map.empty, Some("it is a folder")))
    }

  private def parse(bytes: Array[Byte]): Content = {
    val java = new Properties
    try {
      java.load(new ByteArrayInputStream(bytes))
      val properties = java.asScala.toMap
      val config     = TableConfig(properties)
      val fault =
        if (properties.get("hoodie.table.name").forall(_.trim.isEmpty)) Some("it has no hoodie.table.name")
        else properties.get(Checksum).map(_.trim).filter(_ != config.checksum.toString)
          .map(found => s"its checksum is $found, its database and table names give ${config.checksum}")
      Content(properties, fault)
    } catch { case e: IllegalArgumentException => Content(Map.empty, Some(e.getMessage)) }
  }
}
