package io.merganser.table.settings

import io.merganser.table.options.{IgnoredOption, OptionKind, Options, Settings}
import io.merganser.table.properties.TableConfig

/**
 * @param readOptimized base files alone, logs not merged
 * @param mergerClasses user-written mergers, in the order to try them
 * @param asOf          time to read the table as of, as the user wrote it; None: the newest
 * @param ignored       the read's options without effect that a job may miss
 */
final case class ReadConfig(
    readOptimized: Boolean,
    asOf: Option[String],
    mergerClasses: Seq[String],
    ignored: Seq[IgnoredOption] = Nil
) {

  /** Those configured for this read, or else those the table stores as a default for its writes. */
  def mergerClassesFor(table: TableConfig): Seq[String] =
    if (mergerClasses.nonEmpty) mergerClasses
    else Options.MergerClasses.names.flatMap(table.properties.get).headOption.toSeq.flatMap(OptionKind.NameList.split)
}

object ReadConfig {

  /**
   * Parses and checks the options of one read.
   *
   * @throws io.merganser.merge.MerganserException what [[Settings.ofRead]] throws
   */
  def parse(options: Map[String, String], sessionConf: Map[String, String]): ReadConfig = {
    val settings = Settings.ofRead(options, sessionConf)
    ReadConfig(
      readOptimized = settings.required(Options.QueryType) == "read_optimized",
      asOf = settings.explicit(Options.AsOfInstant),
      mergerClasses = settings.fields(Options.MergerClasses),
      ignored = settings.ignored
    )
  }
}
