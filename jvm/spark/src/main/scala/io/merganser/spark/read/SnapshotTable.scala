package io.merganser.spark.read

import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.connector.catalog.Table

/** A Merganser table in a plan, and the snapshot that is read of it. */
trait SnapshotTable extends Table {

  /** The snapshot that scans of it read. */
  def opened: OpenTable

  /** Counts of its scans, if it is the target of a statement. */
  def scanCounts: Option[ScanCounts]

  /** False if it is read as of an explicit instant. */
  def isCurrent: Boolean

  /** The same table, read as of that snapshot. */
  def pinnedTo(opened: OpenTable): SnapshotTable
}
