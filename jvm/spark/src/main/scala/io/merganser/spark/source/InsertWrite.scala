package io.merganser.spark.source

import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.read.SnapshotPinning
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{Replaced, WriteResult}
import io.merganser.table.options.WriteSource
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.sources.InsertableRelation

/**
 * Builds the write of an INSERT, with the rows that it replaces.
 *
 * @param options of this write only
 */
final class InsertBuilder(session: SparkSession, table: MerganserTable, options: Map[String, String])
    extends WriteBuilder with SupportsTruncate {
  private var replaced: Replaced = Replaced.Nothing

  override def truncate(): WriteBuilder = {
    replaced = table.overwrites.getOrElse(Replaced.All)
    this
  }

  override def build(): Write = new InsertWrite(session, table, options, replaced)
}

/** An INSERT with its target determined; [[run]] writes the rows. */
final class InsertWrite(session: SparkSession, table: MerganserTable, options: Map[String, String], replaced: Replaced)
    extends V1Write {

  /** @throws io.merganser.merge.MerganserException what [[FrameWrite.append]] and [[FrameWrite.overwrite]] throw */
  def run(frame: DataFrame): WriteResult = {
    val source =
      if (options.contains(MerganserTable.LackingColumns)) WriteSource.DataFrameWrite
      else WriteSource.SqlInsert
    val writeOptions  = table.options ++ options - MerganserTable.LackingColumns
    val storage       = table.opened.storage
    val lacking       = options.get(MerganserTable.LackingColumns).toSeq.flatMap(_.split(',')).filter(_.nonEmpty)
    val (all, readAt) = SnapshotPinning.pinned(session, frame, storage)
    val rows          = if (lacking.isEmpty) all else all.drop(lacking: _*)
    val opened        = OpenTable.load(storage)
    if (replaced == Replaced.Nothing) FrameWrite.append(session, opened, writeOptions, rows, source, readAt)
    else FrameWrite.overwrite(session, opened, writeOptions, rows, source, Some(replaced), readAt)
  }

  override def toInsertableRelation: InsertableRelation = (frame: DataFrame, _: Boolean) => {
    run(frame)
    ()
  }
}
