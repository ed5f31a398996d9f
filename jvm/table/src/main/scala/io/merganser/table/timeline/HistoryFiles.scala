package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.schema.{InternalSchemaJson, SchemaHistory}
import io.merganser.table.storage.Storage

import scala.util.control.NonFatal

/**
 * The files with the versions of a table's columns. Each has all versions up to its instant, and counts if the commit
 * of that instant is completed.
 */
private[table] object HistoryFiles {

  val Folder = ".hoodie/.schema"

  val Suffix = ".schemacommit"

  /**
   * The newest history; None for a table without one.
   *
   * @throws MerganserException TIMELINE_FILE_UNREADABLE
   */
  def load(storage: Storage, isCompleted: String => Boolean): Option[SchemaHistory] = {
    val names = storage.list(Folder).map(_.getPath.getName).filter(_.endsWith(Suffix))
    names.filter(name => isCompleted(instant(name))).sorted.lastOption.map(name => read(storage, s"$Folder/$name"))
  }

  /** Removes the files of a commit that did not complete. */
  def remove(storage: Storage, requested: String): Unit =
    storage.list(Folder).map(_.getPath.getName).filter(instant(_) == requested)
      .foreach(name => storage.delete(s"$Folder/$name"))

  /** The requested time in a file's name, in each state and layout. */
  def instant(name: String): String = name.takeWhile(c => c != '_' && c != '.')

  private def read(storage: Storage, file: String): SchemaHistory =
    try {
      val versions = InternalSchemaJson.parseAll(storage.readText(file)).sortBy(-_.version)
      if (versions.isEmpty) throw new IllegalArgumentException("it has no schema")
      SchemaHistory(versions)
    } catch {
      case NonFatal(e) => throw MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(file),
          "reason" -> String.valueOf(e.getMessage)).causedBy(e)
    }
}
