package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.Expressions._
import io.merganser.spark.frame.EmptyTable
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.types._

/** Tables for changes: the columns of the events, those that order them, and the rule that the preset wants. */
object ChangeTables {
  private val Retained  = "merganser.tombstones.retained.hours"
  private val Payload   = "hoodie.datasource.write.payload.class"
  private val Index     = "hoodie.index.type"
  private val Partition = "hoodie.datasource.write.partitionpath.field"
  private val Ignores   = "org.apache.hudi.common.model.PartialUpdateAvroPayload"

  /** For how many hours a new table retains deletes. */
  private val RetainedHours = "48"

  /**
   * Creates an empty table with the columns and the rule that [[ApplyChanges]] needs.
   *
   * @param rows    events of which the columns are taken, or the columns
   * @param options settings of the table; partition columns among them
   * @throws MerganserException CHANGES_KEYS_UNKNOWN, CHANGES_COLUMN_MISSING, CHANGES_NEED_SEQUENCE, and those of a new
   *                            table
   */
  def create(
      session: SparkSession,
      path: String,
      rows: Either[DataFrame, StructType],
      spec: ChangeSpec,
      options: Map[String, String]
  ): Unit = {
    val partitions      = options.get(Partition).toSeq.flatMap(_.split(',')).map(_.takeWhile(_ != ':').trim)
    val (columns, keys) = rows.fold(columnsOf(_, spec.checked, partitions), _ -> spec.checked.keys)
    if (keys.isEmpty) throw MerganserException("CHANGES_KEYS_UNKNOWN")
    (keys ++ spec.sequenceBy).find(key => field(columns, top(key)).isEmpty).foreach { missing =>
      val found = columns.fieldNames
      throw MerganserException("CHANGES_COLUMN_MISSING", "column" -> missing,
        "columns" -> (if (found.isEmpty) "none: there is no event with a row" else found.mkString(", ")))
    }
    val preset   = spec.preset
    val first    = if (spec.sequenceBy.nonEmpty) preset.beforeSequence else preset.ordering
    val ordering = first.map(_.name) ++ spec.sequenceBy
    if (ordering.isEmpty) throw MerganserException("CHANGES_NEED_SEQUENCE", "preset" -> preset.name)
    val extra = (first ++ preset.stored.filterNot(column => spec.except.contains(column.name)))
      .filter(column => field(columns, column.name).isEmpty)
      .map(column => StructField(column.name, DataType.fromDDL(column.dataType)))
    val moves = partitions.exists(!keys.contains(_))
    val rule: Map[String, String] =
      if (spec.nulls.ignored(spec.dataColumns(columns, keys ++ ordering)).contains(true)) Map(Payload -> Ignores)
      else if (spec.sequenceBy.nonEmpty) Map.empty
      else preset.options
    val prescribed = rule ++ Map(
      "hoodie.datasource.write.recordkey.field" -> keys.mkString(","),
      "hoodie.table.ordering.fields" -> ordering.mkString(",")
    )
    prescribed.foreach { case (key, value) =>
      options.get(key).filter(_ != value).foreach(other =>
        throw MerganserException("OPTION_CONFLICT", "key" -> key, "value" -> other,
          "otherKey" -> "the preset and the arguments of the call", "otherValue" -> value))
    }
    // A key must be found in all partitions.
    val global: Map[String, String] =
      if (moves && !options.contains(Index)) Map(Index -> "GLOBAL_SIMPLE") else Map.empty
    val settings = prescribed ++ global ++ options
    createRetaining(session, path, StructType(columns ++ extra), settings, retains = !moves)
  }

  private def createRetaining(
      session: SparkSession,
      path: String,
      schema: StructType,
      settings: Map[String, String],
      retains: Boolean
  ): Unit =
    if (!retains || settings.contains(Retained)) EmptyTable.create(session, path, schema, settings)
    else
      try EmptyTable.create(session, path, schema, settings + (Retained -> RetainedHours))
      catch { // of a rule of its own, with which a table retains no deletes
        case e: MerganserException if e.condition == "TOMBSTONES_NEED_ORDERING" =>
          EmptyTable.create(session, path, schema, settings)
      }

  /** The columns of events, and their key. */
  private def columnsOf(rows: DataFrame, spec: ChangeSpec, partitions: Seq[String]): (StructType, Seq[String]) =
    new EventSource(rows, spec.preset, spec.keys, spec.sequenceBy).read { events =>
      val keys    = if (spec.keys.nonEmpty) spec.keys else events.keyFields
      val needed  = keys ++ partitions ++ spec.sequenceBy
      val known   = Known(new StructType, spec.types, spec.only.map(_ ++ needed), spec.except.filterNot(needed.toSet))
      val parsed  = events.parsed(known, keys)
      val columns = parsed.columns.map { case (column, value) => column -> value.target } ++ parsed.ofFrame
      StructType(columns.map { case (column, dataType) => StructField(column, dataType) }) -> keys
    }
}
