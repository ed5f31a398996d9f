package io.merganser.spark.read

import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.connector.catalog.Table

/** A table of ours in a plan, as far as it decides which snapshot is read. */
trait SnapshotTable extends Table {

  /** The snapshot that scans of it read. */
  def opened: OpenTable

  /** Counts of its scans, where it is the target of a statement. */
  def watched: Option[ScanCounts]

  /** False where it is read as of an instant that the user named. */
  def isCurrent: Boolean

  /** The same table, read as of that snapshot. */
  def pinnedTo(opened: OpenTable): SnapshotTable
}
