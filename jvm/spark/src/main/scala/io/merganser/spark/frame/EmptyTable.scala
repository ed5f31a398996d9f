package io.merganser.spark.frame

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.Creation
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** Creates tables without rows. */
private[spark] object EmptyTable {

  /** @throws io.merganser.merge.MerganserException TABLE_EXISTS, and the errors of invalid options */
  def create(session: SparkSession, path: String, schema: StructType, options: Map[String, String]): Unit = {
    val storage = OpenTable.storage(session, path)
    val stored  = AvroSchemas.stored(FrameCheck.ofNewTable(MetaColumns.ofUser(schema)))
    val name    = options.getOrElse("hoodie.table.name", storage.basePath.getName)
    Creation.create(storage,
      NewTable.properties(
        options,
        stored,
        storage.basePath.getName,
        sessionConf = FrameWrite.sessionConf(session),
        createSchema = Some(AvroSchemas.toAvro(stored, name).toString)
      ))
    ()
  }
}
