package io.merganser.spark.change

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.GroupChange
import io.merganser.table.settings.{ChangeForm, ReadConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownFilters, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util

/**
 * The changes of a table in a window of its commits, as a table that can be read only.
 *
 * @param changes of each commit and file group whose rows may satisfy filters; found when the read is planned
 * @param stream  some columns as a stream, by the folder of its checkpoint; filters may rule out changes
 */
final class ChangeDataTable(
    session: SparkSession,
    table: OpenTable,
    read: ReadConfig,
    form: ChangeForm,
    changes: Seq[Filter] => Seq[GroupChange],
    stream: Option[(StructType, Array[Filter]) => String => MicroBatchStream]
) extends Table with SupportsRead {

  private lazy val changeColumns = ChangeColumns.of(form, table.schema)

  override def name(): String = s"changes of ${table.config.name}"

  override def schema(): StructType = changeColumns

  override def capabilities(): util.Set[TableCapability] =
    if (stream.isEmpty) util.EnumSet.of(TableCapability.BATCH_READ)
    else util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder with SupportsPushDownRequiredColumns with SupportsPushDownFilters {
      private var requested = changeColumns
      private var filters   = Array.empty[Filter]

      override def pruneColumns(required: StructType): Unit = requested = StructType(required.map(pruned))

      /** Every filter is applied again above the scan. */
      override def pushFilters(pushed: Array[Filter]): Array[Filter] = {
        filters = pushed
        pushed
      }

      override def pushedFilters(): Array[Filter] = filters

      override def build(): Scan = {
        val onRows = ImageFilters.ofRows(filters.toSeq)
        new ChangeScan(session, table, read, form, requested, onRows, () => changes(onRows),
          stream.map(_(requested, filters)))
      }
    }

  /** Images may lack columns, but have no parts of columns. */
  private def pruned(field: StructField): StructField = (changeColumns(field.name), field.dataType) match {
    case (StructField(name, all: StructType, nullable, metadata), some: StructType) =>
      StructField(name, StructType(some.map(column => all(column.name))), nullable, metadata)
    case (whole, _) => whole
  }
}
