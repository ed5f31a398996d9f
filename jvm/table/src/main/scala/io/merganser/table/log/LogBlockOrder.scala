package io.merganser.table.log

import io.merganser.table.log.LogFormat.BlockType

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

/** Selects the visible blocks of a slice and orders them by effect. */
private[log] object LogBlockOrder {

  /**
   * @param blocks     in reading order: by file, then by offset
   * @param maxInstant the newest instant of the view; later blocks are ignored
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

  /**
   * A compacted block takes the position of the newest original block that it replaces, directly or indirectly. Where
   * none of these is in the slice, the slice's base file has their rows, and the block is ignored.
   */
  private def withoutCompacted(instants: Seq[(String, Seq[LogBlock])]): Seq[LogBlock] = {
    val replacedBy = mutable.Map.empty[String, String]
    instants.reverseIterator.foreach { case (instant, blocks) =>
      val replacement = replacedBy.getOrElse(instant, instant)
      blocks.head.compactedInstants.foreach(replacedBy.put(_, replacement))
    }
    val ofInstant = instants.toMap
    val originals = instants.zipWithIndex.filter { case ((_, blocks), _) => blocks.head.compactedInstants.isEmpty }
    val positions = originals.groupBy { case ((instant, _), _) => replacedBy.getOrElse(instant, instant) }.map {
      case (replacement, members) => replacement -> members.map(_._2).max
    }
    positions.toSeq.sortBy(_._2).flatMap { case (instant, _) => ofInstant(instant) }
  }
}
