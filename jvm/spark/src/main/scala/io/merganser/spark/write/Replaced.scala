package io.merganser.spark.write

/** What a write takes away of the rows that are stored, in the same commit that brings its own. */
sealed trait Replaced

object Replaced {

  /** An ordinary write. */
  case object Nothing extends Replaced

  /** All rows of the table. */
  case object All extends Replaced

  /** All rows of the partitions that the write's own rows lie in. */
  case object Written extends Replaced

  /**
   * All rows of some partitions; the write's own rows must lie in such ones.
   *
   * @param partition tells of a partition path whether it is one
   * @param condition the user's words for them, for errors
   */
  final case class Where(condition: String, partition: String => Boolean) extends Replaced

  /** All rows of some partitions; the write brings none. */
  final case class Dropped(partition: String => Boolean) extends Replaced
}
