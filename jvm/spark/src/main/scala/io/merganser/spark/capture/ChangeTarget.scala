package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.Expressions.top
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.rule.MergeMode
import org.apache.spark.sql.types.StructType

/**
 * A table, as the application of changes sees it.
 *
 * @param eventColumns     columns that are filled from the envelope
 * @param sequence         columns of the rows that fill the last ordering fields, in their order; empty if the envelope
 *                         does
 * @param fills            whether a stored value stays where the new one is the placeholder
 * @param nullsAreMissing  whether a stored value stays where the new one is null
 * @param placeholder      that placeholder
 */
private[capture] final case class ChangeTarget(
    table: OpenTable,
    eventColumns: Seq[EventColumn],
    sequence: Seq[String],
    fills: Boolean,
    nullsAreMissing: Boolean,
    placeholder: Option[String]
) {
  val path: String            = table.storage.basePath.toString
  val keys: Seq[String]       = table.config.recordKeyFields
  val partitions: Seq[String] = table.config.partitionFields
  val ordering: Seq[String]   = table.config.orderingFields
  def schema: StructType      = table.schema

  /** The ordering fields that the columns of [[sequence]] fill, with these. */
  def sequenced: Seq[(String, String)] = ordering.takeRight(sequence.size).zip(sequence)

  /** Columns by which stored rows are found and ordered. */
  def required: Seq[String] = (keys ++ partitions ++ ordering).map(top)
}

private[capture] object ChangeTarget {
  private val UpdateMode  = "hoodie.table.partial.update.mode"
  private val Placeholder = "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value"

  /**
   * Compares the arguments with what the table stores.
   *
   * @throws MerganserException CHANGES_CONFLICT, CHANGES_NEED_ORDERING, CHANGES_NEED_KEYS, CHANGES_NEED_GLOBAL_INDEX
   */
  def of(table: OpenTable, spec: ChangeSpec): ChangeTarget = {
    val config               = table.config
    def shown(flag: Boolean) = flag.toString.capitalize
    val mode                 = config.properties.getOrElse(UpdateMode, "").toUpperCase(java.util.Locale.ROOT)
    def conflict(argument: String, given: Seq[String], stored: Seq[String]) =
      throw MerganserException("CHANGES_CONFLICT", "table" -> config.name, "argument" -> argument,
        "given" -> given.mkString(", "), "stored" -> stored.mkString(", "))
    if (config.recordKeyFields.isEmpty) throw MerganserException("CHANGES_NEED_KEYS", "table" -> config.name)
    if (spec.keys.nonEmpty && spec.keys.toSet != config.recordKeyFields.toSet)
      conflict("keys", spec.keys, config.recordKeyFields)
    if (config.orderingFields.isEmpty || MergeMode.of(config) == MergeMode.CommitTimeOrdering)
      throw MerganserException("CHANGES_NEED_ORDERING", "table" -> config.name)
    val ignores = mode == "IGNORE_DEFAULTS"
    spec.nulls.ignored(spec.dataColumns(table.schema, config.recordKeyFields ++ config.orderingFields))
      .filter(_ != ignores).foreach(wanted =>
        conflict("ignore_null_updates", Seq(wanted).map(shown), Seq(ignores).map(shown)))
    requireGlobalIndex(table)
    val sequenced = spec.sequenceBy.nonEmpty
    val first     = if (sequenced) spec.preset.beforeSequence.map(_.name) else Nil
    val ordering  = first ++ spec.sequenceBy
    if (sequenced && (ordering.size != config.orderingFields.size || !config.orderingFields.startsWith(first)))
      conflict("sequence_by", ordering, config.orderingFields)
    val isFilled = (name: String) =>
      if (config.orderingFields.contains(name)) !sequenced || first.contains(name)
      else table.schema.fieldNames.contains(name)
    ChangeTarget(
      table,
      spec.preset.columns.filter(column => isFilled(column.name)),
      spec.sequenceBy,
      fills = mode == "FILL_UNAVAILABLE",
      nullsAreMissing = ignores,
      config.properties.get(Placeholder).filter(_.nonEmpty).orElse(spec.preset.placeholder)
    )
  }

  /** A change may move or delete a row in another partition, if its columns are not part of the key. */
  private def requireGlobalIndex(table: OpenTable): Unit =
    table.config.partitionFields.find(!table.config.recordKeyFields.contains(_))
      .filterNot(_ => IndexResolver.nameOf(table).exists(_.startsWith("GLOBAL"))).foreach(column =>
        throw MerganserException("CHANGES_NEED_GLOBAL_INDEX", "table" -> table.config.name, "column" -> column))
}
