package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{FrameCheck, SchemaEvolution}
import org.apache.spark.sql.types.StructType

/** The columns that a commit leaves the table with, where other writers changed them since it began. */
private[table] object CommitSchema {

  /**
   * The metadata with columns that others added and types that they widened: files that lack them are read as if they had
   * them, but the newest commit's schema is the table's.
   *
   * @return or why the write cannot be committed
   */
  def joined(
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
          // What only widens and adds holds whatever there was before.
          if (!holds(config.name, theirs, before))
            Left("another writer replaced the table's columns since the write began")
          else {
            // What this write was not to make a string of must not become one because of another write.
            val toString = SchemaEvolution.changes(before, own).widened.exists(_.endsWith("-> string"))
            val all      = FrameCheck.withNullsOf(own, SchemaEvolution.evolved(config.name, theirs, own, toString))
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
              s"another writer changed the table's columns since the write began, and both do not go together: ${e.getMessage}")
        }
    }

  private def holds(name: String, columns: StructType, others: StructType): Boolean =
    SchemaEvolution.evolved(name, columns, others, widensToString = true) == columns

  private def columns(json: Option[String]): StructType =
    json.map(text => AvroSchemas.toSpark(AvroSchemas.parse(text))).getOrElse(new StructType)
}
