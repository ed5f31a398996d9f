package io.merganser.table.slice

import io.merganser.merge.Version
import io.merganser.table.file.LogFile
import io.merganser.table.log.{LogBlocks, LogSink}
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Reads the versions in the logs of file slices, and their keys. */
final class SliceVersions(input: SliceInput) extends Serializable {
  import input._

  private lazy val keyColumns =
    new DerivedColumns(table.config, StructType(schema.filter(_.name == MetaColumns.RecordKey)), table.rowKey)

  /** The versions in the slice's logs, merged as far as the rule allows without the stored rows. */
  def logVersions(slice: FileSlice): OpenLogMerge = {
    val buffer  = newBuffer(slice)
    val scanned = scan(slice, buffer.add)
    new OpenLogMerge(buffer.emitted(), layout, scanned.instants, buffer)
  }

  /** Passes the versions in the slice's logs one by one, oldest first; none is merged with another. */
  def eachVersion(slice: FileSlice)(receiver: VersionReceiver): Unit = missingNamed(slice) {
    requireOwnRule(slice)
    val sink = new VersionSink(layout) {
      override def block(log: LogFile, instant: String): Unit = receiver.block(log, instant)
      override protected def add(version: Version): Unit      = receiver.add(version)
    }
    scanner.scan(slice.logs, mergeColumns.stored, mergeColumns.sink(slice.partitionPath, sink))
    ()
  }

  /** Passes the key of each record of the slice's logs, as often as it is there; the key is reused. */
  def logKeys(slice: FileSlice)(add: UTF8String => Unit): Unit = missingNamed(slice) {
    val sink = new LogSink {
      override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit = add(row.getUTF8String(0))
      override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = add(key)
    }
    scanner.scan(slice.logs, keyColumns.stored, keyColumns.sink(slice.partitionPath, sink))
    ()
  }

  /** The visible blocks of the slice's logs. */
  def logBlocks(slice: FileSlice): LogBlocks = missingNamed(slice)(scanner.blocks(slice.logs))
}
