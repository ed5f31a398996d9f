package io.merganser.spark.write.tag

import io.merganser.spark.prune.KeyRanges
import io.merganser.table.file.BaseFile
import io.merganser.table.storage.Storage
import org.apache.spark.util.AccumulatorV2

import java.util.{LinkedHashMap => OrderedMap}

import scala.collection.mutable

/**
 * The key ranges of base files whose footers earlier writes of this process have read; the least recently used ones are
 * forgotten. A base file never changes: its name has its file group, its instant and the attempt of a task.
 */
private[tag] object KnownRanges {

  /** About 400 bytes each. */
  private val Most = 50000

  /** Longer keys are not kept. */
  private val LongestKey = 200

  private val ranges = new OrderedMap[String, (String, String)](16, 0.75f, true)

  /** Whether a file may have one of some keys; true if its range is not known. */
  def mayHold(storage: Storage, file: BaseFile, keys: KeyRanges): Boolean =
    synchronized(Option(ranges.get(name(storage, file)))).forall { case (min, max) =>
      keys.overlaps(Some(min), Some(max))
    }

  /** @param min None if the writer did not record it; the range is not kept then */
  def keep(storage: Storage, file: BaseFile, min: Option[String], max: Option[String]): Unit =
    for (first <- min; last <- max) add(name(storage, file), (first, last))

  def add(file: String, range: (String, String)): Unit =
    if (range._1.length <= LongestKey && range._2.length <= LongestKey) synchronized {
      ranges.put(file, range)
      if (ranges.size > Most) {
        val eldest = ranges.entrySet.iterator
        eldest.next()
        eldest.remove()
      }
    }

  def name(storage: Storage, file: BaseFile): String = s"${storage.identity}/${file.path} ${file.sizeBytes}"
}

/** Key ranges that tasks read, by [[KnownRanges.name]]; the driver keeps them when a task has ended. */
private[tag] final class RangesRead extends AccumulatorV2[(String, (String, String)), Unit] {
  private[this] val found = mutable.ArrayBuffer.empty[(String, (String, String))]

  override def isZero: Boolean = synchronized(found.isEmpty)

  override def copy(): RangesRead = {
    val other = new RangesRead
    synchronized(found.foreach(other.add))
    other
  }

  override def reset(): Unit = synchronized(found.clear())

  override def add(range: (String, (String, String))): Unit = synchronized { found += range; () }

  /** Only the driver merges. */
  override def merge(other: AccumulatorV2[(String, (String, String)), Unit]): Unit = other match {
    case read: RangesRead => read.all.foreach { case (file, range) => KnownRanges.add(file, range) }
    case _                => throw new IllegalArgumentException(s"cannot merge ${other.getClass.getName}")
  }

  override def value: Unit = ()

  private def all: Seq[(String, (String, String))] = synchronized(found.toList)
}
