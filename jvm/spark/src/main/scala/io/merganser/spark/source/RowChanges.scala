package io.merganser.spark.source

import io.merganser.table.base.MetaColumns
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * MERGE, UPDATE and DELETE as Spark plans them: changed rows, each with the record key and partition path of the stored
 * one. They are written by [[io.merganser.spark.sql.WriteRowChanges]], which takes them to the same write as a frame.
 */
final class RowChanges(val table: MerganserTable, info: RowLevelOperationInfo) extends RowLevelOperation with SupportsDelta {

  override def command(): RowLevelOperation.Command = info.command()

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = table.newScanBuilder(options)

  override def rowId(): Array[NamedReference] =
    Array(Expressions.column(MetaColumns.RecordKey), Expressions.column(MetaColumns.PartitionPath))

  override def newWriteBuilder(write: LogicalWriteInfo): DeltaWriteBuilder = new DeltaWriteBuilder {
    override def build(): DeltaWrite = new DeltaWrite {
      override def description(): String = s"row changes of ${table.name()}"
      override def toBatch: DeltaBatchWrite =
        throw new IllegalStateException("row changes are planned by our own strategy: is spark.sql.extensions set?")
    }
  }
}
