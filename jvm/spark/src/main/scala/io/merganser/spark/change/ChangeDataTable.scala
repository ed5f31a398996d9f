package io.merganser.spark.change

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.GroupChange
import io.merganser.table.settings.{ChangeForm, ReadConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util

/**
 * The changes of a table in a window of its commits, as a table that can be read only.
 *
 * @param changes of each commit and file group; found when the read is planned
 * @param stream  the same columns as a stream, by the folder of its checkpoint
 */
final class ChangeDataTable(
    session: SparkSession,
    table: OpenTable,
    read: ReadConfig,
    form: ChangeForm,
    changes: () => Seq[GroupChange],
    stream: Option[StructType => String => MicroBatchStream]
) extends Table with SupportsRead {

  override def name(): String = s"changes of ${table.config.name}"

  override def schema(): StructType = ChangeColumns.of(form, table.schema)

  override def capabilities(): util.Set[TableCapability] = 
    if (stream.isEmpty) util.EnumSet.of(TableCapability.BATCH_READ)
    else util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder with SupportsPushDownRequiredColumns {
      private var requested = schema()

      /** Images are compared as a whole, so they are read as a whole. */
      override def pruneColumns(required: StructType): Unit =
        requested = StructType(required.map(field => schema()(field.name)))

      override def build(): Scan = 
        new ChangeScan(session, table, read, form, requested, changes, stream.map(_(requested)))
    }
}
