package io.merganser.spark.read

/** File groups in the scans of a statement's target; of several scans the largest counts. Lives on the driver. */
final class ScanCounts {
  private var reads = 0
  private var total = 0

  /** @param all file groups of the table */
  def scanned(read: Int, all: Int): Unit = synchronized {
    reads = math.max(reads, read)
    total = math.max(total, all)
  }

  /** File groups that were read. */
  def read: Int = synchronized(reads)

  /** File groups that need not be read. */
  def pruned: Int = synchronized(total - reads)
}
