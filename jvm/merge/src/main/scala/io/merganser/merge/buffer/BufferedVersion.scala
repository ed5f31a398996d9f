// Hot path: one call per version.
package io.merganser.merge.buffer

import io.merganser.merge.{PackedCopy, Version}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Buffers one version, so that its reader can go on. The next version reuses its memory. */
private[buffer] final class BufferedVersion {
  private[this] val version = new Version
  private[this] val copied  = new PackedCopy

  /** A version with a row of its own, valid until the next call. */
  def copyOf(from: Version): Version = version.become(from, ownRow(from.row))

  private def ownRow(from: InternalRow): InternalRow = from match {
    case packed: UnsafeRow => copied.copyOf(packed)
    case other             => other.copy()
  }
}
