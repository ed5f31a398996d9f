package io.merganser.table.log

import io.merganser.table.file.LogFile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import scala.annotation.nowarn

/** Receives the records of a slice's logs, oldest first. Arguments are reused: implementations copy what they keep. */
trait LogSink {

  /**
   * The records of another block follow.
   *
   * @param instant that wrote it
   */
  @nowarn("cat=unused-params")
  def block(log: LogFile, instant: String): Unit = ()

  /**
   * @param row      the requested columns
   * @param provided which of them a partial record provides; null for a full record
   * @param inserts  whether a partial record is inserted if its key is not stored
   */
  def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit

  /**
   * @param ordering the delete's ordering values as Catalyst values, in the order of the ordering fields; null if none
   */
  def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit
}

/**
 * Counts of a scan.
 *
 * @param corruptBlocks skipped because they are truncated or overwritten
 * @param bytes         size of the files
 * @param instants      of the blocks, oldest first
 */
final case class LogScanned(
    files: Int,
    blocks: Int,
    corruptBlocks: Int,
    records: Long,
    deletes: Long,
    bytes: Long,
    instants: Seq[String] = Nil
)

/**
 * The visible blocks of some logs.
 *
 * @param instants   that wrote them, oldest first
 * @param hasPartial whether one of them has partial records
 */
final case class LogBlocks(count: Int, instants: Seq[String], hasPartial: Boolean)
