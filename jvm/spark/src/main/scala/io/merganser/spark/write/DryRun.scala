package io.merganser.spark.write

import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.merge.WrittenGroup
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.explain.ValueJson
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, PreviewedRow}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StructType

import java.util.Collections
import java.util.WeakHashMap

/**
 * What a write that was not committed would have done to rows.
 *
 * @param merged        counts as readers would see the rows, also of what goes to logs
 * @param rows          some of the rows
 * @param filesReplaced base and log files of file groups that an overwrite replaces
 * @param rowsReplaced  rows in them
 * @param partitions    that files would be written to, or whose file groups would be replaced
 */
final case class DryRun(
    merged: MergeCounts,
    rows: Seq[PreviewedRow],
    filesReplaced: Int,
    rowsReplaced: Long,
    partitions: Seq[String]
)

object DryRun {

  /** @param most rows to show */
  private[write] def of(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      written: Seq[WrittenGroup],
      replacedFileIds: Map[String, Seq[String]],
      most: Int
  ): DryRun = {
    val slices = replacedFileIds.toSeq.flatMap { case (path, ids) =>
      table.view.slicesOfAny(Seq(path)).filter(slice => ids.contains(slice.fileId))
    }
    val replaced = if (slices.isEmpty) Nil else rowsOf(session, table, settings, slices, most)
    DryRun(
      MergeCounts.sum(written.flatMap(_.preview).map(_.counts)),
      chosen(shown(table, settings, written.flatMap(_.preview).flatMap(_.rows)) ++ replaced.flatMap(_._2), most),
      slices.map(slice => slice.base.size + slice.logs.size).sum,
      replaced.map(_._1).sum,
      (written.flatMap(_.stats).map(_.partitionPath) ++ replacedFileIds.keys).distinct.sorted
    )
  }

  /** Under a global index a row that leaves one partition for another is one row. */
  private def shown(table: OpenTable, settings: WriteConfig, rows: Seq[PreviewedRow]): Seq[PreviewedRow] =
    if (IndexResolver.globalKeys(settings.index, table.config).isEmpty) rows
    else
      rows.groupBy(_.key).values.flatMap { ofKey =>
        (ofKey.filter(_.outcome == "deleted"), ofKey.filter(_.outcome == "inserted")) match {
          case (Seq(from), Seq(to)) if from.partitionPath != to.partitionPath =>
            val reason = s"the row moves from partition '${from.partitionPath}' to '${to.partitionPath}'"
            to.copy(outcome = "updated", before = from.before, reason = reason) +: ofKey.diff(Seq(from, to))
          case _ => ofKey
        }
      }.toSeq

  /** Of each outcome about as many, in the order of partition and key. */
  private def chosen(rows: Seq[PreviewedRow], most: Int): Seq[PreviewedRow] = {
    val sorted = rows.sortBy(row => (row.partitionPath, row.key))
    val ranked = sorted.groupBy(_.outcome).values.flatMap(_.zipWithIndex).toSeq
    ranked.sortBy { case (row, rank) => (rank, row.outcome) }.take(most).map(_._1)
      .sortBy(row => (row.partitionPath, row.key, row.outcome))
  }

  /** The number of rows of each slice, and some of them. */
  private def rowsOf(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      slices: Seq[FileSlice],
      most: Int
  ): Seq[(Long, Seq[PreviewedRow])] = {
    val columns = table.schema
    val reader  = table.reader(settings.rule, StructType(columns :+ MetaColumns.schema(MetaColumns.RecordKey)))
    val shown   = new ValueJson(session.sessionState.conf.sessionLocalTimeZone)
    Partitions.collect(session.sparkContext.parallelize(slices, slices.size)) { it =>
      it.map { slice =>
        val open = reader.sortedRows(slice, null)
        try {
          val first = open.take(most).map { row =>
            PreviewedRow(slice.partitionPath, row.getUTF8String(columns.length).toString, "replaced",
              "the write replaces the file group of the row", None, Some(shown.row(row, columns, columns.indices)),
              None)
          }.toList
          (first.size + open.size.toLong, first)
        } finally open.close()
      }
    }
  }
}

/** The last dry run of each session, for those that return nothing, such as data frames' writes. */
object DryRuns {
  private val known = Collections.synchronizedMap(new WeakHashMap[SparkSession, WriteResult])

  private[write] def keep(session: SparkSession, result: WriteResult): Unit = { known.put(session, result); () }

  def last(session: SparkSession): Option[WriteResult] = Option(known.get(session))
}
