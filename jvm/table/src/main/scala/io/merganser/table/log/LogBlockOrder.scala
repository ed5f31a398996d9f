package io.merganser.table.log

import io.merganser.table.log.LogFormat.BlockType

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

/** Which of a slice's blocks count, and in which order they take effect. */
private[log] object LogBlockOrder {

  /**
   * @param blocks     in reading order: by file, then by place
   * @param maxInstant the newest instant of the view; what was written later does not count
   * @return data and delete blocks, oldest first
   */
  def select(blocks: Seq[LogBlock], maxInstant: String): Seq[LogBlock] = {
    val byInstant = mutable.LinkedHashMap.empty[String, ArrayBuffer[LogBlock]]
    blocks.foreach { block =>
      if (block.isRollback) {
        block.header.get(LogFormat.Header.TargetInstantTime).foreach(byInstant.remove)
      } else if (holdsRecords(block) && block.instant <= maxInstant) {
        byInstant.getOrElseUpdate(block.instant, ArrayBuffer.empty) += block
      }
    }
    withoutCompacted(byInstant.toSeq.map { case (instant, ofInstant) => (instant, ofInstant.toSeq) })
  }

  private def holdsRecords(block: LogBlock): Boolean =
    block.blockType != BlockType.Command && block.blockType != BlockType.Cdc

  /** A block that replaces those of other instants stands where the newest of them stood. */
  private def withoutCompacted(instants: Seq[(String, Seq[LogBlock])]): Seq[LogBlock] = {
    val replacedBy = mutable.Map.empty[String, String]
    instants.reverseIterator.foreach { case (instant, blocks) =>
      val replacement = replacedBy.getOrElse(instant, instant)
      blocks.head.compactedInstants.foreach(replacedBy.put(_, replacement))
    }
    val ofInstant = instants.toMap
    val present   = instants.map(_._1).toSet
    val used      = mutable.Set.empty[String]
    val newestFirst = instants.reverse.flatMap { case (instant, blocks) =>
      val replacement = replacedBy.getOrElse(instant, instant)
      val compacted   = blocks.head.compactedInstants
      // A merged block whose originals are still there waits for the newest of them.
      val waits = replacement == instant && compacted.exists(present)
      if (waits || !used.add(replacement)) Nil else Seq(ofInstant(replacement))
    }
    newestFirst.reverse.flatten
  }
}
