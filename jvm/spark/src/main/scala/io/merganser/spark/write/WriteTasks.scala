package io.merganser.spark.write

import io.merganser.merge.OrderingComparator
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.merge.{LogWrites, MergeWay, StoredRows, GroupWriter}
import io.merganser.spark.write.place._
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.spark.write.tag.{DuplicatePolicy, GlobalTagging, PartitionMove, StoredKeys, Tagging}
import io.merganser.table.commit.Transaction
import io.merganser.table.file.FileNames
import io.merganser.table.index.BucketIndex
import io.merganser.table.options.{IndexType, StoredKeyPolicy, WriteOperation}
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, LogVisibility, SliceReader, SliceWritten}
import io.merganser.table.timeline.MergeCounts
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}
import org.apache.spark.storage.StorageLevel
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator

import scala.collection.mutable

/** The distributed steps of a write: rows to their file groups, file groups to files. */
private[write] final case class WriteTasks(
    session: SparkSession,
    table: OpenTable,
    settings: WriteConfig,
    index: IndexType,
    schema: StructType,
    incoming: PreparedSchema,
    transaction: Transaction
) {
  private val config = table.config
  private val writer = WriterOptions.writer(session, table, schema, transaction, settings, Some(index))

  def write(rows: DataFrame, slices: IndexedSeq[FileSlice]): Seq[SliceWritten] =
    index match {
      case bucket: IndexType.Bucket                             => byBucket(rows, slices, bucket)
      case _ if settings.operation == WriteOperation.BulkInsert => byRange(rows)
      case _                                                    => byTag(rows, slices)
    }

  /** A key has one bucket, whose logs merge its versions: so inserts merge too, whatever the table's type. */
  private val insertsMerge = index.isInstanceOf[IndexType.Bucket]

  private val compiled: CompiledRule =
    if (settings.operation == WriteOperation.BulkInsert && settings.combineBeforeInsert && !insertsMerge)
      CompiledRule.ofBulkInsert(settings.rule, settings.keyed(config), incoming.layout)
    else CompiledRule(settings.rule, settings.keyed(config), incoming.layout)

  private def way: MergeWay = settings.operation match {
    case insert if insertsMerge && (insert.isInsert || insert == WriteOperation.BulkInsert) =>
      MergeWay(combinesNew = true, mergesStored = true)
    case WriteOperation.BulkInsert => MergeWay(settings.combineBeforeInsert, mergesStored = false)
    case insert if insert.isInsert =>
      MergeWay(settings.combineBeforeInsert, mergesStored = settings.storedKeys == StoredKeyPolicy.MergeInFileGroup)
    case _ => MergeWay(settings.combineBeforeUpsert, mergesStored = true)
  }

  // --- SIMPLE index ---------------------------------------------------------------------------------------------

  private def byTag(rows: DataFrame, slices: IndexedSeq[FileSlice]): Seq[SliceWritten] = {
    val looksUp = !settings.operation.isInsert || settings.storedKeys != StoredKeyPolicy.InsertAgain
    if (incoming.isTagged && globalKeys.isEmpty)
      evaluatedOnce(rows.queryExecution.toRdd)(tagged => toTargets(tagged, workload(tagged), slices))
    else {
      // The rows come from a shuffle, so a second job over them does not evaluate the source again.
      val tasks = ShuffleTasks.forRows(session, rows, settings.shuffleTasks)
      val (tagged, work) = globalKeys match {
        case _ if !looksUp => counted(Tagging.byKey(rows, tasks).queryExecution.toRdd.mapPartitions(Tagging.untagged))
        // A slice found earlier is ignored: the key may be stored in other slices too, or the row may move.
        case Some(keys) => taggedGlobally(rows.drop(PreparedSchema.SliceColumn.name), slices, tasks, keys)
        case None       => taggedOnce(Tagging.byKey(rows, tasks), slices, tasks)
      }
      toTargets(tagged, work, slices)
    }
  }

  /** Writes tagged rows to file groups that are planned for their number. */
  private def toTargets(tagged: RDD[InternalRow], work: Workload, slices: IndexedSeq[FileSlice]): Seq[SliceWritten] = {
    val placement = Placement.plan(slices, work, config.isMergeOnRead, settings.files.smallFileLimitBytes,
      settings.files.maxFileBytes,
      StoredRowBytes.estimate(table, settings.files.recordBytesEstimate), isClustered)
    if (placement.targets.isEmpty) Nil
    else {
      val shared           = session.sparkContext.broadcast(placement)
      val width            = incoming.rows.length
      val (key, partition) = (incoming.keyOrdinal, incoming.partitionOrdinal)
      val salts            = DirectPartitions.salts(placement.targets.length)
      val placed = tagged.mapPartitions[InternalRow] { it =>
        val place  = shared.value
        val extra  = new GenericInternalRow(2)
        val joined = new JoinedRow
        it.map { row =>
          val group = place.group(row.getInt(width), row.getUTF8String(partition), row.getUTF8String(key))
          extra.update(0, group)
          extra.update(1, salts(group))
          joined(row, extra)
        }
      }
      // A task has one group, so no column has to separate groups.
      val written = run(placed, incoming.rows.add(PreparedSchema.SliceColumn), placement.targets.length, Nil)(
        (_: UTF8String, group: Int) =>
          shared.value.targets(group))
      if (work.moved == 0) written
      else written.updated(0, written.head.copy(counts = written.head.counts + asUpdates(work.moved)))
    }
  }

  /** True under a planned or running clustering: the commit of a write to such a group is rejected. */
  private def isClustered(slice: FileSlice): Boolean = table.timeline.groupsInClustering.contains(slice.group)

  private def counted(tagged: RDD[InternalRow]): (RDD[InternalRow], Workload) = (tagged, workload(tagged))

  private val globalKeys = IndexResolver.globalKeys(index, config)

  private def taggedGlobally(rows: DataFrame, slices: IndexedSeq[FileSlice], tasks: Int, keys: IndexType.GlobalKeys): (
      RDD[InternalRow],
      Workload) = {
    val policy         = DuplicatePolicy(settings, config, incoming)
    val tag            = GlobalTagging(session, table, settings, incoming, compiled, keys.move, way.combinesNew)
    val (tagged, work) = tag(rows, slices, tasks)(found => workload(policy(found)))
    (policy(tagged), work)
  }

  /** Counts a moved row as an update, not delete and insert. In a log the delete counts by its outcome, if known. */
  private def asUpdates(moved: Long): MergeCounts =
    if (!config.isMergeOnRead) MergeCounts(inserted = -moved, deleted = -moved, updated = moved)
    else if (incoming.knowsOutcome) MergeCounts(inserted = -moved)
    else MergeCounts()

  /** Tagged rows. If a key is in several slices, of which a log may have deleted it in some, its live rows are read. */
  private def taggedOnce(sorted: DataFrame, slices: IndexedSeq[FileSlice], tasks: Int): (RDD[InternalRow], Workload) = {
    val several  = session.sparkContext.longAccumulator
    val counting = if (needsLiveKeys) StoredKeys.Live(keyReader) else StoredKeys.OfFiles(keyReader)
    val first    = tagged(sorted, slices, tasks, counting, several)
    val work     = workload(first)
    if (needsLiveKeys || several.sum == 0 || slices.forall(_.logs.isEmpty)) (first, work)
    else {
      val again = tagged(sorted, slices, tasks, StoredKeys.AndLive(keyReader), several)
      (again, workload(again))
    }
  }

  /** Rows with the slices that hold their key, without those that the duplicate policy drops. */
  private def tagged(
      sorted: DataFrame,
      slices: IndexedSeq[FileSlice],
      tasks: Int,
      counting: StoredKeys,
      several: LongAccumulator
  ): RDD[InternalRow] =
    DuplicatePolicy(settings, config, incoming).apply(Tagging.simple(session, sorted, incoming, table, slices, tasks,
        counting,
        several))

  /** True for an insert that drops or rejects stored keys: a key that a log has deleted does not count as stored. */
  private def needsLiveKeys: Boolean =
    settings.operation == WriteOperation.Insert && Set[StoredKeyPolicy](StoredKeyPolicy.Drop, StoredKeyPolicy.Fail)(
      settings.storedKeys)

  private def keyReader: SliceReader = {
    val key = StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey)))
    new SliceReader(table.storage, config, settings.rule, table.schema, key, LogVisibility(table.timeline))
  }

  /** Number of rows by slice and partition; a delete whose key is not stored needs no file group. */
  private def workload(tagged: RDD[InternalRow]): Workload = {
    val (width, partition) = (incoming.rows.length, incoming.partitionOrdinal)
    val arrival            = incoming.arrivalOrdinal
    val parts = tagged.mapPartitions { it =>
      var moved   = 0L
      val bySlice = mutable.HashMap.empty[Int, Long]
      val fresh   = mutable.HashMap.empty[UTF8String, Long]
      while (it.hasNext) {
        val row   = it.next()
        val slice = row.getInt(width)
        if (slice >= 0) bySlice(slice) = bySlice.getOrElse(slice, 0L) + 1
        else {
          if (row.getLong(arrival) == PartitionMove.Last) moved += 1
          val path = row.getUTF8String(partition)
          fresh.get(path) match {
            case Some(count) => fresh(path) = count + 1
            case None        => fresh(path.copy()) = 1L
          }
        }
      }
      Iterator((bySlice.toMap, fresh.iterator.map { case (p, n) => p.toString -> n }.toMap, moved))
    }.collect()
    def sum[K](maps: Seq[Map[K, Long]]): Map[K, Long] = maps.flatten.groupBy(_._1).map { case (k, counts) =>
      k -> counts.map(_._2).sum
    }
    Workload(sum(parts.map(_._1).toSeq), sum(parts.map(_._2).toSeq), parts.map(_._3).sum)
  }

  // --- BUCKET index ---------------------------------------------------------------------------------------------

  private def byBucket(rows: DataFrame, slices: IndexedSeq[FileSlice], index: IndexType.Bucket): Seq[SliceWritten] = {
    val existing = session.sparkContext.broadcast(
      slices.flatMap(s => FileNames.bucketOf(s.fileId).map(b => (UTF8String.fromString(s.partitionPath), b) -> s)).toMap
    )
    val buckets =
      index.buckets.getOrElse(throw new IllegalStateException("an index whose number of buckets was not resolved"))
    val hashed   = index.hashFields
    val instant  = transaction.instant
    val isLogged = config.isMergeOnRead
    val tasks = math.max(1,
      math.min(buckets * math.max(1, slices.map(_.partitionPath).distinct.size),
        session.sessionState.conf.numShufflePartitions))
    val salts            = DirectPartitions.salts(tasks)
    val (key, partition) = (incoming.keyOrdinal, incoming.partitionOrdinal)
    val (source, columns) =
      if (incoming.isTagged) (rows.queryExecution.toRdd, incoming.rows.add(PreparedSchema.SliceColumn))
      else if (needsLiveKeys)
        (tagged(Tagging.byKey(rows, tasks), slices, tasks, StoredKeys.Live(keyReader),
            session.sparkContext.longAccumulator),
          incoming.rows.add(PreparedSchema.SliceColumn))
      else (rows.queryExecution.toRdd, incoming.rows)
    val placed = source.mapPartitions[InternalRow] { it =>
      val extra  = new GenericInternalRow(2)
      val joined = new JoinedRow
      it.map { row =>
        val bucket = BucketIndex.bucket(row.getUTF8String(key), hashed, buckets)
        extra.update(0, bucket)
        extra.update(1, salts(((row.getUTF8String(partition).hashCode & Int.MaxValue) + bucket.toLong).%(tasks).toInt))
        joined(row, extra)
      }
    }
    run(placed, columns, tasks, Seq(MetaColumns.PartitionPath, WriteTasks.Group)) { (path: UTF8String, bucket: Int) =>
      existing.value.get((path, bucket)) match {
        case Some(slice) => FileGroupTarget(slice.partitionPath, slice.fileId, Some(slice), isLogged)
        case None =>
          FileGroupTarget(path.toString, FileNames.bucketFileId(bucket, instant, path.toString), None, isLog = false,
            isBucket = true)
      }
    }
  }

  // --- bulk insert ----------------------------------------------------------------------------------------------

  private def byRange(rows: DataFrame): Seq[SliceWritten] = {
    val tasks = ShuffleTasks.forRows(session, rows, settings.shuffleTasks)
    // Ranges come from a sample of the rows, which takes a job over all of them.
    if (tasks == 1) byRange(rows, tasks)
    else evaluatedOnce(rows.queryExecution.toRdd)(once =>
      byRange(SparkBridge.internalCreateDataFrame(session, once, rows.schema), tasks))
  }

  private def byRange(rows: DataFrame, tasks: Int): Seq[SliceWritten] = {
    val instant = transaction.instant
    val sorted = rows
      .repartitionByRange(tasks, col(MetaColumns.PartitionPath), col(MetaColumns.RecordKey))
      .sortWithinPartitions(MetaColumns.PartitionPath, MetaColumns.RecordKey, PreparedSchema.Arrival)
    val group = new GenericInternalRow(Array[Any](0))
    val step = writeStep(incoming.rows.length,
      (path: UTF8String, _: Int) => {
        val partition = path.toString
        FileGroupTarget(partition, FileNames.fileIdOf(instant, partition, TaskContext.getPartitionId()), None,
          isLog = false)
      })
    sorted.queryExecution.toRdd.mapPartitions { it =>
      val joined = new JoinedRow
      step.run(it.map(row => joined(row, group)))
    }.collect().toSeq
  }

  // --- all ------------------------------------------------------------------------------------------------------

  /** Persists rows for several jobs: evaluating the source again may return other rows, and costs as much again. */
  private def evaluatedOnce[T](rows: RDD[InternalRow])(use: RDD[InternalRow] => T): T = {
    val persisted = rows.map(_.copy()).persist(StorageLevel.MEMORY_AND_DISK)
    try use(persisted)
    finally { persisted.unpersist(); () }
  }

  /**
   * Shuffles rows to the tasks of their file groups and writes these.
   *
   * @param placed  rows with two more columns than `before`: the group, and the salt that maps it to its task
   * @param byGroup columns that separate the groups of a task; none if each task has one group
   */
  private def run(
      placed: RDD[InternalRow],
      before: StructType,
      tasks: Int,
      byGroup: Seq[String]
  )(target: (UTF8String, Int) => FileGroupTarget): Seq[SliceWritten] = {
    val columns = before.add(StructField(WriteTasks.Group, IntegerType, nullable = false)).add(
      StructField(WriteTasks.Salt, IntegerType,
        nullable = false))
    val sorted = SparkBridge
      .internalCreateDataFrame(session, placed, columns)
      .repartition(tasks, col(WriteTasks.Salt))
      .sortWithinPartitions((byGroup ++ Seq(MetaColumns.RecordKey, PreparedSchema.Arrival)).map(col(_)): _*)
    val step = writeStep(before.length, target)
    sorted.queryExecution.toRdd.mapPartitions(step.run).collect().toSeq
  }

  private def writeStep(groupOrdinal: Int, target: (UTF8String, Int) => FileGroupTarget): GroupWriter = {
    val ordering = if (compiled.layout.orderingOrdinals.isEmpty) None else Some(new OrderingComparator(compiled.layout))
    new GroupWriter(writer, incoming, compiled, way, ordering, groupOrdinal, toLogs, target)
  }

  private def toLogs: LogWrites = {
    val (looksAtRows, lacking) = settings.rule match {
      case user: StoredRule.ByMerger => (user.columns(schema).nonEmpty, Nil)
      case rule =>
        (rule.columns(schema).nonEmpty,
          CompiledRule.orderingColumns(rule, schema).filter(f => incoming.masks.exists(!_.columns.contains(f))))
    }
    val merges = config.version < 8
    val needed =
      if (!config.isMergeOnRead || incoming.masks.isEmpty) None
      else if (merges) Some(incoming.layout)
      else if (lacking.isEmpty && !incoming.masks.exists(_.inserts)) None
      else Some(StructType(MetaColumns.schema(MetaColumns.RecordKey) +: CompiledRule.orderingColumns(settings.rule,
          schema).map(schema(_))))
    val reader = needed.map { requested =>
      val columns = CompiledRule.layoutSchema(requested, schema, config, settings.rule)
      val reader =
        new SliceReader(table.storage, config, settings.rule, table.schema, columns, LogVisibility(table.timeline))
      StoredRows(reader, CompiledRule(settings.rule, settings.keyed(config), reader.schema))
    }
    LogWrites(looksAtRows, reader, merges && reader.isDefined, completesOrdering = lacking.nonEmpty)
  }
}

private object WriteTasks {
  private val Group = "__merganser_group"
  private val Salt  = "__merganser_salt"
}
