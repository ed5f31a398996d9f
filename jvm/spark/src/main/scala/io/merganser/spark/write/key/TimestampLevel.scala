package io.merganser.spark.write.key

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils

/**
 * How a TIMESTAMP of a partition column is a level of the path. Hudi's writers differ, and no table stores which one
 * has written it.
 *
 * @param dependsOnZone whether the JVM's time zone is part of the form
 */
private[spark] sealed abstract class TimestampLevel(val name: String, val dependsOnZone: Boolean)

private[spark] object TimestampLevel {

  /** Microseconds since 1970: of data frames. */
  case object Micros extends TimestampLevel("micros", dependsOnZone = false)

  /** `2024-01-02 03:04:05.678`: as in keys with logical timestamps. */
  case object Logical extends TimestampLevel("logical", dependsOnZone = true)

  /** `2024-01-02 03%3A04%3A05`, always encoded: of Hudi's SQL statements. */
  case object Seconds extends TimestampLevel("seconds", dependsOnZone = true)

  private[write] val all = Seq(Micros, Logical, Seconds)

  def named(name: String): Option[TimestampLevel] = all.find(_.name == name)

  private val Number    = "-?\\d+".r
  private val OfSeconds = "-?\\d{4,}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d".r
  private val WithMore  = "-?\\d{4,}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d+".r

  /** The form of a level without the column's name; None if it has none, as that of null. */
  def of(level: String): Option[TimestampLevel] = ExternalCatalogUtils.unescapePathName(level) match {
    case Number()    => Some(Micros)
    case OfSeconds() => Some(Seconds)
    case WithMore()  => Some(Logical)
    case _           => None
  }
}
