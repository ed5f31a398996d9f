package io.merganser.spark.write

import io.merganser.spark.write.place._
import io.merganser.spark.write.tag.{StoredKeys, Tagging}
import io.merganser.table.file.FileNames
import io.merganser.table.index.BucketIndex
import io.merganser.table.options.IndexType
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, SliceWritten}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.AccumulatorV2

import java.io.ObjectOutputStream

import scala.collection.mutable

/** The write with the BUCKET index: a hash of the key is the file group. */
private[write] final case class WriteByBucket(tasks: WriteTasks) {
  import tasks._

  def write(rows: DataFrame, slices: WriteSlices, index: IndexType.Bucket): Seq[SliceWritten] = {
    val buckets =
      index.buckets.getOrElse(throw new IllegalStateException("an index whose number of buckets was not resolved"))
    val (source, columns) = tagged(rows, slices)
    val isPartitioned     = config.partitionFields.nonEmpty
    val most              = session.sessionState.conf.numShufflePartitions
    // How many partitions the rows have is known after the shuffle, which leaves out tasks without rows.
    val tasks = math.max(1, if (isPartitioned) most else math.min(buckets, most))
    val paths = new PartitionPaths
    session.sparkContext.register(paths)
    val shuffle  = shuffled(placed(source, index.hashFields, buckets, tasks, paths), columns, tasks)
    val written  = shuffle.run()
    val existing = session.sparkContext.broadcast(byBucket(slices.of(paths.value)))
    val instant  = transaction.instant
    val isLogged = config.isMergeOnRead
    writeGroups(written, columns, Seq(MetaColumns.PartitionPath, WriteTasks.Group)) { (path: UTF8String, bucket: Int) =>
      existing.value.get((path, bucket)) match {
        case Some(slice) => FileGroupTarget(slice.partitionPath, slice.fileId, Some(slice), isLogged)
        case None =>
          FileGroupTarget(path.toString, FileNames.bucketFileId(bucket, instant, path.toString), None, isLog = false,
            isBucket = true)
      }
    }
  }

  /** The rows and their columns; with the slices of their keys only where a policy needs them. */
  private def tagged(rows: DataFrame, slices: WriteSlices): (RDD[InternalRow], StructType) =
    if (incoming.isTagged) (rows.queryExecution.toRdd, incoming.tagged)
    else if (needsLiveKeys) {
      val batch = Tagging.byKey(session, rows, ShuffleTasks.forRows(session, rows, settings.shuffleTasks))
      (tasks.tagged(batch, slices, StoredKeys.Live(keyReader), session.sparkContext.longAccumulator),
        incoming.tagged)
    } else (rows.queryExecution.toRdd, incoming.rows)

  private def placed(
      rows: RDD[InternalRow],
      hashFields: Seq[String],
      buckets: Int,
      tasks: Int,
      paths: PartitionPaths
  ): RDD[InternalRow] = {
    val salts            = DirectPartitions.salts(tasks)
    val (key, partition) = (incoming.keyOrdinal, incoming.partitionOrdinal)
    rows.mapPartitions { it =>
      val extra  = new GenericInternalRow(2)
      val joined = new JoinedRow
      it.map { row =>
        val path   = row.getUTF8String(partition)
        val bucket = BucketIndex.bucket(row.getUTF8String(key), hashFields, buckets)
        paths.add(path)
        extra.update(0, bucket)
        extra.update(1, salts(((path.hashCode & Int.MaxValue) + bucket.toLong).%(tasks).toInt))
        joined(row, extra)
      }
    }
  }

  /** Slices by partition path and bucket. */
  private def byBucket(slices: Seq[FileSlice]): Map[(UTF8String, Int), FileSlice] =
    slices.flatMap(s => FileNames.bucketOf(s.fileId).map(b => (UTF8String.fromString(s.partitionPath), b) -> s)).toMap
}

/** The partition paths of rows. Synchronized, as Spark reads the values of running tasks. */
private final class PartitionPaths extends AccumulatorV2[UTF8String, Set[String]] {
  private[this] val paths            = mutable.HashSet.empty[UTF8String]
  private[this] var last: UTF8String = _

  override def isZero: Boolean = synchronized(paths.isEmpty)

  override def copy(): PartitionPaths = {
    val other = new PartitionPaths
    other.merge(this)
    other
  }

  override def reset(): Unit = synchronized {
    paths.clear()
    last = null
  }

  override def add(path: UTF8String): Unit =
    if (path != last) {
      last = path.copy()
      synchronized(paths += last)
      ()
    }

  override def merge(other: AccumulatorV2[UTF8String, Set[String]]): Unit =
    synchronized { paths ++= other.value.map(UTF8String.fromString) }

  override def value: Set[String] = synchronized(paths.iterator.map(_.toString).toSet)

  private def writeObject(out: ObjectOutputStream): Unit = synchronized(out.defaultWriteObject())
}
