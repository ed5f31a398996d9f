package io.merganser.table.commit

import java.util.{Comparator, PriorityQueue}

import io.merganser.table.commit.KeyFile.{BaseKeys, Cursor}

/**
 * Looks for a key that two sets of files have in common, reading each file once or twice. Sorted base files are merge
 * joined. For log files and unsorted base files, as other engines write them, one side's keys are buffered as 64-bit
 * hashes: eight bytes a key.
 */
private[table] final class KeyComparison(left: Seq[KeyFile], right: Seq[KeyFile]) {

  import KeyComparison._

  /** @return the file of the right side that contains a key of the left */
  def common(): Option[KeyFile] = {
    val (ordered, unordered)           = bySorting(left)
    val (otherOrdered, otherUnordered) = bySorting(right)
    inBoth(ordered, otherOrdered)
      .orElse(amongHashes(otherUnordered, left).map { case (hashed, _) => hashed })
      .orElse(amongHashes(unordered, otherOrdered).map { case (_, scanned) => scanned })
  }

  private def inBoth(left: Seq[BaseKeys], right: Seq[BaseKeys]): Option[KeyFile] =
    if (left.isEmpty || right.isEmpty) None
    else using(left ++ right) { all =>
      val (l, r) = (queue(all.take(left.length)), queue(all.drop(left.length)))
      var order  = -1
      while (!l.isEmpty && !r.isEmpty && order != 0) {
        order = l.peek.key.compareTo(r.peek.key)
        if (order < 0) step(l) else if (order > 0) step(r)
      }
      if (!l.isEmpty && !r.isEmpty && order == 0) Some(r.peek.file) else None
    }

  /** @return the hashed file and the scanned one that have a key in common */
  private def amongHashes(hashed: Seq[KeyFile], scanned: Seq[KeyFile]): Option[(KeyFile, KeyFile)] =
    if (scanned.isEmpty) None
    else hashed.iterator.flatMap { file =>
      file.findByHashes(some => scanned.find(_.containsAny(some)).map(file -> _)).iterator
    }.take(1).toList.headOption
}

private object KeyComparison {

  private val ByKey: Comparator[Cursor] = (a: Cursor, b: Cursor) => a.key.compareTo(b.key)

  private def bySorting(files: Seq[KeyFile]): (Seq[BaseKeys], Seq[KeyFile]) = {
    val sorted = files.collect { case base: BaseKeys if base.isSorted => base }
    (sorted, files.filterNot(sorted.toSet[KeyFile]))
  }

  private def queue(keys: Seq[Cursor]): PriorityQueue[Cursor] = {
    val queue = new PriorityQueue[Cursor](math.max(1, keys.size), ByKey)
    keys.filter(_.key != null).foreach(queue.add)
    queue
  }

  private def step(queue: PriorityQueue[Cursor]): Unit = {
    val keys = queue.poll()
    keys.advance()
    if (keys.key != null) { queue.add(keys); () }
  }

  private def using[T](files: Seq[BaseKeys])(body: Seq[Cursor] => T): T = {
    var opened = Vector.empty[Cursor]
    try {
      files.foreach(file => opened = opened :+ file.open())
      body(opened)
    } finally opened.foreach(_.close())
  }
}
