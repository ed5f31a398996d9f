package io.merganser.table.slice

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils

/** Timestamps in partition paths. */
object PathTimes {

  /**
   * Microseconds since 1970 of a level without the column's name: a number of them, or a date with a time in the JVM's
   * zone, which may be encoded.
   *
   * @throws IllegalArgumentException if it is neither
   */
  def micros(level: String): Long =
    if (level.matches("-?\\d+")) level.toLong
    else java.sql.Timestamp.valueOf(ExternalCatalogUtils.unescapePathName(level)).getTime * 1000L
}
