package io.merganser.spark.write

/** Which stored rows a write removes, in the same commit that adds its own. */
sealed trait Replaced

object Replaced {

  /** An ordinary write. */
  case object Nothing extends Replaced

  /** All rows of the table. */
  case object All extends Replaced

  /** All rows of the partitions that the write adds rows to. */
  case object Written extends Replaced

  /**
   * All rows of matching partitions; the write's own rows must be in matching partitions too.
   *
   * @param partition true for the path of a matching partition
   * @param condition the user's condition, for errors
   */
  final case class Where(condition: String, partition: String => Boolean) extends Replaced

  /** All rows of matching partitions; the write adds none. */
  final case class Dropped(partition: String => Boolean) extends Replaced
}
