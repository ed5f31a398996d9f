package io.merganser.spark.write

import io.merganser.spark.write.place._
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.spark.write.tag.{StoredKeys, Tagging}
import io.merganser.table.file.FileNames
import io.merganser.table.index.BucketIndex
import io.merganser.table.options.IndexType
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, SliceWritten}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.unsafe.types.UTF8String

/** The write with the BUCKET index: a hash of the key is the file group. */
private[write] final case class WriteByBucket(tasks: WriteTasks) {
  import tasks.{session, incoming, transaction, config, run, needsLiveKeys, keyReader, tagged}

  def write(rows: DataFrame, slices: IndexedSeq[FileSlice], index: IndexType.Bucket): Seq[SliceWritten] = {
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
}
