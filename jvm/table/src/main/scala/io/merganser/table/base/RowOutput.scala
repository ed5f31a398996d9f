package io.merganser.table.base

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes the rows of a file, in order. Where the file replaces another, each row of that one is passed once, in its
 * order: to [[keep]] or [[keepKey]], to [[replace]] or to [[drop]]. Rows are not retained, so they may be reused.
 */
private[table] trait RowOutput {

  /** The keys of the rows so far. */
  def keys: KeyTracker

  /** True if the next row of the replaced file may be passed by its key alone. */
  def keepsByKey: Boolean

  /** @param row of the replaced file, as the new file has it */
  def keep(row: InternalRow): Unit

  /** @param key of a row that the new file has as the replaced file does, except for the name of the file */
  def keepKey(key: UTF8String): Unit

  /** The next row that is written replaces this one. @param row as [[keep]] would have it */
  def replace(row: InternalRow): Unit

  /** The new file does not have the next row of the replaced file. */
  def drop(): Unit

  /** @param row a new row, or what replaces one */
  def write(row: InternalRow): Unit

  /** Bytes so far: written ones, and buffered ones before compression. */
  def estimatedBytes: Long

  /** Completes the file. */
  def close(): Unit

  /** Closes the file, complete or not. */
  def abort(): Unit
}
