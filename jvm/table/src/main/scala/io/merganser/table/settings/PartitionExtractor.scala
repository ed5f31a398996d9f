package io.merganser.table.settings

/** The values of the partition columns of a partition's path, as one of Hudi's extractor classes gives them. */
sealed abstract class PartitionExtractor extends Serializable {

  /** One value a column; the path's own number if it has another form. */
  def values(path: String): Seq[String]
}

object PartitionExtractor {

  case object None extends PartitionExtractor {
    override def values(path: String): Seq[String] = Nil
  }

  /** A level of the path for each column. */
  case object Each extends PartitionExtractor {
    override def values(path: String): Seq[String] = levels(path)
  }

  /** The whole path is one value. */
  case object Single extends PartitionExtractor {
    override def values(path: String): Seq[String] = Seq(value(path))
  }

  /** Levels of year, month and day are one date. */
  case object Day extends PartitionExtractor {
    override def values(path: String): Seq[String] = joined(path, 3)
  }

  /** Levels of year, month, day and hour. */
  case object Hour extends PartitionExtractor {
    override def values(path: String): Seq[String] = joined(path, 4)
  }

  /** By the simple names of Hudi's classes. */
  val byClass: Map[String, PartitionExtractor] = Map(
    "NonPartitionedExtractor" -> None,
    "MultiPartKeysValueExtractor" -> Each,
    "HiveStylePartitionValueExtractor" -> Single,
    "SinglePartPartitionValueExtractor" -> Single,
    "SlashEncodedDayPartitionValueExtractor" -> Day,
    "SlashEncodedHourPartitionValueExtractor" -> Hour
  )

  private def levels(path: String): Seq[String] = path.split('/').map(value).toSeq

  /** Without `column=`. */
  private def value(level: String): String = level.drop(level.indexOf('=') + 1)

  private def joined(path: String, count: Int): Seq[String] = {
    val found = levels(path)
    if (found.size == count) Seq(found.mkString("-")) else found
  }
}
