package io.merganser.spark.write

import io.merganser.merge.{Version, MergeRule, OrderingComparator, RowLayout}
import io.merganser.merge.buffer.{SortedMerge, SortedRows, VersionCursor}
import io.merganser.table.base.{BaseFileReader, MetaColumns}
import io.merganser.table.slice._
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

/**
 * How the versions of a batch meet each other and the stored rows.
 *
 * @param combineNew  false keeps every version of a key that is not stored as a row of its own
 * @param meetsStored false adds rows beside stored ones of the same key, as plain insert does
 */
final case class Meeting(combineNew: Boolean, meetsStored: Boolean) {

  /** In a file group that is there, versions that meet stored rows also meet each other: it gets no key twice. */
  def combines(group: FileGroupTarget): Boolean = combineNew || (meetsStored && group.slice.isDefined)
}

/**
 * What a write that appends to logs must know.
 *
 * @param keepsDeletedRows true where the rule looks at more of a delete than its ordering value
 * @param stored           reads what is stored of the keys, where rows of some columns need it
 * @param mergesWithStored true where the log takes whole rows only, merged with the stored ones: layouts before version 8 know no
 *                         rows of some columns
 * @param completesOrdering true where rows that lack ordering fields get the stored values
 */
final case class LogWrites(
    keepsDeletedRows: Boolean, stored: Option[SliceReader], mergesWithStored: Boolean, completesOrdering: Boolean
)

/**
 * Last step of a write, in a task: rows that come sorted by file group, key and arrival meet the stored rows of their
 * group, and one file is written for each group; a new group that is full is followed by another.
 *
 * @param groupOrdinal where the number of a row's file group stands
 * @param target       the file group of a (partition path, group number)
 */
final class WriteRows(
    writer: SliceWriter,
    incoming: IncomingSchema,
    layout: RowLayout,
    rule: MergeRule,
    meeting: Meeting,
    ordering: Option[OrderingComparator],
    groupOrdinal: Int,
    logs: LogWrites,
    target: (UTF8String, Int) => FileGroupTarget
) extends Serializable {

  def run(rows: Iterator[InternalRow]): Iterator[SliceWritten] = {
    val context = TaskContext.get()
    val token   = WriteToken(context.partitionId(), context.stageId(), context.taskAttemptId())
    val groups  = new GroupedRows(rows, incoming, layout, groupOrdinal)
    Iterator.continually(groups).takeWhile(_.hasGroup).flatMap(write(_, token))
  }

  private def write(groups: GroupedRows, token: WriteToken): Seq[SliceWritten] = {
    val group    = target(groups.partitionPath, groups.group)
    val rule     = this.rule.at(FileNames.path(group.partitionPath, group.fileId))
    val cursor   = groups.openGroup()
    val combines = meeting.combines(group)
    if (group.isLog) {
      val (written, merge) = appendLog(group.slice.get, cursor, rule, token)
      counted(groups.known.fold(written)(known => first(written)(known.instead(_))), merge, combines)
    } else {
      val base = group.slice.flatMap(_.base).map(new StoredRows(_))
      try {
        val stored = base.map(_.sorted).getOrElse(Iterator.empty)
        val merge  = new SortedMerge(stored, cursor, layout, rule, combines, meeting.meetsStored)
        val written =
          if (group.slice.isEmpty && !group.isBucket)
            writer.writeNewBases(group.partitionPath, group.fileId, merge, ordering.orNull, token)
          else
            writer.writeBase(group.partitionPath, group.fileId, group.slice, merge, stampAll = true, ordering.orNull, token).toSeq
        counted(written, merge, combines)
      } finally base.foreach(_.close())
    }
  }

  private def appendLog(
      slice: FileSlice, cursor: VersionCursor, rule: MergeRule, token: WriteToken
  ): (Seq[SliceWritten], SortedMerge) = {
    val open = logs.stored.map(reader => (reader.rows(slice), RowLayout(reader.schema, MetaColumns.RecordKey, Nil, None)))
    try {
      val merge = open match {
        // What the rule does not combine is for readers to fold, from the stored row.
        case None => new SortedMerge(Iterator.empty, cursor, layout, rule, foldsNew = false)
        case Some((rows, stored)) =>
          val sorted = SortedRows.byKey(rows, stored)
          if (logs.mergesWithStored) new SortedMerge(sorted, cursor, layout, rule)
          else new SortedMerge(Iterator.empty, new LogVersions(cursor, sorted, stored, layout, logs.completesOrdering), layout, rule,
            foldsNew = false)
      }
      (writer.appendLog(slice, merge, layout, token, logs.keepsDeletedRows), merge)
    } finally open.foreach(_._1.close())
  }

  private def counted(written: Seq[SliceWritten], merge: SortedMerge, combines: Boolean): Seq[SliceWritten] =
    first(written)(_.copy(duplicates = if (combines) merge.duplicateCount else 0L))

  /** What is counted of a group counts once, whatever the number of its files. */
  private def first(written: Seq[SliceWritten])(counts: MergeCounts => MergeCounts): Seq[SliceWritten] =
    written.headOption.fold(written)(one => one.copy(counts = counts(one.counts)) +: written.tail)

  /** A base file's rows in key order. */
  private final class StoredRows(base: BaseFile) extends Closeable {
    private[this] val reader = new BaseFileReader(writer.storage.conf, writer.storage.path(base.path), base.sizeBytes, incoming.layout, Nil)

    val sorted: Iterator[InternalRow] =
      if (reader.footer.isSorted) reader.rows() else SortedRows.byKey(reader.rows(), layout)

    override def close(): Unit = reader.close()
  }
}

/** Splits a task's rows into its file groups; each group's rows are its versions, in key order. */
private final class GroupedRows(
    rows: Iterator[InternalRow], incoming: IncomingSchema, layout: RowLayout, groupOrdinal: Int
) {
  private[this] var ahead: InternalRow = if (rows.hasNext) rows.next() else null
  private[this] var open: GroupCursor  = _

  private[this] var outcomes: KnownOutcomes = _

  /** What becomes of the rows of the group that was opened last, as far as they have it. */
  def known: Option[KnownOutcomes] = Option(outcomes)

  /** True when another group follows; what its predecessor left unread is skipped. */
  def hasGroup: Boolean = {
    if (open != null) {
      while (open.next()) {}
      open = null
    }
    ahead != null
  }

  def partitionPath: UTF8String = ahead.getUTF8String(incoming.partitionOrdinal)

  def group: Int = ahead.getInt(groupOrdinal)

  def openGroup(): VersionCursor = {
    if (incoming.outcomeOrdinal >= 0) outcomes = new KnownOutcomes(incoming.keyOrdinal, incoming.outcomeOrdinal)
    open = new GroupCursor(partitionPath.copy(), group)
    open
  }

  private final class GroupCursor(path: UTF8String, number: Int) extends VersionCursor {
    private[this] var started = false
    override val record       = new Version

    override def next(): Boolean = {
      if (started && ahead != null && isOwn) ahead = if (rows.hasNext) rows.next() else null
      started = true
      ahead != null && isOwn && {
        incoming.fill(record, ahead, layout)
        if (outcomes != null) outcomes.see(ahead, record.isDelete)
        true
      }
    }

    private def isOwn: Boolean = ahead.getInt(groupOrdinal) == number && ahead.getUTF8String(incoming.partitionOrdinal).equals(path)
  }
}
