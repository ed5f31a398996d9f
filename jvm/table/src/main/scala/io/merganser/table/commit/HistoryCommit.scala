package io.merganser.table.commit

import io.merganser.table.avro.AvroSchemas
import io.merganser.table.schema.{InternalSchema, InternalSchemaJson, MetaColumns, SchemaHistory}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadata, HistoryFiles, Timeline}
import org.apache.spark.sql.types.StructType

/**
 * The part of a commit that continues the versions of a table's columns (schema on read). As other engines do, every
 * write stores all versions again beside its commit, so that they outlive the archiving of older commits.
 */
private[table] object HistoryCommit {

  /**
   * Adds the newest version to the commit's metadata, and stores the versions, if the table has any. Call under the
   * lock, as the last step before the commit.
   *
   * @param now      the current timeline
   * @param metadata with a version of its own where the commit changes the columns
   */
  def prepare(
      storage: Storage,
      now: Timeline,
      instant: String,
      metadata: CommitMetadata
  ): CommitMetadata = (metadata.latestSchema, now.history) match {
    case (Some(json), known) =>
      val versions = known.getOrElse(SchemaHistory(Seq(InternalSchema.initial(columns(now.tableSchemaJson)))))
      store(storage, now, instant, versions.add(InternalSchemaJson.parse(json)))
      metadata
    case (None, Some(known)) if metadata.maySetSchema && metadata.schemaJson.isDefined =>
      // A column that another writer changed since this write began keeps the later version.
      val version = math.max(SchemaHistory.number(instant), known.newest.version)
      val newest  = known.newest.evolved(columns(metadata.schemaJson), version, isExact = false)
      store(storage, now, instant, known.add(newest))
      withVersion(metadata, newest)
    case (None, Some(known)) => withVersion(metadata, known.at(instant))
    case (None, None)        => metadata
  }

  private def withVersion(metadata: CommitMetadata, version: InternalSchema): CommitMetadata =
    metadata.copy(extra = metadata.extra + (CommitMetadata.LatestSchemaKey -> InternalSchemaJson.of(version)))

  private def columns(json: Option[String]): StructType =
    json.map(value => MetaColumns.without(AvroSchemas.toSpark(AvroSchemas.parse(value)))).getOrElse(new StructType)

  private def store(
      storage: Storage,
      now: Timeline,
      instant: String,
      history: SchemaHistory
  ): Unit = {
    val folder = HistoryFiles.Folder
    val known  = storage.list(folder).map(_.getPath.getName)
    if (known.isEmpty) storage.makeFolder(folder)
    val pending = now.pending.map(_.requested).toSet
    known.filter { name =>
      val other = HistoryFiles.instant(name)
      other.nonEmpty && other != instant && !pending(other) && !now.isCompleted(other)
    }.foreach(name => storage.delete(s"$folder/$name"))
    val file = s"$folder/$instant"
    storage.createNew(s"$file${HistoryFiles.Suffix}.requested", Array.emptyByteArray)
    storage.createNew(s"$file${HistoryFiles.Suffix}.inflight", Array.emptyByteArray)
    val completion = now.nextCompletion.fold("")("_" + _)
    storage.createNew(s"$file$completion${HistoryFiles.Suffix}",
      InternalSchemaJson.ofAll(history.versions).getBytes("UTF-8"))
  }
}
