package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.prune.PartitionPruning
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.{KeyColumns, KeyForm, TimestampLevel}
import io.merganser.table.options.Options
import io.merganser.table.properties.PartitionKind
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.SparkSession

/**
 * The form of timestamps in a table's partition paths: that of the paths which it has. With another one the row of a
 * key would be stored a second time, in another partition.
 */
private[place] object StoredPathForm {

  private val Searched = 20

  /** The settings with the form of the newest path that has a timestamp. */
  def settled(settings: WriteConfig, table: OpenTable): WriteConfig =
    if (times(table).isEmpty) settings
    else {
      val newest = table.timeline.completed.reverseIterator.take(Searched)
      val named  = table.timeline.metadataOf(newest, most = 1).flatMap(_._2.allStats.map(_.partitionPath))
      val form   = (named ++ slices(table).iterator.map(_.partitionPath)).flatMap(formsIn(table, _)).take(1).toList
      settings.copy(keyForm = settings.keyForm ++ form.map(KeyForm.TimestampLevels -> _.name))
    }

  /**
   * Refuses a write to a table whose paths have timestamps in two forms, or in a time zone that is not this JVM's, by a
   * row of it.
   *
   * @throws MerganserException PATH_FORMS_MIXED, PATH_IN_OTHER_ZONE; PARTITION_KINDS_WRONG if the row has another path
   *                            by the kinds that an option has
   */
  def requireOne(session: SparkSession, settings: WriteConfig, table: OpenTable): Unit = {
    for (kinds <- settings.partitionKinds; slice <- slices(table).headOption)
      otherPath(session, settings, table, slice).foreach(computed =>
        throw MerganserException("PARTITION_KINDS_WRONG", "table" -> table.config.name, "path" -> slice.partitionPath,
          "computed" -> computed, "key" -> Options.PartitionFields.key, "value" -> kinds))
    if (times(table).nonEmpty) {
      val found = slices(table).flatMap(s => formsIn(table, s.partitionPath).map(_ -> s))
      val forms = found.groupBy(_._1).values.map(_.head._2.partitionPath).toSeq.sorted
      if (forms.size > 1)
        throw MerganserException("PATH_FORMS_MIXED", "table" -> table.config.name, "one" -> forms.head,
          "other" -> forms(1))
      for ((_, slice) <- found.find(_._1.dependsOnZone); computed <- otherPath(session, settings, table, slice))
        throw MerganserException("PATH_IN_OTHER_ZONE", "table" -> table.config.name, "path" -> slice.partitionPath,
          "computed" -> computed, "zone" -> java.time.ZoneId.systemDefault)
    }
  }

  /** The path that a row of a slice would have, if that is not the slice's. */
  private def otherPath(
      session: SparkSession,
      settings: WriteConfig,
      table: OpenTable,
      slice: FileSlice
  ): Option[String] =
    if (table.config.dropsPartitionColumns) None
    else StoredRow.of(settings, table, slice, table.config.partitionFields).map { case StoredRow(row, schema) =>
      KeyColumns.pathOf(session, settings.keyed(table.config), table.schema, schema).eval(row).toString
    }.filter(_ != slice.partitionPath)

  /** Whether paths have timestamps in the time zone of another JVM than this one. */
  def isOfOtherZone(session: SparkSession, settings: WriteConfig, table: OpenTable): Boolean =
    times(table).nonEmpty && slices(table).find(slice => formsIn(table, slice.partitionPath).exists(_.dependsOnZone))
      .exists(slice => possible(settings, table).forall(otherPath(session, _, table, slice).isDefined))

  /** The settings with each form that writers may have used. */
  def possible(settings: WriteConfig, table: OpenTable): Seq[WriteConfig] =
    if (times(table).isEmpty) Seq(settings)
    else TimestampLevel.all.map(form =>
      settings.copy(keyForm = settings.keyForm + (KeyForm.TimestampLevels -> form.name)))

  /** The partition columns whose levels may have several forms. */
  private def times(table: OpenTable): Seq[String] = table.config.partitionSpec.filter(field =>
    field.kind == PartitionKind.Simple && KeyColumns.isTimestamp(table.schema, field.name)).map(_.name)

  private def slices(table: OpenTable): Seq[FileSlice] = table.view.slices

  private def formsIn(table: OpenTable, path: String): Seq[TimestampLevel] = {
    val names  = table.config.partitionFields
    val levels = if (names.size == 1) Seq(path) else path.split("/", -1).toSeq
    if (levels.size != names.size) Nil
    else {
      val byTime = times(table)
      names.zip(levels).filter(level => byTime.contains(level._1)).flatMap { case (name, level) =>
        TimestampLevel.of(PartitionPruning.valueOf(table.config, level, name))
      }
    }
  }
}
