package io.merganser.spark.write.tag

import io.merganser.merge.RowLayout
import io.merganser.merge.buffer.{KeyMemory, Outcome, SortedMerge, VersionCursor}
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.file.FileNames
import io.merganser.table.rule.CompiledRule
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/** The fields of a slice that tasks need. @param path its partition path */
private[write] final case class SliceRef(path: UTF8String, group: String, instant: String)

private[write] object SliceRef {
  def apply(slice: FileSlice): SliceRef =
    SliceRef(UTF8String.fromString(slice.partitionPath), FileNames.path(slice.partitionPath, slice.fileId),
      slice.baseInstant)
}

/**
 * Places the rows of a key that is looked up in all partitions.
 *
 * A row that is stored in another partition than that of incoming rows is merged with them by the table's rule. If the
 * result is of another partition, the stored row is deleted from its partition and the result is inserted into the
 * other; if not, or if it is a delete, the incoming rows go to the slice of the stored row. If a key is not stored, all
 * its rows go to the partition of the winner. If a key is stored several times, each stored row is merged with the
 * incoming rows.
 *
 * @param compiled the table's rule for incoming rows
 * @param moves    if false, no row leaves its partition, and incoming rows get the stored partition columns
 * @param combines if false, each row of a key that is not stored remains a row of its own
 * @param onlyTags true if stored keys are dropped or rejected, so that their rows need only a slice
 * @param slices   of the table
 * @param pathOf   the partition path of a row of the layout
 * @param kept     without moves, ordinals in incoming rows of the partition columns that keep their stored values
 */
private[write] final class PartitionMove(
    incoming: PreparedSchema,
    compiled: CompiledRule,
    moves: Boolean,
    combines: Boolean,
    onlyTags: Boolean,
    slices: Array[SliceRef],
    pathOf: Expression,
    kept: Array[Int]
) extends Serializable {
  import PartitionMove._

  private val types: Array[DataType] = incoming.rows.map(_.dataType).toArray
  private val layout                 = compiled.layout
  private val width                  = layout.schema.length

  @transient private lazy val path = UnsafeProjection.create(Seq(pathOf))

  /** Of the slices that hold a key, those whose rows must be read to place the incoming rows. */
  def slicesToRead(versions: Seq[InternalRow], found: Iterable[Int]): Iterable[Int] =
    if (onlyTags) Nil
    else {
      val rows = versions.filterNot(isUnconditionalDelete)
      found.filter(slice => rows.exists(v => isFor(v, slice) && pathIn(v) != slices(slice).path))
    }

  /**
   * @param versions rows of one key in order of arrival
   * @param live     rows of the key that readers see, from [[StoredKeyScan]], with the layout's columns or, without
   *                 moves, the columns that are kept
   * @param dead     slices that have deleted the key
   * @param place    called with an incoming row and its slice, or [[Tagging.Untagged]]
   */
  def apply(versions: Seq[InternalRow], live: Seq[InternalRow], dead: Seq[Int])(place: Place): Unit =
    if (onlyTags && live.nonEmpty) versions.foreach(place(_, sliceOf(live.head)))
    else {
      val bySlice   = live.groupBy(sliceOf).toSeq.sortBy(_._1)
      val unmatched = versions.filterNot(v => bySlice.exists { case (slice, _) => isFor(v, slice) })
      if (unmatched.nonEmpty) placeNew(unmatched, dead, place)
      val arrived = mutable.LinkedHashMap.empty[UTF8String, InternalRow]
      bySlice.foreach { case (slice, rows) =>
        val own = versions.filter(isFor(_, slice))
        if (own.nonEmpty) mergeStored(own, slice, rows, place).foreach { row =>
          val to = pathIn(row)
          arrived(to) = arrived.get(to).fold(row)(both(_, row))
        }
      }
      arrived.values.foreach { row =>
        val there = bySlice.map(_._1).find(slices(_).path == pathIn(row))
        val known = newest(dead, pathIn(row))
        // Earlier versions in that slice's log must not win over a row that has won in its old partition.
        if (there.isEmpty && known >= 0) place(deletion(row, pathIn(row), isMove = false), known)
        place(row, there.getOrElse(known))
      }
    }

  /** Places the rows that stay in a slice; returns those that leave it. */
  private def mergeStored(
      versions: Seq[InternalRow],
      slice: Int,
      rows: Seq[InternalRow],
      place: Place
  ): Seq[InternalRow] = {
    val path    = slices(slice).path
    def stays() = { versions.foreach(v => place(at(v, path), slice)); Nil }
    if (slicesToRead(versions, Seq(slice)).isEmpty) stays()
    else if (!moves) { versions.foreach(v => place(keeping(v, rows.head, path), slice)); Nil }
    else {
      val results = rows.map(row => moved(stored(row), versions, slice))
      if (results.forall(_.isEmpty)) stays()
      else {
        place(deletion(versions.last, path, isMove = true), slice)
        // If a key is stored twice in one slice, both rows leave it, even if one returns.
        rows.zip(results).map { case (row, result) => result.getOrElse(asIncoming(stored(row), path, versions.last)) }
      }
    }
  }

  /** Places the rows of a key that no reader sees. */
  private def placeNew(versions: Seq[InternalRow], dead: Seq[Int], place: Place): Unit = {
    val paths = versions.filterNot(isUnconditionalDelete).map(pathIn).distinct
    if (paths.isEmpty || !combines) versions.foreach(v => place(v, newest(dead, pathIn(v))))
    else {
      val to = if (paths.size == 1) paths.head else pathOfWinner(versions).getOrElse(paths.last)
      versions.foreach(v => place(at(v, to), newest(dead, to)))
    }
  }

  private def pathOfWinner(versions: Seq[InternalRow]): Option[UTF8String] = {
    val merge = merged(None, versions, "")
    if (merge.outcome == Outcome.Inserted) Some(pathOfRow(merge.row)) else None
  }

  /** The merge of a stored row with incoming ones, as an incoming row; None if it stays in its partition. */
  private def moved(row: InternalRow, versions: Seq[InternalRow], slice: Int): Option[InternalRow] = {
    val merge = merged(Some(row), versions, slices(slice).group)
    if (merge.outcome != Outcome.Updated) None
    else {
      val to = pathOfRow(merge.row)
      if (to == slices(slice).path) None else Some(asIncoming(merge.row, to, versions.last))
    }
  }

  private def both(older: InternalRow, newer: InternalRow): InternalRow = {
    val merge = merged(Some(older), Seq(newer), "")
    asIncoming(merge.row, older.getUTF8String(incoming.partitionOrdinal), newer)
  }

  private def merged(row: Option[InternalRow], versions: Seq[InternalRow], group: String): SortedMerge = {
    val cursor = VersionCursor.of(versions.iterator)(incoming.fill(_, _, layout))
    val merge  = SortedMerge.rewrite(row.iterator, cursor, layout, compiled.fold(group))
    merge.next()
    merge
  }

  /** Outcome of a row that moves: an update, even if its old partition was not looked up. */
  private def moved(outcome: Int): Int =
    if (outcome == Outcome.Inserted || outcome == Outcome.Appended) Outcome.Updated else outcome

  private def newest(dead: Seq[Int], path: UTF8String): Int = {
    val there = dead.filter(slices(_).path == path)
    if (there.isEmpty) Tagging.Untagged else there.maxBy(slices(_).instant)
  }

  /** Whether a row changes its key's rows in a slice: a row with an origin changes only those of that partition. */
  private def isFor(row: InternalRow, slice: Int): Boolean =
    incoming.originOrdinal < 0 || row.isNullAt(incoming.originOrdinal) ||
      row.getUTF8String(incoming.originOrdinal) == slices(slice).path

  private def sliceOf(stored: InternalRow): Int = stored.getInt(StoredKeyScan.SliceOrdinal)

  private def pathIn(row: InternalRow): UTF8String = row.getUTF8String(incoming.partitionOrdinal)

  private def isUnconditionalDelete(row: InternalRow): Boolean = row.getBoolean(incoming.unconditionalDeleteOrdinal)

  private def pathOfRow(row: InternalRow): UTF8String = path(ofLayout(row, 0)).getUTF8String(0).copy()

  /** The columns of the layout, which begin at ordinal `from`. */
  private def ofLayout(row: InternalRow, from: Int): GenericInternalRow = {
    val copy = new GenericInternalRow(width)
    var i    = 0
    while (i < width) {
      copy.update(i, RowLayout.valueAt(row, from + i, types(i)))
      i += 1
    }
    copy
  }

  private def stored(row: InternalRow): InternalRow = ofLayout(row, StoredKeyScan.FirstColumn)

  /** An incoming row with that partition path. */
  private def at(row: InternalRow, path: UTF8String): InternalRow =
    if (pathIn(row) == path) row
    else {
      val copy = wholeCopy(row)
      copy.update(incoming.partitionOrdinal, path)
      copy
    }

  /** An incoming row with the partition columns of a stored one. */
  private def keeping(row: InternalRow, stored: InternalRow, path: UTF8String): InternalRow = {
    val copy = wholeCopy(row)
    copy.update(incoming.partitionOrdinal, path)
    if (!isUnconditionalDelete(row)) kept.indices.foreach { i =>
      copy.update(kept(i), RowLayout.valueAt(stored, StoredKeyScan.FirstColumn + i, types(kept(i))))
    }
    copy
  }

  private def wholeCopy(row: InternalRow): GenericInternalRow = {
    val copy = new GenericInternalRow(types.length)
    types.indices.foreach(i => copy.update(i, RowLayout.valueAt(row, i, types(i))))
    copy
  }

  /** A row of the layout as an incoming row, with the other columns of `like`. */
  private def asIncoming(row: InternalRow, path: UTF8String, like: InternalRow): InternalRow = {
    val copy = wholeCopy(like)
    var i    = 0
    while (i < width) {
      copy.update(i, InternalRow.copyValue(RowLayout.valueAt(row, i, types(i))))
      i += 1
    }
    copy.update(incoming.partitionOrdinal, path)
    copy.update(incoming.arrivalOrdinal, Last)
    copy.update(incoming.unconditionalDeleteOrdinal, false)
    if (incoming.maskOrdinal >= 0) copy.update(incoming.maskOrdinal, PreparedSchema.FullRow)
    if (incoming.outcomeOrdinal >= 0) copy.update(incoming.outcomeOrdinal, Outcome.Uncounted)
    copy
  }

  /** A delete of the key of `like` in a partition. */
  private def deletion(like: InternalRow, path: UTF8String, isMove: Boolean): InternalRow = {
    val copy = wholeCopy(like)
    copy.update(incoming.partitionOrdinal, path)
    copy.update(incoming.arrivalOrdinal, First)
    copy.update(incoming.unconditionalDeleteOrdinal, true)
    if (incoming.outcomeOrdinal >= 0)
      copy.update(incoming.outcomeOrdinal,
        if (isMove) moved(like.getInt(incoming.outcomeOrdinal)) else Outcome.Uncounted)
    copy
  }
}

private[write] object PartitionMove {
  type Place = (InternalRow, Int) => Unit

  /** Arrival of a delete that comes before anything else of its key. */
  private final val First = Long.MinValue

  /** Arrival of a row that has moved: after all incoming rows. */
  final val Last = Long.MaxValue
}

/**
 * The rows of a merge join by key alone, each with the slice it goes to.
 *
 * @param matches   buffers the matches of the current key
 * @param readAgain called with the slices whose rows must be read, if `knowsRows` is false
 * @param several   called for each key that is stored several times
 */
private[write] final class MovedRows(
    rows: Iterator[InternalRow],
    matches: BufferedMatches,
    partitionMove: PartitionMove,
    keyOrdinal: Int,
    knowsRows: Boolean,
    readAgain: Int => Unit,
    several: () => Unit
) extends Iterator[InternalRow] {
  private[this] val versions           = mutable.ArrayBuffer.empty[InternalRow]
  private[this] val placed             = mutable.Queue.empty[(InternalRow, Int)]
  private[this] val seen               = mutable.HashSet.empty[Int]
  private[this] val keyMemory          = new KeyMemory
  private[this] val tag                = new GenericInternalRow(Array[Any](Tagging.Untagged))
  private[this] val joined             = new JoinedRow
  private[this] var ahead: InternalRow = if (rows.hasNext) rows.next() else null

  override def hasNext: Boolean = {
    while (placed.isEmpty && ahead != null) placeKey()
    placed.nonEmpty
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val (row, slice) = placed.dequeue()
    tag.update(0, slice)
    joined(row, tag)
  }

  private def placeKey(): Unit = {
    val found = matches.take()
    val first = ahead.copy()
    val key   = first.getUTF8String(keyOrdinal)
    versions.clear()
    keyMemory.clear()
    versions += first
    ahead = if (rows.hasNext) rows.next() else null
    while (ahead != null && ahead.getUTF8String(keyOrdinal) == key) {
      val next = ahead.copy()
      keyMemory.add(key, next)
      versions += next
      ahead = if (rows.hasNext) rows.next() else null
    }
    val slices = found.live.map(_.getInt(StoredKeyScan.SliceOrdinal))
    if (slices.size > 1) several()
    val open = if (knowsRows) Nil else partitionMove.slicesToRead(versions.toSeq, slices)
    if (open.isEmpty) partitionMove(versions.toSeq, found.live, found.dead)((row, slice) => placed += ((row, slice)))
    else {
      open.foreach(slice => if (seen.add(slice)) readAgain(slice))
      versions.foreach(row => placed += ((row, open.head)))
    }
  }
}

/** The matches of a key: rows that readers see, and slices that have deleted it. */
private[write] final case class KeyMatches(live: Seq[InternalRow], dead: Seq[Int])

/** Buffers the matches of a key until they are taken; an incoming row is emitted once. */
private[write] final class BufferedMatches extends Matches {
  private[this] val nothing = new GenericInternalRow(0)
  private[this] var live    = mutable.ArrayBuffer.empty[InternalRow]
  private[this] var dead    = mutable.ArrayBuffer.empty[Int]

  def take(): KeyMatches = {
    val taken = KeyMatches(live.toSeq, dead.toSeq)
    clear()
    taken
  }

  override def clear(): Unit = {
    live = mutable.ArrayBuffer.empty
    dead = mutable.ArrayBuffer.empty
  }

  override def add(stored: InternalRow): Unit =
    if (stored.getBoolean(StoredKeyScan.LiveOrdinal)) live += stored.copy()
    else dead += stored.getInt(StoredKeyScan.SliceOrdinal)

  override def complete(): Unit = ()
  override def size: Int        = 1

  override def at(i: Int): InternalRow = nothing
}
