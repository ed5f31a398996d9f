package io.merganser.spark.source

import io.merganser.table.options.IgnoredOptions
import io.merganser.table.settings.ReadConfig
import org.slf4j.LoggerFactory

/** Logs once per read which of its options have no effect. */
private[source] object IgnoredReadOptions {
  private val Log = LoggerFactory.getLogger(getClass)

  def warn(table: String, read: ReadConfig): Unit =
    if (read.ignored.nonEmpty)
      Log.warn(s"options of a read of $table without effect: ${IgnoredOptions.described(read.ignored).mkString(", ")}")
}
