package io.merganser.table.config

/**
 * @param readOptimized base files alone, logs not merged
 * @param asOf          newest instant to read, by requested time; None: the newest there is
 */
final case class ReadConfig(readOptimized: Boolean, asOf: Option[String], mergerClasses: Seq[String])

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
      mergerClasses = settings.fields(Options.MergerClasses)
    )
  }
}
