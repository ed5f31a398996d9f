package io.merganser.spark.sql

import io.merganser.spark.service.{AfterCommit, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{StatementFrame, StatementRows, StatementSession, TableWrite, WriteResult}
import io.merganser.spark.write.key.KeyColumns
import io.merganser.spark.write.place.{IndexResolver, WriteSlices}
import io.merganser.spark.write.prepare.{ColumnMask, WriteRow}
import io.merganser.spark.write.tag.{KeyLookup, KeyedSource, InsertPartition}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.FileSlice
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.{Partitions, SparkBridge}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Writes the output rows of a MERGE, UPDATE or DELETE, by the same write as data frames.
 *
 * @param opened   the table as of the statement's start
 * @param data     the table's data columns after the statement
 * @param columns  of the clauses' output rows
 * @param readsItself true where the rows to change were found by reading the opened table
 */
final case class CommandWrite(
    session: SparkSession,
    opened: OpenTable,
    settings: WriteConfig,
    data: StructType,
    columns: StructType,
    masks: Seq[ColumnMask],
    readsItself: Boolean
) {

  /** @param changes rows of [[columns]] */
  def run(changes: RDD[InternalRow]): WriteResult =
    write(readsItself)((_: OpenTable, _: WriteSlices) =>
      StatementFrame(SparkBridge.internalCreateDataFrame(session, changes, columns)))

  /**
   * Looks up the keys of the source rows first.
   *
   * @param source rows of the source
   * @param keyed  its key columns, and the stored columns that are needed
   * @param clause makes rows of [[columns]] from the rows of the lookup; takes the partition that they are inserted
   *               into, where a key may be stored in several
   * @return with the file groups that the lookup read and pruned
   */
  def run(
      source: RDD[InternalRow],
      keyed: KeyedSource,
      clause: (Iterator[InternalRow], Option[InsertPartition]) => Iterator[InternalRow]
  ): WriteResult =
    write(looksUpAllPartitions = !keyed.byPath) { (table: OpenTable, slices: WriteSlices) =>
      val lookup = KeyLookup(session, table, settings.rule, slices, keyed.stored, keyed.byPath,
        IndexResolver.usesFilters(settings.index), settings.shuffleTasks)
      val (rows, found) = lookup(keyed.rows(session, source))
      val partition     = if (keyed.byPath || isGlobal) None else Some(ownPartition(keyed, slices.listed))
      StatementFrame(SparkBridge.internalCreateDataFrame(session, Partitions.map(rows)(clause(_, partition)), columns),
        Some(found))
    }

  private def isGlobal: Boolean = IndexResolver.globalKeys(settings.index, opened.config).isDefined

  private def ownPartition(keyed: KeyedSource, slices: Seq[FileSlice]): InsertPartition = {
    val paths = session.sparkContext.broadcast(slices.map(s => UTF8String.fromString(s.partitionPath)).toArray)
    def at(name: String) = columns.fieldNames.indexOf(name)
    new InsertPartition(KeyColumns.pathOf(session, settings.keyed(opened.config), data, columns), paths,
      keyed.sliceOrdinal,
      at(WriteRow.Slice.name), at(WriteRow.Outcome.name))
  }

  /** @param looksUpAllPartitions true where inserted keys were looked up in all partitions */
  private def write(looksUpAllPartitions: Boolean)(rows: StatementRows): WriteResult = {
    val readAt = if (readsItself) Some(opened.timeline) else None
    val result = new TableWrite(session, opened, settings).change(data, masks, readAt, looksUpAllPartitions)(rows)
    val done   = AfterCommit.run(ServiceScope(session, opened, settings), result)
    StatementSession.keep(session, done)
    done
  }
}
