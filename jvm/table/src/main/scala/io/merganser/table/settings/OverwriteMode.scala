package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, Settings}

/** Whether an overwrite that names no partitions replaces the partitions of its rows, or all rows. */
object OverwriteMode {

  /** Spark's session setting. */
  val SparkKey = "spark.sql.sources.partitionOverwriteMode"

  /**
   * @param options     of the write, which take precedence
   * @param sessionConf Spark's configuration: Hudi's option takes precedence over Spark's setting
   * @throws MerganserException OPTION_CONFLICT where the session has STATIC and Spark's setting is dynamic
   */
  def isDynamic(options: Map[String, String], sessionConf: Map[String, String]): Boolean =
    configured(options).getOrElse {
      val byHudi  = ofSession(sessionConf)
      val bySpark = sessionConf.get(SparkKey).exists(_.equalsIgnoreCase("dynamic"))
      if (bySpark && byHudi.contains(false)) throw conflict("STATIC", SparkKey, "DYNAMIC")
      byHudi.getOrElse(bySpark)
    }

  /** The mode in the write's own options; None: not set. */
  def configured(options: Map[String, String]): Option[Boolean] =
    Settings.ofWrite(options, Map.empty).explicit(Options.OverwriteMode).map(_ == "DYNAMIC")

  /** Refuses an option that contradicts an overwrite which names what it replaces. */
  def requireNot(dynamic: Boolean, options: Map[String, String], by: String): Unit =
    if (configured(options).contains(dynamic)) throw conflict(if (dynamic) "DYNAMIC" else "STATIC", "the write", by)

  private def ofSession(conf: Map[String, String]): Option[Boolean] =
    Settings.ofWrite(Map.empty, conf).explicit(Options.OverwriteMode).map(_ == "DYNAMIC")

  private def conflict(value: String, other: String, otherValue: String) = MerganserException("OPTION_CONFLICT",
    "key" -> Options.OverwriteMode.key, "value" -> value, "otherKey" -> other, "otherValue" -> otherValue)
}
