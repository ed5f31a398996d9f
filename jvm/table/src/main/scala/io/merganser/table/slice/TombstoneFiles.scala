package io.merganser.table.slice

import io.merganser.merge.OrderingField
import io.merganser.table.base.{BaseFileFooter, BaseFileWriter}
import io.merganser.table.file.BaseFile
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import org.apache.spark.sql.types.StructType

/**
 * The deletes in the base files that a write replaces and writes.
 *
 * @param storage of the files that are replaced
 * @param columns of the rows that are written
 * @param instant of the write
 * @param hours   for which deletes are retained
 */
private[slice] final class TombstoneFiles(
    storage: Storage,
    config: TableConfig,
    columns: StructType,
    instant: String,
    hours: Long
) extends Serializable {
  private val key = columns.fieldIndex(MetaColumns.RecordKey)

  private def ordering: Array[OrderingField] = config.orderingFields.flatMap(OrderingField.find(columns, _)).toArray

  /** @param moved those of other files whose rows are written */
  def collector(previous: Option[BaseFile], moved: Tombstones): TombstoneCollector = {
    val before = previous.fold(moved) { base =>
      val footer = BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)
      Tombstones.of(storage, base, footer, ordering)
    }
    new TombstoneCollector(before, ordering, key, instant)
  }

  def retained(collected: TombstoneCollector): Tombstones = collected.result.retainedAt(instant, hours)

  def write(tombstones: Tombstones, writer: BaseFileWriter): Unit =
    writer.append(BaseFileFooter.Tombstones, tombstones.encode(ordering.map(_.dataType)), tombstones.keys)
}
