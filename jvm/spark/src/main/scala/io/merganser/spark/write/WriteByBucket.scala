package io.merganser.spark.write

import io.merganser.spark.write.merge.WrittenGroup
import io.merganser.spark.write.place._
import io.merganser.spark.write.tag.{StoredKeys, Tagging}
import io.merganser.table.options.IndexType
import io.merganser.table.schema.MetaColumns
import io.merganser.table.timeline.Action
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.AccumulatorV2

import java.io.ObjectOutputStream

import scala.collection.mutable

/** The write with the BUCKET index: a hash of the key is the file group. */
private[write] final case class WriteByBucket(tasks: WriteTasks) {
  import tasks._

  def write(rows: DataFrame, slices: WriteSlices, index: IndexType.Bucket): Seq[WrittenGroup] = {
    val instant           = transaction.instant
    val places            = BucketPlaces(index, table, instant, transaction.action == Action.ReplaceCommit)
    val (source, columns) = tagged(rows, slices, index)
    val isPartitioned     = config.partitionFields.nonEmpty
    val most              = session.sessionState.conf.numShufflePartitions
    // How many partitions the rows have is known after the shuffle, which leaves out tasks without rows.
    val tasks = math.max(1, if (isPartitioned) most else math.min(places.in("").count, most))
    val paths = new WrittenBuckets
    session.sparkContext.register(paths)
    // Buckets of the slices that store tagged keys.
    val ofSlices =
      if (columns == incoming.tagged) Some(slices.listed.map(places.bucketOf(_, table).getOrElse(-1)).toArray) else None
    val shuffle = shuffled(placed(source, columns, places, ofSlices, tasks, paths), columns, tasks)
    val written = shuffle.run()
    val used    = paths.value
    if (!transaction.isDryRun) places.store(used)
    val listed   = slices.of(used.keySet).filter(slice => used.contains(slice.partitionPath))
    val existing = session.sparkContext.broadcast(places.byBucket(listed, table))
    val isLogged = config.isMergeOnRead
    val shared   = if (settings.nonBlocking) Some(new SharedBuckets(table.timeline.replacedGroups)) else None
    writeGroups(written, columns, Seq(MetaColumns.PartitionPath, PlacedRow.Group)) { (path: UTF8String, bucket: Int) =>
      existing.value.get((path, bucket)) match {
        case Some(slice)              => FileGroupTarget(slice.partitionPath, slice.fileId, Some(slice), isLogged)
        case None if shared.isDefined => shared.get.first(path.toString, bucket, instant)
        case None =>
          val fileId = places.in(path.toString).newFileId(bucket, instant, path.toString)
          FileGroupTarget(path.toString, fileId, None, isLog = false, isBucket = true)
      }
    }
  }

  /** The rows and their columns; with the slices of their keys only where a policy or the index needs them. */
  private def tagged(rows: DataFrame, slices: WriteSlices, index: IndexType.Bucket): (RDD[InternalRow], StructType) =
    if (incoming.isTagged) (rows.queryExecution.toRdd, incoming.tagged)
    else if (needsLiveKeys || index.looksUp) {
      val batch    = Tagging.byKey(session, rows, ShuffleTasks.forRows(session, rows, settings.shuffleTasks))
      val counting = if (needsLiveKeys) StoredKeys.Live(keyReader) else StoredKeys.AndLive(keyReader)
      (tasks.tagged(batch, slices, counting, session.sparkContext.longAccumulator), incoming.tagged)
    } else (rows.queryExecution.toRdd, incoming.rows)

  /** @param ofSlices buckets of the slices that rows are tagged with; None if they are not tagged */
  private def placed(
      rows: RDD[InternalRow],
      columns: StructType,
      places: BucketPlaces,
      ofSlices: Option[Array[Int]],
      tasks: Int,
      paths: WrittenBuckets
  ): RDD[InternalRow] = {
    val salts            = DirectPartitions.salts(tasks)
    val (key, partition) = (incoming.keyOrdinal, incoming.partitionOrdinal)
    val tag              = incoming.rows.length
    val found            = ofSlices.orNull
    Partitions.map(rows) { it =>
      val placed = new PlacedRow(columns)

      var last: UTF8String          = null
      var buckets: PartitionBuckets = null
      it.map { row =>
        val path = row.getUTF8String(partition)
        if (path != last) {
          last = path.copy()
          buckets = places.in(path.toString)
          paths.add((last, buckets.code))
        }
        val slice  = if (found == null) -1 else row.getInt(tag)
        val stored = if (slice < 0) -1 else found(slice)
        val bucket = if (stored >= 0) stored else buckets.of(row.getUTF8String(key))
        placed(row, bucket, salts(((path.hashCode & Int.MaxValue) + bucket.toLong).%(tasks).toInt))
      }
    }
  }
}

/**
 * The partition paths of rows, with the codes of the buckets that the rows were placed in. Synchronized, as Spark reads
 * the values of running tasks.
 */
private final class WrittenBuckets extends AccumulatorV2[(UTF8String, Int), Map[String, Set[Int]]] {
  private[this] val paths = mutable.HashSet.empty[(UTF8String, Int)]

  override def isZero: Boolean = synchronized(paths.isEmpty)

  override def copy(): WrittenBuckets = {
    val other = new WrittenBuckets
    other.merge(this)
    other
  }

  override def reset(): Unit = synchronized(paths.clear())

  override def add(path: (UTF8String, Int)): Unit = synchronized { paths += path; () }

  override def merge(other: AccumulatorV2[(UTF8String, Int), Map[String, Set[Int]]]): Unit = synchronized {
    other.value.foreach { case (path, codes) => codes.foreach(code => paths += ((UTF8String.fromString(path), code))) }
  }

  override def value: Map[String, Set[Int]] =
    synchronized(paths.toSeq).groupBy(_._1.toString).map { case (path, found) => path -> found.map(_._2).toSet }

  private def writeObject(out: ObjectOutputStream): Unit = synchronized(out.defaultWriteObject())
}
