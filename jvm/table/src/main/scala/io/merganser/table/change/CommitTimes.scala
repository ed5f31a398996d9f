package io.merganser.table.change

import io.merganser.table.base.BaseFileFooter
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.CommitMetadata
import org.apache.parquet.io.api.Binary

import java.io.FileNotFoundException

import scala.collection.JavaConverters._

/**
 * Whether a row, by its commit time, was changed after the begin of a window. Sent to tasks.
 *
 * @param begin     exclusive
 * @param knownFrom the oldest commit whose completion time is known; rows of earlier ones, and all rows where there is
 *                  none, are compared by their commit time itself
 * @param commits   requested times of the window's commits; None if the window has all that are known
 */
final case class CommitTimes(begin: String, knownFrom: Option[String], commits: Option[Set[String]])
    extends (String => Boolean) {

  override def apply(commitTime: String): Boolean =
    if (knownFrom.forall(commitTime < _)) begin < commitTime else commits.forall(_(commitTime))

  /** No row of the window has an earlier commit time. */
  lazy val least: String =
    commits.filter(c => c.nonEmpty && !knownFrom.forall(begin < _)).fold(begin)(_.min)
}

private[change] object CommitTimes {

  /**
   * Whether the rows that a service wrote have the commit times of earlier writes, by the statistics of one of its base
   * files. False if that is not known.
   */
  def keeps(storage: Storage, service: String, metadata: CommitMetadata): Boolean = {
    val bases = metadata.allStats.filter(stat => stat.path.nonEmpty && !stat.isLogFile)
    bases.isEmpty || bases.iterator.flatMap(stat => newest(storage, stat.path)).take(1).exists(_ < service)
  }

  /** The newest commit time of the rows of a base file; empty without rows. None if the file is gone, or lacks it. */
  private def newest(storage: Storage, path: String): Option[String] =
    try {
      val blocks = BaseFileFooter.read(storage.conf, storage.path(path)).metadata.getBlocks.asScala
      val newest = blocks.filter(_.getRowCount > 0).map { block =>
        BaseFileFooter.statistics(block, MetaColumns.CommitTime).map(_.genericGetMax: Any).collect {
          case b: Binary => b.toStringUsingUTF8
        }
      }
      if (newest.forall(_.isDefined)) Some(newest.flatten.foldLeft("")((a, b) => if (a < b) b else a)) else None
    } catch { case _: FileNotFoundException => None }
}
