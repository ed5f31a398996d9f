package io.merganser.spark.write

import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.write.merge.WrittenGroup
import io.merganser.spark.write.place._
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.spark.write.tag.{DuplicatePolicy, GlobalTagging, KeyedBatch, PartitionMove, StoredKeys, Tagging}
import io.merganser.table.options.StoredKeyPolicy
import io.merganser.table.slice.FileSlice
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/** The write with the SIMPLE index: each row goes to the file slice that stores its key, else to a group with room. */
private[write] final case class WriteBySlice(tasks: WriteTasks) {
  import tasks._

  private val columns = incoming.tagged

  private val places = newKeysIn.map(BucketPlaces(_, table, transaction.instant, replaces = false))

  def write(rows: DataFrame, slices: WriteSlices): Seq[WrittenGroup] = {
    val looksUp = !settings.operation.isInsert || settings.storedKeys != StoredKeyPolicy.InsertAgain
    def byKey(rows: DataFrame, byPath: Boolean): KeyedBatch =
      Tagging.byKey(session, rows, ShuffleTasks.forRows(session, rows, settings.shuffleTasks), byPath)
    val tagged = globalKeys match {
      case None if incoming.isTagged => counted(rows.queryExecution.toRdd)
      case _ if !looksUp             =>
        // Not shuffled by key, unless an option has a number of tasks for that.
        val source = settings.shuffleTasks.fold(rows.queryExecution.toRdd)(_ => byKey(rows, byPath = true).rows)
        counted(Partitions.map(source)(Tagging.untagged))
      // A slice found earlier is ignored: the key may be stored in other slices too, or the row may move.
      case Some(keys) =>
        val policy = DuplicatePolicy(settings, config, incoming)
        val tag    = GlobalTagging(session, table, settings, incoming, compiled, keys.move, phases.combinesNew)
        tag(byKey(rows.drop(WriteRow.Slice.name), byPath = false), slices)(found => counted(policy(found)))
      case None => taggedOnce(byKey(rows, byPath = true), slices)
    }
    toTargets(tagged, slices)
  }

  /** Writes tagged rows to file groups that are planned for their number. */
  private def toTargets(tagged: CountedRows, slices: WriteSlices): Seq[WrittenGroup] = {
    val work = tagged.work
    // New rows may name partitions in which no key was looked up.
    val planned = Placement.plan(slices.of(work.newByPartition.keySet), work, config.isMergeOnRead,
      settings.files.smallFileLimitBytes, settings.files.maxFileBytes,
      StoredRowBytes.estimate(table, settings.files.recordBytesEstimate), isClustered)
    val placement = places.fold(planned)(planned.withBuckets(_, work.newBuckets, transaction.instant))
    if (!transaction.isDryRun) places.foreach(p =>
      p.store(work.newBuckets.map(_._1).map(path => path -> Set(p.in(path).code)).toMap))
    if (placement.targets.isEmpty) Nil
    else {
      val shared           = session.sparkContext.broadcast(placement)
      val width            = incoming.rows.length
      val (key, partition) = (incoming.keyOrdinal, incoming.partitionOrdinal)
      val salts            = DirectPartitions.salts(placement.targets.length)
      val before           = columns
      val placed = Partitions.map[InternalRow, InternalRow](tagged.rows) { it =>
        val place  = shared.value
        val placed = new PlacedRow(before)
        it.map { row =>
          val group = place.group(row.getInt(width), row.getUTF8String(partition), row.getUTF8String(key))
          placed(row, group, salts(group))
        }
      }
      // A task has one group, so no column has to separate groups.
      val written = writeGroups(shuffled(placed, columns, placement.targets.length).rows, columns, Nil)(
        (_: UTF8String, group: Int) =>
          shared.value.targets(group))
      if (work.moved == 0) written
      else {
        val head = written.head
        // Readers see a moved row once, whether or not its delete is in a log.
        val merged = MergeCounts(inserted = -work.moved, deleted = -work.moved, updated = work.moved)
        written.updated(0,
          head.copy(counts = head.counts + asUpdates(work.moved),
            preview = head.preview.map(p => p.copy(counts = p.counts + merged))))
      }
    }
  }

  /** True under a planned or running clustering: the commit of a write to such a group is rejected. */
  private def isClustered(slice: FileSlice): Boolean = table.timeline.groupsInClustering.contains(slice.group)

  private val globalKeys = IndexResolver.globalKeys(index, config)

  /** Counts a moved row as an update, not delete and insert. In a log the delete counts by its outcome, if known. */
  private def asUpdates(moved: Long): MergeCounts =
    if (!config.isMergeOnRead) MergeCounts(inserted = -moved, deleted = -moved, updated = moved)
    else if (incoming.outcomeOrdinal >= 0) MergeCounts(inserted = -moved)
    else MergeCounts()

  /** Tagged rows. If a key is in several slices, of which a log may have deleted it in some, its live rows are read. */
  private def taggedOnce(batch: KeyedBatch, slices: WriteSlices): CountedRows = {
    val several  = session.sparkContext.longAccumulator
    val counting = if (needsLiveKeys) StoredKeys.Live(keyReader) else StoredKeys.OfFiles(keyReader)
    val first    = counted(tagged(batch, slices, counting, several))
    if (needsLiveKeys || several.sum == 0 || slices.listed.forall(_.logs.isEmpty)) first
    else {
      first.close()
      counted(tagged(batch, slices, StoredKeys.AndLive(keyReader), several))
    }
  }

  private def counted(tagged: RDD[InternalRow]): CountedRows = {
    val persisted = tasks.persisted(tagged, columns)
    new CountedRows(persisted, workload(persisted.rows))
  }

  /** Number of rows by slice and partition; a delete whose key is not stored needs no file group. */
  private def workload(tagged: RDD[InternalRow]): Workload = {
    val (width, partition) = (incoming.rows.length, incoming.partitionOrdinal)
    val arrival            = incoming.arrivalOrdinal
    val key                = incoming.keyOrdinal
    val buckets            = places
    val parts = Partitions.collect(tagged) { it =>
      var moved   = 0L
      val bySlice = mutable.HashMap.empty[Int, Long]
      val fresh   = mutable.HashMap.empty[UTF8String, Long]
      val added   = mutable.HashSet.empty[(String, Int)]
      while (it.hasNext) {
        val row   = it.next()
        val slice = row.getInt(width)
        if (slice >= 0) bySlice(slice) = bySlice.getOrElse(slice, 0L) + 1
        else if (buckets.isDefined) {
          val path = row.getUTF8String(partition).toString
          added += ((path, buckets.get.in(path).of(row.getUTF8String(key))))
        } else {
          if (row.getLong(arrival) == PartitionMove.Last) moved += 1
          val path = row.getUTF8String(partition)
          fresh.get(path) match {
            case Some(count) => fresh(path) = count + 1
            case None        => fresh(path.copy()) = 1L
          }
        }
      }
      Iterator((bySlice.toMap, fresh.iterator.map { case (p, n) => p.toString -> n }.toMap, moved,
          added.toSet))
    }
    def sum[K](maps: Seq[Map[K, Long]]): Map[K, Long] = maps.flatten.groupBy(_._1).map { case (k, counts) =>
      k -> counts.map(_._2).sum
    }
    Workload(sum(parts.map(_._1)), sum(parts.map(_._2)), parts.map(_._3).sum, parts.flatMap(_._4).toSet)
  }
}

/** Persisted rows with the slices of their keys, and their counts. */
private final class CountedRows(persisted: PersistedRows, val work: Workload) extends AutoCloseable {
  def rows: RDD[InternalRow] = persisted.rows

  override def close(): Unit = persisted.close()
}
