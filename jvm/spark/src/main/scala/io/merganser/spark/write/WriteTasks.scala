package io.merganser.spark.write

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.merge.{
  GroupTargets,
  GroupWriter,
  LogWrites,
  MergePhases,
  Previewing,
  StoredRows,
  WrittenGroup
}
import io.merganser.spark.write.place._
import io.merganser.spark.write.prepare.{PreparedSchema, WriteRow}
import io.merganser.spark.write.tag.{DuplicatePolicy, KeyedBatch, StoredKeys, Tagging}
import io.merganser.table.commit.Transaction
import io.merganser.table.options.{IndexType, StoredKeyPolicy, WriteOperation}
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{SliceReader, SliceVersions}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal}
import org.apache.spark.sql.merganser.{Partitions, RowShuffle}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator

import scala.collection.mutable

/**
 * The distributed steps of a write: rows to their file groups, file groups to files.
 *
 * @param newKeysIn the buckets of keys that have no slice, where the index is SIMPLE because rows have theirs already
 */
private[write] final case class WriteTasks(
    session: SparkSession,
    table: OpenTable,
    settings: WriteConfig,
    index: IndexType,
    schema: StructType,
    incoming: PreparedSchema,
    transaction: Transaction,
    newKeysIn: Option[IndexType.Bucket] = None
) extends AutoCloseable {
  private[write] val config = table.config
  private val writer = {
    val files = WriterOptions.writer(session, table, schema, transaction, settings, Some(index))
    if (transaction.isDryRun) files.discarding else files
  }

  private val open = mutable.ArrayBuffer.empty[PersistedRows]

  override def close(): Unit = open.foreach(_.close())

  /** A key has one bucket, whose logs merge its versions: so inserts merge too, whatever the table's type. */
  private val insertsMerge = index.isInstanceOf[IndexType.Bucket]

  private[write] val compiled: CompiledRule =
    if (settings.operation == WriteOperation.BulkInsert && settings.combineBeforeInsert && !insertsMerge)
      CompiledRule.ofBulkInsert(settings.rule, settings.keyed(config), incoming.layout)
    else CompiledRule(settings.rule, settings.keyed(config), incoming.layout)

  private[write] def phases: MergePhases = settings.operation match {
    case insert if insertsMerge && (insert.isInsert || insert == WriteOperation.BulkInsert) =>
      MergePhases(combinesNew = true, mergesStored = true)
    case WriteOperation.BulkInsert => MergePhases(settings.combineBeforeInsert, mergesStored = false)
    case insert if insert.isInsert =>
      MergePhases(settings.combineBeforeInsert, mergesStored = settings.storedKeys == StoredKeyPolicy.MergeInFileGroup)
    case _ => MergePhases(settings.combineBeforeUpsert, mergesStored = true)
  }

  // --- steps of all indexes ------------------------------------------------------------------------------------------

  /** Rows with the slices that hold their key, without those that the duplicate policy drops. */
  private[write] def tagged(
      batch: KeyedBatch,
      slices: WriteSlices,
      counting: StoredKeys,
      several: LongAccumulator
  ): RDD[InternalRow] =
    DuplicatePolicy(settings, config, incoming)(Tagging.simple(session, batch, table, slices, counting, several,
        IndexResolver.usesFilters(index)))

  /** True for an insert that drops or rejects stored keys: a key that a log has deleted does not count as stored. */
  private[write] def needsLiveKeys: Boolean =
    settings.operation == WriteOperation.Insert && Set[StoredKeyPolicy](StoredKeyPolicy.Drop, StoredKeyPolicy.Fail)(
      settings.storedKeys)

  private[write] def keyReader: SliceReader =
    table.reader(settings.rule, MetaColumns.keySchema)

  /** Persists rows until the write ends; see [[PersistedRows]]. */
  private[write] def persisted(rows: RDD[InternalRow], columns: StructType): PersistedRows = {
    val persisted = new PersistedRows(rows, columns)
    open += persisted
    persisted
  }

  /**
   * Shuffles rows to the tasks of their file groups.
   *
   * @param placed rows whose last columns are the group's number and the salt that maps it to its task
   * @param before the other columns
   */
  private[write] def shuffled(placed: RDD[InternalRow], before: StructType, tasks: Int): RowShuffle = {
    val columns = RowShuffle.columns(PlacedRow.schema(before))
    RowShuffle(session, placed, columns, Seq(columns.last), tasks)
  }

  /** As [[writeSorted]], of rows with the number of their file group and its salt behind the columns `before`. */
  private[write] def writeGroups(rows: RDD[InternalRow], before: StructType, byGroup: Seq[String])(
      target: (UTF8String, Int) => FileGroupTarget
  ): Seq[WrittenGroup] =
    writeSorted(rows, RowShuffle.columns(PlacedRow.schema(before)), byGroup, writeStep(before.length, target))

  /**
   * Sorts shuffled rows and writes their file groups, one file each.
   *
   * @param byGroup columns that separate the groups of a task; none if each task has one group
   */
  private[write] def writeSorted(
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      byGroup: Seq[String],
      step: GroupWriter
  ): Seq[WrittenGroup] = {
    def column(name: String) = RowShuffle.column(columns, name)
    val group                = if (byGroup.contains(PlacedRow.Group)) column(PlacedRow.Group) else Literal(0)
    // The groups of several partitions have no order of their numbers alone.
    val number =
      if (byGroup.isEmpty || config.partitionFields.isEmpty)
        Seq(KeyNumber(config, schema).of(group, column(MetaColumns.RecordKey)))
      else Nil
    val order = number ++ (byGroup ++ Seq(MetaColumns.RecordKey, WriteRow.Arrival.name)).map(column)
    Partitions.collect(RowShuffle.sorted(session, rows, columns, order))(step.run)
  }

  private[write] def writeStep(groupOrdinal: Int, target: (UTF8String, Int) => FileGroupTarget): GroupWriter =
    new GroupWriter(writer, incoming, compiled, phases, GroupTargets(groupOrdinal, target), toLogs, table.rowKey,
      settings.dryRun.map(previewing))

  private def previewing(rows: Int): Previewing = {
    val columns = CompiledRule.layoutSchema(incoming.layout, schema, config, settings.rule)
    Previewing(rows, session.sessionState.conf.sessionLocalTimeZone, settings.rule, schema,
      table.reader(settings.rule, columns))
  }

  private def toLogs: LogWrites = {
    val (looksAtRows, lacking) = settings.rule match {
      case user: StoredRule.UserMerger => (user.readsDeletes(schema), Nil)
      case rule =>
        (rule.readsDeletes(schema),
          CompiledRule.orderingColumns(rule, schema).filter(f => incoming.masks.exists(!_.columns.contains(f))))
    }
    val merges = !table.logsPartialRows
    val needed =
      if (!config.isMergeOnRead || incoming.masks.isEmpty) None
      else if (merges) Some(incoming.layout)
      else if (lacking.isEmpty && !incoming.masks.exists(_.inserts)) None
      else Some(StructType(MetaColumns.schema(MetaColumns.RecordKey) +: CompiledRule.orderingColumns(settings.rule,
          schema).map(schema(_))))
    val reader = needed.map { requested =>
      val columns = CompiledRule.layoutSchema(requested, schema, config, settings.rule)
      val reader  = table.reader(settings.rule, columns)
      StoredRows(reader, CompiledRule(settings.rule, settings.keyed(config), reader.input.schema))
    }
    LogWrites(looksAtRows, reader, merges && reader.isDefined, completesOrdering = lacking.nonEmpty,
      new SliceVersions(keyReader.input))
  }
}
