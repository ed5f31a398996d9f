package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/**
 * A row as it is stored.
 *
 * @param schema its record key, then some of the table's columns
 */
private[place] final case class StoredRow(row: InternalRow, schema: StructType) {
  def key: String = row.getString(0)
}

private[place] object StoredRow {

  /**
   * One row of a slice, after its logs are merged; None if it has none.
   *
   * @param fields whose columns it has
   */
  def of(settings: WriteConfig, table: OpenTable, slice: FileSlice, fields: Seq[String]): Option[StoredRow] = {
    val names   = fields.map(_.takeWhile(_ != '.'))
    val columns = StructType(table.schema.filter(f => names.contains(f.name)))
    val reader  = table.reader(settings.rule, StructType(MetaColumns.schema(MetaColumns.RecordKey) +: columns))
    val rows    = reader.rows(slice)
    try if (rows.hasNext) Some(StoredRow(rows.next().copy(), reader.input.schema)) else None
    finally rows.close()
  }
}
