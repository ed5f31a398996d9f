// Hot path: one call per column of a merged version.
package io.merganser.merge.columns

import io.merganser.merge.RowAccess
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.unsafe.types.UTF8String

/** The columns of the older version, then those of the newer one. */
private[columns] final class BothVersions extends JoinedRow {
  private[this] var older: InternalRow = _
  private[this] var width              = 0

  var newer: InternalRow = _

  /**
   * A reference is written only where it changes: the collector looks at every write, and readers reuse their rows.
   *
   * @param width number of columns of the older version
   */
  def set(older: InternalRow, newer: InternalRow, width: Int): Unit = {
    if ((this.older ne older) || (this.newer ne newer)) {
      this.older = older
      this.newer = newer
      apply(older, newer)
    }
    this.width = width
  }

  override def isNullAt(i: Int): Boolean =
    if (i < width) RowAccess.isNullAt(older, i) else RowAccess.isNullAt(newer, i - width)

  override def getBoolean(i: Int): Boolean =
    if (i < width) RowAccess.getBoolean(older, i) else RowAccess.getBoolean(newer, i - width)

  override def getInt(i: Int): Int = if (i < width) older.getInt(i) else newer.getInt(i - width)

  override def getLong(i: Int): Long =
    if (i < width) RowAccess.getLong(older, i) else RowAccess.getLong(newer, i - width)

  override def getDouble(i: Int): Double = if (i < width) older.getDouble(i) else newer.getDouble(i - width)

  override def getUTF8String(i: Int): UTF8String =
    if (i < width) older.getUTF8String(i) else newer.getUTF8String(i - width)
}
