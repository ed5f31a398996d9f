package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.TableCommit
import io.merganser.spark.write.tag.BucketGroups
import io.merganser.table.commit.{CommitRequest, Transaction, Work, WriteBasis}
import io.merganser.table.options.IndexType
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{Action, OperationType}
import org.apache.spark.sql.merganser.Partitions

/**
 * Removes file groups that are those of no bucket and have no row: Hudi writes to no table in which two file groups
 * have the number of one bucket.
 */
private[service] object EmptiedGroups {

  /**
   * @param partition path of the one partition to look at; None: all
   * @return the commit that removed some, if there were any
   */
  def remove(scope: ServiceScope, index: IndexType.Bucket, partition: Option[String]): Option[String] = {
    import scope._
    if (extra(table, index, partition).isEmpty) None
    else ServiceStep(session, table, "remove empty file groups") {
      val options = Transaction.Options.of(settings).copy(opened = Some(table.timeline), transaction = None)
      Transaction.run(table.storage, table.config, Action.ReplaceCommit, options) { transaction =>
        val now = new OpenTable(table.storage, table.config, transaction.timeline)
        // What a compaction or a clustering has planned is its own.
        val busy  = now.timeline.groupsInCompaction.keySet ++ now.timeline.groupsInClustering.keySet
        val empty = withoutRows(scope.copy(table = now), extra(now, index, partition).filterNot(s => busy(s.group)))
        if (empty.isEmpty) Work[Option[String]](None, None)
        else {
          val metadata = TableCommit.metadata(OperationType.Cluster, now, now.schema, Nil, None,
            empty.groupBy(_.partitionPath).map { case (path, slices) => path -> slices.map(_.fileId) })
          Work[Option[String]](Some(transaction.instant),
            Some(CommitRequest(metadata, empty.map(_.group).toSet, WriteBasis())))
        }
      }
    }
  }

  private def extra(table: OpenTable, index: IndexType.Bucket, partition: Option[String]): Seq[FileSlice] = {
    val slices = partition.fold(table.view.slices)(table.view.slices(_)).toIndexedSeq
    val groups = BucketGroups(index, table, slices)
    slices.indices.filter(groups.isExtra).map(slices)
  }

  private def withoutRows(scope: ServiceScope, slices: Seq[FileSlice]): Seq[FileSlice] = {
    val reader = scope.table.reader(scope.settings.rule, MetaColumns.keySchema)
    Partitions.collect(scope.session.sparkContext.parallelize(slices, math.max(1, slices.size))) { it =>
      it.filter { slice =>
        val rows = reader.rows(slice)
        try !rows.hasNext
        finally rows.close()
      }
    }
  }
}
