package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionEntry, Options, Settings}

/** Settings of a new table for what its files store and for its partition paths: those that exclude each other. */
private[settings] object PathSettings {

  /**
   * The properties of a new table.
   *
   * @param partitions partition columns, with their `:TYPE` if they have one
   * @throws MerganserException OPTION_CONFLICT
   */
  def of(settings: Settings, generator: KeyGenerator, partitions: Seq[String], bySql: Boolean): Map[String, String] = {
    val slashed = isTrue(settings, Options.SlashedDates)
    requireSlashable(settings, generator, partitions, slashed)
    requireTextInPaths(settings, generator, partitions)
    requireComputableKeys(settings, generator)
    // Hudi refuses a table that stores both properties, whatever their values.
    val style =
      if (slashed) Map(Options.SlashedDates.key -> "true", "hoodie.table.partition_extractor_class" -> SlashedExtractor)
      else Map(Options.HiveStyle.key -> settings.explicit(Options.HiveStyle).getOrElse(bySql.toString))
    style ++ Seq(Options.UrlEncode, Options.DropPartitionColumns, Options.StoredKeys).map(entry =>
      entry.key -> settings.required(entry))
  }

  private val SlashedExtractor = "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"

  private def isTrue(settings: Settings, entry: OptionEntry): Boolean = settings.required(entry).toBoolean

  private def requireSlashable(
      settings: Settings,
      generator: KeyGenerator,
      partitions: Seq[String],
      slashed: Boolean
  ): Unit = if (slashed) {
    if (settings.explicit(Options.HiveStyle).exists(_.toBoolean))
      throw conflict(Options.SlashedDates, "true", Options.HiveStyle.key, "true")
    if (partitions.size != 1 || hasTimes(generator, partitions))
      throw conflict(Options.SlashedDates, "true", Options.PartitionFields.key,
        if (partitions.isEmpty) "none" else partitions.mkString(","))
  }

  /** A path in a time format lacks the column's value, and a field of a struct is no column that can be left out. */
  private def requireTextInPaths(settings: Settings, generator: KeyGenerator, partitions: Seq[String]): Unit =
    if (isTrue(settings, Options.DropPartitionColumns)) {
      if (hasTimes(generator, partitions))
        throw conflict(Options.DropPartitionColumns, "true", Options.KeyGeneratorType.key, generator.name)
      partitions.find(_.contains('.')).foreach { nested =>
        throw conflict(Options.DropPartitionColumns, "true", Options.PartitionFields.key, nested)
      }
    }

  /**
   * Hudi accepts no other generators without stored keys, its bloom index fails on files without filters, and it looks
   * for the partition columns in the files.
   */
  private def requireComputableKeys(settings: Settings, generator: KeyGenerator): Unit =
    if (!isTrue(settings, Options.StoredKeys)) {
      if (!Seq(KeyGenerator.Simple, KeyGenerator.Complex, KeyGenerator.NonPartition).contains(generator))
        throw conflict(Options.StoredKeys, "false", Options.KeyGeneratorType.key, generator.name)
      if (settings.fields(Options.RecordKey).isEmpty)
        throw conflict(Options.StoredKeys, "false", Options.RecordKey.key, "none")
      val index = settings.required(Options.IndexTypeOption)
      if (index.endsWith("BLOOM")) throw conflict(Options.StoredKeys, "false", Options.IndexTypeOption.key, index)
      if (isTrue(settings, Options.DropPartitionColumns))
        throw conflict(Options.StoredKeys, "false", Options.DropPartitionColumns.key, "true")
    }

  private def hasTimes(generator: KeyGenerator, partitions: Seq[String]): Boolean =
    generator == KeyGenerator.Timestamp || partitions.exists(
      _.toUpperCase(java.util.Locale.ROOT).endsWith(":TIMESTAMP"))

  private def conflict(entry: OptionEntry, value: String, otherKey: String, otherValue: String) =
    MerganserException("OPTION_CONFLICT", "key" -> entry.key, "value" -> value, "otherKey" -> otherKey,
      "otherValue" -> otherValue)
}
