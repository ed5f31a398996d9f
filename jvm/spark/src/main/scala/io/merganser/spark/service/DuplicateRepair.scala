package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{StatementFrame, StatementRows, TableWrite, WriteResult}
import io.merganser.spark.write.place.{IndexResolver, PersistedRows, WriteSlices}
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.spark.write.prepare.WriteRow.quoted
import io.merganser.spark.write.tag.{DuplicateKeys, MergedCopies}
import io.merganser.table.options.{IndexType, NullOrdering, WriteOperation}
import io.merganser.table.settings.{KeylessTable, WriteConfig}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.{col, struct, to_json}
import org.apache.spark.sql.merganser.{Partitions, SparkBridge}

/**
 * What a repair of duplicates changed.
 *
 * @param keys   that were stored more than once, or outside of their bucket
 * @param copies rows of these keys
 * @param write  the commit; None if there was no duplicate
 */
final case class DuplicateReport(keys: Long, copies: Long, write: Option[WriteResult])

/**
 * What a repair of duplicates would change.
 *
 * @param keys    that are stored more than once, or outside of their bucket
 * @param copies  rows of these keys
 * @param removed of the copies, those that are deleted from where they are
 * @param merged  rows that are written in their place; where a copy is kept as the row of its key there is none
 * @param rows    the copies and the merged rows, as many as were requested
 */
final case class DuplicatePreview(keys: Long, copies: Long, removed: Long, merged: Long, rows: Seq[DuplicateCopy])

/**
 * A copy of a duplicate key, or the row that its copies are merged into.
 *
 * @param fileId     file group; empty for a row that gets a new one
 * @param commitTime requested time of the write that the copy is of; None for a merged row
 * @param wins       whether it is the key's row afterwards
 * @param row        its columns as JSON
 */
final case class DuplicateCopy(
    key: String,
    partitionPath: String,
    fileId: String,
    commitTime: Option[String],
    wins: Boolean,
    row: String
)

/**
 * Merges the rows of keys that a table stores more than once, by the table's rule, in one commit.
 *
 * The index decides which rows have the same key: those of one partition, or under a global index those of the table.
 * In a table with buckets each key has its row in the file group of its bucket afterwards, and other file groups are
 * removed once they are empty.
 */
object DuplicateRepair {

  /**
   * @param partition path of the one partition to repair; None: all
   * @throws MerganserException DUPLICATES_WITHOUT_KEYS, PARTITIONS_NOT_FOUND, DRY_RUN_OF_SERVICE, and what a write
   *                            throws
   */
  def run(scope: ServiceScope, partition: Option[String]): DuplicateReport = {
    import scope.{session, settings, table => opened}
    require(opened, partition)
    settings.requireNoDryRun("repair duplicates of", opened.config.name)
    val config  = of(settings)
    val buckets = IndexResolver.bucketsOf(settings.index, opened)
    val started = new Counted(session, settings, partition, buckets)
    if (!opened.timeline.hasWrites) DuplicateReport(0, 0, None)
    else {
      val write = new TableWrite(session, opened, config, fixedIndex = Some(config.index), newKeysIn = buckets)
      try {
        val result = ServiceStep(session, opened, "repair duplicates") {
          write.change(opened.schema, Nil, readAt = None, looksUpAllPartitions = false)(started)
        }
        def removeEmpty(): Unit = buckets.foreach(EmptiedGroups.remove(scope.refreshed, _, partition))
        if (result.instant.isEmpty) {
          // An earlier repair may have been stopped before this step.
          removeEmpty()
          DuplicateReport(0, 0, None)
        } else {
          val done = AfterCommit.run(scope, result)
          compact(scope, done.instant)
          AfterCommit.quietly(done.instant, s"remove the empty file groups of ${opened.storage}; repair again")(
            removeEmpty())
          DuplicateReport(started.keys, started.copies, Some(done))
        }
      } finally started.close()
    }
  }

  /**
   * The copies of duplicate keys and the rows that would win; changes nothing.
   *
   * @param limit most rows to return
   */
  def preview(scope: ServiceScope, partition: Option[String], limit: Int): DuplicatePreview = {
    import scope._
    require(table, partition)
    val counted = new Counted(session, settings, partition, IndexResolver.bucketsOf(settings.index, table))
    val slices  = new WriteSlices(table)
    try ServiceStep(session, table, "find duplicates") {
        val found = counted.all(table, slices).where(col(MergedCopies.Role) =!= MergedCopies.Cleared)
        val fixed = Seq(WriteRow.Slice.name, MergedCopies.Role, MergedCopies.Commit,
          WriteRow.StoredKey.name, WriteRow.StoredPath.name).map(col)
        val data = to_json(struct(table.schema.fieldNames.map(quoted).toSeq: _*))
        val rows = found.orderBy(fixed(3), fixed(4), fixed(1).desc, fixed(2)).limit(limit).select(fixed :+ data: _*)
        DuplicatePreview(counted.keys, counted.copies, counted.of(MergedCopies.Removed),
          counted.of(MergedCopies.Written),
          rows.collect().toSeq.map { r =>
            val fileId = if (r.getInt(0) < 0) "" else slices.listed(r.getInt(0)).fileId
            DuplicateCopy(r.getString(3), r.getString(4), fileId, Option(r.getString(2)),
              r.getInt(1) != MergedCopies.Removed, r.getString(5))
          })
      }
    finally counted.close()
  }

  private def require(table: OpenTable, partition: Option[String]): Unit = {
    if (KeylessTable.is(table.config))
      throw MerganserException("DUPLICATES_WITHOUT_KEYS", "table" -> table.config.name)
    partition.filter(p => table.view.partitionsAmong(Seq(p)).isEmpty).foreach(p =>
      throw MerganserException("PARTITIONS_NOT_FOUND", "table" -> table.config.name, "partition" -> p))
  }

  /** The rows are tagged with their slices, so that no index is needed. */
  private def of(settings: WriteConfig): WriteConfig = settings.copy(
    operation = WriteOperation.Upsert,
    combineBeforeUpsert = true,
    index = IndexType.Simple(bloomFilters = IndexResolver.usesFilters(settings.index)),
    nullOrdering = NullOrdering.Lowest,
    allowEmptyCommit = false,
    nonBlocking = false,
    transaction = None
  )

  private def keys(
      scope: ServiceScope,
      partition: Option[String],
      buckets: Option[IndexType.Bucket]
  ): DuplicateKeys = {
    import scope._
    DuplicateKeys(session, table, settings,
      byPath = partition.isDefined || IndexResolver.globalKeys(settings.index, table.config).isEmpty, buckets)
  }

  /** Until logs are compacted, base files have the deleted copies: an index that reads only those would find them. */
  private def compact(scope: ServiceScope, instant: String): Unit =
    if (scope.table.config.isMergeOnRead)
      AfterCommit.quietly(instant, s"compact the repaired file groups of ${scope.table.storage}") {
        CompactionService.scheduleAndRun(scope.refreshed)
        ()
      }

  /** The rows of the write, and their counts. */
  private final class Counted(
      session: SparkSession,
      settings: WriteConfig,
      partition: Option[String],
      buckets: Option[IndexType.Bucket]
  ) extends StatementRows with AutoCloseable {
    private var open = Option.empty[PersistedRows]

    private val roles = new Array[Long](MergedCopies.Roles)

    var keys = 0L

    /** Rows of a role of [[MergedCopies]]. */
    def of(role: Int): Long = roles(role)

    def copies: Long = of(MergedCopies.Kept) + of(MergedCopies.Removed)

    override def frame(table: OpenTable, slices: WriteSlices): StatementFrame =
      StatementFrame(all(table, slices).where(col(MergedCopies.Role) =!= MergedCopies.Kept))

    /** The rows of the write, and the copies that stay as they are. */
    def all(table: OpenTable, slices: WriteSlices): DataFrame = {
      close()
      val found = DuplicateRepair.keys(ServiceScope(session, table, settings), partition, buckets)
      val rows  = new PersistedRows(found.merged(slices, partition), found.columns)
      open = Some(rows)
      val copiesAt = found.columns.fieldIndex(MergedCopies.Copies)
      val roleAt   = found.columns.fieldIndex(MergedCopies.Role)
      val counts = Partitions.collect[InternalRow, (Long, Array[Long])](rows.rows) { it =>
        var own    = 0L
        val byRole = new Array[Long](MergedCopies.Roles)
        it.foreach { row =>
          if (row.getInt(copiesAt) > 0) own += 1
          byRole(row.getInt(roleAt)) += 1
        }
        Iterator((own, byRole))
      }
      keys = counts.map(_._1).sum
      roles.indices.foreach(i => roles(i) = counts.map(_._2(i)).sum)
      SparkBridge.internalCreateDataFrame(session, rows.rows, found.columns)
    }

    override def close(): Unit = {
      open.foreach(_.close())
      open = None
    }
  }
}
