package io.merganser.table.log

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Takes what a slice's log files hold, oldest first. Whatever it is given is reused: it copies what it keeps. */
trait LogSink {

  /**
   * @param row      the columns that were asked for
   * @param provided which of them the record carries; null if it carries all that its schema has
   * @param inserts  whether a record that carries some columns is a row of its own where its key is not stored
   */
  def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit

  /**
   * @param ordering the delete's ordering values as Catalyst has them, in the order of the ordering fields; null if it
   *                 has none
   */
  def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit
}

/**
 * What a scan went through.
 *
 * @param corruptBlocks stepped over because they are cut short or overwritten
 * @param bytes         size of the files
 */
final case class LogScanned(files: Int, blocks: Int, corruptBlocks: Int, records: Long, deletes: Long, bytes: Long)
