package io.merganser.spark.service

import io.merganser.table.file.FileNames
import io.merganser.table.slice._
import io.merganser.table.timeline.ClusteringGroup
import org.apache.spark.rdd.UnionRDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions

/**
 * Writes the rows of the file slices of a clustering to new file groups.
 *
 * @param groups of the plan, with their slices
 * @param writer of the instant that the clustering has
 * @param run    number of this run of the plan
 */
private[service] final class ClusteredFiles(
    session: SparkSession,
    groups: Seq[(ClusteringGroup, Seq[FileSlice])],
    reader: SliceReader,
    writer: SliceWriter,
    run: Int
) {

  /** In the order of their files. */
  def joined(): Seq[WrittenFile] = {
    val shares = groups.flatMap { case (group, slices) =>
      ClusteredRows.shares(slices, group.outputGroups).map(group.partitionPath -> _)
    }
    val (reader, writer, run) = (this.reader, this.writer, this.run)
    Partitions.collect(session.sparkContext.parallelize(shares, math.max(1, shares.size))) { it =>
      TaskFiles.write(writer, run) { token =>
        it.flatMap { case (partitionPath, slices) =>
          val fileId = FileNames.fileIdOf(writer.instant, partitionPath, token.partitionId)
          writer.join(partitionPath, fileId, slices, reader, token)
        }
      }
    }
  }

  /**
   * In the order of the clustering.
   *
   * @param updatesCommitMetadata true if the rows get the commit metadata columns of the instant
   */
  def sorted(clustered: ClusteredRows, updatesCommitMetadata: Boolean): Seq[WrittenFile] = {
    val (reader, writer, run) = (this.reader, this.writer, this.run)
    val rows                  = groups.map { case (group, slices) => clustered.of(slices, group.outputGroups) }
    val partitionOf = groups.zip(rows).flatMap { case ((g, _), r) => Seq.fill(r.getNumPartitions)(g.partitionPath) }
      .toArray
    // The first task of a group has the deletes that its slices retain.
    val firstOf =
      if (writer.config.tombstoneHours.isEmpty) Map.empty[Int, Seq[FileSlice]]
      else rows.map(_.getNumPartitions).scanLeft(0)(_ + _).zip(groups.map(_._2)).toMap
    val moved = (number: Int) => firstOf.get(number).fold(Tombstones.none)(reader.retainedDeletes)
    // In the order of the groups, with all their partitions.
    Partitions.collect[InternalRow, WrittenFile](new UnionRDD(session.sparkContext, rows)) { it =>
      TaskFiles.write(writer, run) { token =>
        val partitionPath = partitionOf(token.partitionId)
        writer.rewrite(partitionPath, FileNames.fileIdOf(writer.instant, partitionPath, token.partitionId), it,
          updatesCommitMetadata, token, moved(token.partitionId)).iterator
      }
    }
  }
}
