package io.merganser.spark.frame

import io.merganser.merge.MerganserException
import io.merganser.merge.buffer.{SortedMerge, VersionCursor}
import io.merganser.spark.write.prepare.{Preparation, PreparedSchema, RowChecks}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.options.{MissingColumns, Options}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, RuleLaws}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.{NewTable, WriteConfig}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.types.StructType

/**
 * Merges the rows of frames by the rule that a table with the same options would have; there is no table.
 *
 * @param stored   the rows that the changes are merged with, with their record key; None merges the changes alone
 * @param changes  one or more versions of a row, in the order of their arrival
 * @param incoming columns of both
 * @param output   columns of the result
 */
final case class FrameMerge(
    stored: Option[DataFrame],
    changes: DataFrame,
    incoming: PreparedSchema,
    compiled: CompiledRule,
    output: StructType
)

object FrameMerge {

  /** What messages call the table that there is not. */
  private val Name = "data frames"

  /**
   * @param options those of a write that creates a table: key columns, ordering fields, merge mode, payload class
   * @throws MerganserException what a write to such a table throws for these options and columns;
   *                            STREAM_CANNOT_BE_MERGED, FRAMES_HAVE_NO_PARTITIONS
   */
  def apply(
      session: SparkSession,
      stored: Option[DataFrame],
      changes: DataFrame,
      options: Map[String, String]
  ): FrameMerge = {
    if ((changes +: stored.toSeq).exists(_.isStreaming)) throw MerganserException("STREAM_CANNOT_BE_MERGED")
    val conf    = FrameWrite.sessionConf(session)
    val columns = AvroSchemas.stored(MetaColumns.ofUser(stored.getOrElse(changes).schema))
    val schema  = if (stored.isDefined) columns else FrameColumns.withoutFlag(columns, StructType(Nil))
    val config  = TableConfig(NewTable.properties(options, schema, Name, sessionConf = conf))
    if (config.partitionFields.nonEmpty)
      throw MerganserException("FRAMES_HAVE_NO_PARTITIONS", "columns" -> config.partitionFields.mkString(", "),
        "key" -> Options.PartitionFields.key)
    val settings = WriteConfig.parse(options, conf, config, creating = true)
    FrameColumns.check(changes, schema, config, settings, areStored = false)
    RuleLaws.requireStated(settings.rule, config, schema)
    val preparation = Preparation(config, settings.rule, schema, RowChecks.of(settings),
      allowMissing = settings.missingColumns != MissingColumns.Reject, FrameColumns.provided(changes, schema, settings))
    val versions = preparation.rows(changes, lit(false))
    // Both sides have the same columns.
    val rows = stored.map { frame =>
      val flagged = versions.schema.control.foldLeft(frame) { (each, mark) =>
        each.withColumn(mark.name, lit(null).cast(mark.dataType))
      }
      preparation.copy(checks = preparation.checks.copy(nullOrdering = false), allowMissing = false, masks = Nil)
        .rows(flagged, lit(false))
    }
    FrameMerge(rows.map(_.rows), versions.rows, versions.schema,
      CompiledRule(settings.rule, config, versions.schema.layout), schema)
  }

  /**
   * Merges a partition's rows. To be called in a task.
   *
   * @param stored  rows of [[FrameMerge.stored]], sorted by record key
   * @param changes rows of [[FrameMerge.changes]], sorted by record key and arrival
   * @return the rows of keys that are not deleted, with the columns of the layout; they may be reused objects
   */
  def rows(
      stored: Iterator[InternalRow],
      changes: Iterator[InternalRow],
      incoming: PreparedSchema,
      compiled: CompiledRule
  ): Iterator[InternalRow] = {
    val layout   = compiled.layout
    val versions = VersionCursor.of(changes)((version, row) => incoming.fill(version, row, layout))
    val merge    = SortedMerge.rewrite(stored, versions, layout, compiled.fold(Name))
    new Iterator[InternalRow] {
      private[this] var isAhead = false
      private[this] var isDone  = false

      override def hasNext: Boolean = {
        while (!isAhead && !isDone) if (!merge.next()) isDone = true else isAhead = merge.isLive
        isAhead
      }

      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException
        isAhead = false
        merge.row
      }
    }
  }
}
