package io.merganser.table.verify

import io.merganser.merge.{RowLayout, Version}
import io.merganser.merge.buffer.KeyTrace
import io.merganser.table.explain.ValueJson
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, SliceRows, TableSnapshot}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * A row that another rule would have merged otherwise.
 *
 * @param columns  that differ; all of them where one of the two rules results in no row
 * @param stored   the row as the table has it, as JSON; None if it has none
 * @param other    the row under the other rule; None if there is none
 * @param versions of the key that were merged
 */
final case class RuleDifference(
    partitionPath: String,
    key: String,
    columns: Seq[String],
    stored: Option[String],
    other: Option[String],
    versions: Int
)

/**
 * The rows of a file group under two rules.
 *
 * @param rows     under the table's rule
 * @param compared keys with several retained versions: only they can differ
 * @param differing rows that differ
 * @param examples some of them, by key
 */
final case class GroupComparison(rows: Long, compared: Long, differing: Long, examples: Seq[RuleDifference]) {

  def +(o: GroupComparison): GroupComparison =
    GroupComparison(rows + o.rows, compared + o.compared, differing + o.differing, examples ++ o.examples)
}

/** Another rule, with the properties that it would be stored with. */
final case class OtherRule(config: TableConfig, rule: StoredRule)

/**
 * Merges the retained versions of the keys of a file group by the table's rule and by another one, and compares the
 * rows. In a task, whose memory has the versions in the group's logs.
 *
 * The oldest retained row of a key is what both rules begin with. A later base file has a version of a key where a
 * write has written its row; rows that a compaction or clustering has written again are none. A row that is gone from a
 * later base file was deleted.
 *
 * @param most examples to return
 */
final class RuleReplay(
    table: TableSnapshot,
    other: OtherRule,
    zone: String,
    most: Int
) extends Serializable {
  import table.columns

  private val reader = table.reader(StructType(columns ++ MetaColumns.schema))

  /**
   * @param slices of one file group, oldest first
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING if a clean removed a file meanwhile
   */
  def of(slices: IndexedSeq[FileSlice]): GroupComparison = {
    val replay = new Replay(slices)
    try replay.result
    finally replay.close()
  }

  private final class Replay(slices: IndexedSeq[FileSlice]) {
    private[this] val compiled    = CompiledRule(other.rule, other.config, reader.input.schema)
    private[this] val ourLayout   = reader.input.layout
    private[this] val theirLayout = compiled.layout
    private[this] val group       = slices.head.group
    private[this] val ourFold     = reader.input.fold(group)
    private[this] val theirFold   = compiled.fold(FileNames.path(group.partitionPath, group.fileId))
    private[this] val shown       = new ValueJson(zone)
    private[this] val commitTime  = reader.input.schema.fieldIndex(MetaColumns.CommitTime)
    // Deletes in logs carry the ordering values of the table's rule only.
    private[this] val ordersDeletes = theirLayout.ordering.map(_.name).toSeq == ourLayout.ordering.map(_.name).toSeq
    private[this] val logs          = slices.map(LoggedVersion.byKey(reader.input, _))
    private[this] val bases         = slices.map(slice => new BaseRows(reader.sortedRows(slice.copy(logs = Nil), null)))
    private[this] val firstBase     = slices.indexWhere(_.base.isDefined)
    private[this] var (rows, compared, differing) = (0L, 0L, 0L)
    private[this] val examples                    = mutable.ArrayBuffer.empty[RuleDifference]

    def close(): Unit = bases.foreach(_.close())

    def result: GroupComparison = {
      val logged = logs.flatMap(_.keys).distinct.sortWith(_.compareTo(_) < 0).iterator.buffered
      while (logged.hasNext || bases.exists(_.row != null)) {
        val heads = bases.collect { case base if base.row != null => ourLayout.key(base.row) } ++ logged.headOption
        val key   = heads.reduce((a, b) => if (a.compareTo(b) <= 0) a else b).copy()
        compare(key)
        bases.foreach(base => while (base.row != null && ourLayout.key(base.row) == key) base.advance())
        if (logged.headOption.contains(key)) logged.next()
      }
      GroupComparison(rows, compared, differing, examples.toList)
    }

    private def compare(key: UTF8String): Unit = {
      val states = new States(key)
      slices.indices.foreach { i =>
        if (slices(i).base.isDefined) states.addBase(i, bases(i).row)
        logs(i).getOrElse(key, Nil).foreach(logged => states.add(logged.version))
      }
      val (ours, theirs) = (states.ourRow, states.theirRow)
      if (ours != null) rows += 1
      if (states.versions > 1) {
        compared += 1
        val columns = differences(ours, theirs)
        if (columns.nonEmpty) {
          differing += 1
          if (examples.size < most)
            examples += RuleDifference(group.partitionPath, key.toString, columns, shownRow(ours), shownRow(theirs),
              states.versions)
        }
      }
    }

    /** What a key is under both rules. */
    private final class States(key: UTF8String) {
      private[this] var ours   = new KeyTrace(ourFold, null)
      private[this] val theirs = new KeyTrace(theirFold, null)
      var versions             = 0

      def ourRow: InternalRow   = rowOf(ours.live)
      def theirRow: InternalRow = rowOf(theirs.live)

      /** @param head the row at which the base file is; null at its end */
      def addBase(i: Int, head: InternalRow): Unit =
        if (head != null && ourLayout.key(head) == key) {
          val row = head.copy()
          if (i == firstBase || isWritten(i, row)) addToTheirs(theirLayout.fill(new Version, row))
          ours = new KeyTrace(ourFold, ourLayout.fill(new Version, row))
        } else if (i > firstBase && ourRow != null) {
          ours = new KeyTrace(ourFold, null)
          val row = new GenericInternalRow(theirLayout.schema.length)
          row.update(theirLayout.keyOrdinal, key)
          addToTheirs(new Version().set(row, isDelete = true, isUnconditional = true))
        }

      def add(version: Version): Unit = {
        ours.add(version.copy())
        val row = version.row.copy()
        addToTheirs(
          // A delete of which the log has no row.
          if (version.isDelete && !ourLayout.deletes.isDelete(row))
            new Version().set(row, isDelete = true, isUnconditional = version.isUnconditional || !ordersDeletes)
          else theirLayout.fill(new Version, row, version.provided, version.inserts))
      }

      private def addToTheirs(version: Version): Unit = {
        versions += 1
        theirs.add(version)
        ()
      }

      private def isWritten(i: Int, row: InternalRow): Boolean =
        if (row.isNullAt(commitTime)) ourRow == null || differences(ourRow, row).nonEmpty
        else row.getUTF8String(commitTime).toString == slices(i).baseInstant
    }

    private def rowOf(version: Version): InternalRow = if (version == null) null else version.row

    private def differences(one: InternalRow, two: InternalRow): Seq[String] =
      if (one == null && two == null) Nil
      else if (one == null || two == null) columns.fieldNames.toSeq
      else
        columns.indices.filter { i =>
          val dataType               = columns(i).dataType
          def text(row: InternalRow) = shown.values(Seq(("", RowLayout.valueAt(row, i, dataType), dataType)))
          text(one) != text(two)
        }.map(columns(_).name)

    private def shownRow(row: InternalRow): Option[String] =
      Option(row).map(shown.row(_, reader.input.schema, columns.indices))
  }

  /** A base file's rows in key order, at one of them. */
  private final class BaseRows(rows: SliceRows) {
    var row: InternalRow = if (rows.hasNext) rows.next() else null

    def advance(): Unit = row = if (rows.hasNext) rows.next() else null

    def close(): Unit = rows.close()
  }
}
