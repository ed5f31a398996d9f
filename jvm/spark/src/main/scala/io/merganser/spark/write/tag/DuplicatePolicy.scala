package io.merganser.spark.write.tag

import io.merganser.merge.MerganserException
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.options.{StoredKeyPolicy, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions

/** What an insert does with stored keys: nothing, drop them, or fail; other writes drop deletes of keys not stored. */
private[write] final case class DuplicatePolicy(settings: WriteConfig, config: TableConfig, incoming: PreparedSchema) {

  def apply(tagged: RDD[InternalRow]): RDD[InternalRow] = {
    val (slice, unconditional, key) = (incoming.rows.length, incoming.unconditionalDeleteOrdinal, incoming.keyOrdinal)
    val table                       = config.name
    if (settings.operation == WriteOperation.Insert) settings.storedKeys match {
      case StoredKeyPolicy.Drop => Partitions.map(tagged)(_.filter(_.getInt(slice) < 0))
      case StoredKeyPolicy.Fail =>
        Partitions.map(tagged)(_.map { row =>
          if (row.getInt(slice) >= 0)
            throw MerganserException("DUPLICATE_KEY", "table" -> table, "key" -> row.getUTF8String(key))
          row
        })
      case _ => tagged
    }
    else Partitions.map(tagged)(_.filter(row => row.getInt(slice) >= 0 || !row.getBoolean(unconditional)))
  }
}
