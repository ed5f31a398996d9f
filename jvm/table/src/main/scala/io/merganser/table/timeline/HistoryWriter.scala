package io.merganser.table.timeline

import io.merganser.table.options.HistorySettings
import io.merganser.table.storage.Storage
import org.apache.parquet.example.data.Group
import org.apache.parquet.schema.MessageType

import scala.collection.mutable.ArrayBuffer

/**
 * Writes the history of layout 2. Archiving adds a file to layer 0; when a layer has a number of files, the oldest are
 * merged into one of the next layer. Each change is a new version of the history, by a new manifest; the files of
 * earlier versions stay for some versions. Call under the table lock.
 */
private[table] final class HistoryWriter(storage: Storage, folder: String, settings: HistorySettings) {
  import HistoryParquet._

  private val manifests = new HistoryManifests(storage, folder)

  /** Requested time and action of the entries whose requested time is in a range. */
  def known(first: String, last: String): Set[(String, Action)] = {
    val found = files.filter(file => file.range._1 <= last && first <= file.range._2)
    found.flatMap(file => rows(file, columns(Requested, ActionName))(row => keyOf(row)).flatten).toSet
  }

  /** Adds entries, at least one, in the order of their requested times. */
  def add(first: String, last: String, entries: Iterator[HistoryEntry]): Unit =
    replace(Nil, write(s"${first}_${last}_0.parquet", entries))

  /** Merges files, where a layer has enough of them, and deletes those that no retained version of the history has. */
  def compact(): Unit = {
    val merged = Iterator.from(0).takeWhile(mergeLayer).size
    val kept   = manifests.numbers.sorted.reverse.take(settings.retained + merged)
    val gone   = manifests.numbers.filterNot(kept.contains)
    if (gone.nonEmpty) {
      val named = kept.flatMap(manifests.files).map(_.name).toSet
      gone.foreach(manifests.delete)
      storage.list(folder).map(_.getPath.getName).filter(name => name.endsWith(".parquet") && !named(name)).foreach(
        name => storage.delete(s"$folder/$name"))
    }
  }

  private def files: Seq[HistoryFile] = manifests.current.fold(Seq.empty[HistoryFile])(_._2)

  /** @return whether files of the layer were merged */
  private def mergeLayer(layer: Int): Boolean = {
    val all    = files.filter(_.layer.contains(layer)).sortBy(_.range)
    val chosen = if (all.size < settings.batch) Nil else together(all)
    val name = s"${chosen.map(_.range._1).reduceOption(min).getOrElse("")}_${chosen.map(_.range._2).reduceOption(max)
        .getOrElse("")}_${layer + 1}.parquet"
    // A file of this name has other entries; readers would see either instead of both.
    if (chosen.size < 2 || files.exists(_.name == name)) false
    else {
      replace(chosen, write(name, chosen.iterator.flatMap(entries)))
      true
    }
  }

  /** The oldest files that are small enough, consecutive ones. */
  private def together(files: Seq[HistoryFile]): Seq[HistoryFile] = {
    val chosen = ArrayBuffer.empty[HistoryFile]
    var bytes  = 0L
    files.takeWhile { file =>
      bytes += file.sizeBytes.getOrElse(0L)
      if (bytes > settings.maxBytes && chosen.isEmpty) bytes = 0L else chosen += file
      bytes <= settings.maxBytes && chosen.size < settings.batch
    }
    chosen.toList
  }

  private def min(a: String, b: String) = if (a < b) a else b
  private def max(a: String, b: String) = if (a < b) b else a

  private def write(name: String, entries: Iterator[HistoryEntry]): HistoryFile =
    HistoryFile(name, Some(HistoryParquet.write(storage, s"$folder/$name", entries)))

  private def replace(gone: Seq[HistoryFile], file: HistoryFile): Unit = {
    val now   = manifests.current
    val names = gone.map(_.name).toSet + file.name
    manifests.replace(now.map(_._1), now.toSeq.flatMap(_._2).filterNot(f => names(f.name)) :+ file)
  }

  private def entries(file: HistoryFile): Iterator[HistoryEntry] =
    rows(file, columns(Requested, Completed, ActionName, Metadata, Plan)) { row =>
      keyOf(row).map { case (requested, action) =>
        HistoryEntry(requested, string(row, Completed), action, bytes(row, Metadata), bytes(row, Plan))
      }
    }.flatten

  private def keyOf(row: Group): Option[(String, Action)] = for {
    requested <- string(row, Requested)
    action    <- string(row, ActionName).flatMap(Action.parse)
  } yield (requested, action)

  /** Row by row: the reader is closed after the last one. */
  private def rows[T](
      file: HistoryFile,
      columns: MessageType
  )(take: Group => T): Iterator[T] =
    manifests.named(file.name) {
      val reader = HistoryParquet.reader(storage, folder, file, columns)
      val found  = HistoryParquet.rows(reader).map(take)
      new Iterator[T] {
        override def hasNext: Boolean = {
          val more = manifests.named(file.name)(found.hasNext)
          if (!more) reader.close()
          more
        }
        override def next(): T = found.next()
      }
    }
}
