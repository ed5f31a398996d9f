package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{FrameCheck, MetaColumns, SchemaEvolution}
import org.apache.spark.sql.types.StructType

/** The schema of a commit if other writers changed the table's columns since it began. */
private[table] object CommitSchema {

  /**
   * Adds columns that others added and types that they widened to the metadata's schema: the newest commit's schema is
   * the table's, and files without them are read as if they had them.
   *
   * @return the metadata, or the reason why the write cannot be committed
   */
  def merged(
      config: TableConfig,
      began: Timeline,
      now: Timeline,
      metadata: CommitMetadata
  ): Either[String, CommitMetadata] =
    metadata.schemaJson.filter(_ => metadata.maySetSchema && now.tableSchemaJson != began.tableSchemaJson) match {
      case None => Right(metadata)
      case Some(ours) =>
        val (own, theirs, before) = (columns(Some(ours)), columns(now.tableSchemaJson), columns(began.tableSchemaJson))
        try {
          // Columns that were only widened or added include all previous ones.
          if (metadata.latestSchema.isDefined)
            Left("another writer changed the table's columns since this change began")
          else if (!includes(config.name, theirs, before))
            Left("another writer replaced the table's columns since the write began")
          else {
            // A column becomes a string only if this write widened it to string itself.
            val toString = SchemaEvolution.changes(before, own).widened.exists(_.endsWith("-> string"))
            val all      = FrameCheck.withNullsOf(own, SchemaEvolution.ofWrite(config, theirs, own, toString))
            SchemaEvolution.requireStable(config, theirs, all)
            val added = metadata.extra.get(Timeline.AddedKey).map { names =>
              Timeline.AddedKey -> all.fieldNames.filter((now.addedColumns ++ names.split(',')).contains).mkString(",")
            }
            Right(metadata.copy(extra = metadata.extra ++ added + ("schema" -> AvroSchemas.toAvro(all, config.name)
                .toString)))
          }
        } catch {
          case e: MerganserException
              if e.condition == "SCHEMA_CONFLICT" || e.condition == "COLUMN_WOULD_BECOME_STRING" =>
            Left(
              s"another writer changed the table's columns since the write began, incompatibly: ${e.getMessage}")
        }
    }

  private def includes(name: String, columns: StructType, others: StructType): Boolean =
    SchemaEvolution.evolved(name, columns, others, widensToString = true) == columns

  private def columns(json: Option[String]): StructType =
    json.map(value => MetaColumns.without(AvroSchemas.toSpark(AvroSchemas.parse(value)))).getOrElse(new StructType)
}
