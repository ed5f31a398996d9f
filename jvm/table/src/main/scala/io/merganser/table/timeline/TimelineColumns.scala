package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.PropertiesFile
import io.merganser.table.schema.{MetaColumns, SchemaHistory}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/** The columns of a table, by the commits of its timeline. */
private[timeline] trait TimelineColumns { this: Timeline =>

  /** The instant of the commit whose schema is the table's. */
  private[table] def schemaInstant: Option[Instant] = schemaCommit.map(_._1)

  /** The newest write that may change the schema and has one in its metadata. */
  private lazy val schemaCommit: Option[(Instant, CommitMetadata)] =
    byCompletion.reverseIterator.map(i => i -> metadata(i)).find { case (_, m) =>
      m.maySetSchema && m.schemaJson.isDefined
    }

  /**
   * Avro JSON of the table's schema, without meta columns: of the newest commit that may change it, else the one with
   * which the table was created. None for a table without either; its data files then have the schema.
   */
  def tableSchemaJson: Option[String] = schemaCommit.flatMap(_._2.schemaJson).orElse(config.createSchema)

  /**
   * The table's columns without meta columns, by [[tableSchemaJson]].
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE or TABLE_PROPERTIES_INVALID if the schema of
   *                                               that file cannot be parsed; UNSUPPORTED_TYPE
   */
  def tableColumns: Option[StructType] = tableSchemaJson.map { json =>
    val schema =
      try {
        val parsed = AvroSchemas.parse(json)
        parsed.getFields // fails if it is no record
        parsed
      } catch { case NonFatal(e) => throw unreadableSchema(e).causedBy(e) }
    MetaColumns.without(AvroSchemas.toSpark(schema))
  }

  private def unreadableSchema(cause: Throwable): MerganserException = {
    val reason = s"its schema is not an Avro schema of a record (${cause.getMessage})"
    schemaCommit.fold(MerganserException("TABLE_PROPERTIES_INVALID", "file" -> storage.path(PropertiesFile.Name),
        "reason" -> reason)) { case (instant, _) =>
      files.unreadable(files.named(instant, InstantState.Completed).getOrElse(instant.toString), reason)
    }
  }

  /**
   * Columns that were added after the table was created: earlier writers do not have them. They are determined by the
   * schema of the table's creation, if it is stored; else by the list in our commits; without one, by the oldest commit
   * on the timeline. All commits are searched for a list only where some were archived: else the oldest is the first.
   */
  lazy val addedColumns: Set[String] = {
    val now = fields(tableSchemaJson)
    def since(metadata: CommitMetadata) =
      now.filterNot(fields(metadata.schemaJson)) ++ metadata.extra.get(TimelineColumns.AddedKey).toSeq.flatMap(
        _.split(','))
    def oldest = metadataOf(byCompletion.iterator, most = 1).map(_._2).find(m =>
      m.maySetSchema && m.schemaJson.isDefined)
    def searched = if (isWhole) newestFirst().take(Timeline.OneByOne) else newestFirst()
    def listed   = searched.find(m => m.extra.contains(TimelineColumns.AddedKey) && m.schemaJson.isDefined)
    val added =
      if (config.createSchema.isDefined) now -- fields(config.createSchema)
      else listed.orElse(oldest).fold(Set.empty[String])(since(_).toSet)
    added.intersect(now)
  }

  /** Extra metadata for a commit that preserves [[addedColumns]] when older commits are archived. */
  def listAdded(columns: StructType): Map[String, String] =
    if (config.createSchema.isDefined) Map.empty
    else {
      val before = fields(tableSchemaJson)
      Map(
        TimelineColumns.AddedKey ->
          columns.fieldNames.filter(n => before.nonEmpty && (addedColumns(n) || !before(n))).mkString(","))
    }

  private def fields(json: Option[String]): Set[String] =
    json.toSeq.flatMap(AvroSchemas.parse(_).getFields.asScala.map(_.name)).filterNot(MetaColumns.isMeta).toSet

  /** Requested time of the commit of the schema, if it refers to a history of the columns (schema on read). */
  private[table] def latestSchema: Option[String] = schemaCommit.filter(_._2.latestSchema.isDefined).map(_._1.requested)

  /** The history of an earlier timeline, with the writes that it had. */
  private var knownHistory: Option[(Set[Instant], Option[SchemaHistory])] = None

  @volatile private var isHistoryKnown = false

  /**
   * The versions of the table's columns (schema on read), if it has any. Lists their folder, unless an earlier timeline
   * did and no commit has changed them since.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  lazy val history: Option[SchemaHistory] = {
    val found = complete match {
      case Some(all) => all.history.map(whole => limit.fold(whole)(whole.asOf))
      case None =>
        val (here, from) = (completed.toSet, start)
        val known = knownHistory.filter { case (seen, _) =>
          // A restore may have taken back writes that it had.
          seen.forall(i => here(i) || from.exists(i.requested < _)) &&
          completed.forall(i => seen(i) || metadata(i).latestSchema.isEmpty)
        }
        known.fold(HistoryFiles.load(storage, isCompleted(_)))(_._2)
    }
    isHistoryKnown = true
    found
  }

  private[timeline] def reuseHistory(earlier: Timeline): Unit = knownHistory = earlier.readHistory

  /** The history as far as it was read, with the writes that the timeline had. */
  private[timeline] def readHistory: Option[(Set[Instant], Option[SchemaHistory])] =
    if (isHistoryKnown) Some(completed.toSet -> history) else knownHistory
}

private object TimelineColumns {

  /** Key in the extra metadata of our commits: columns that were added after the table was created. */
  val AddedKey = "merganser.columns.added"
}
