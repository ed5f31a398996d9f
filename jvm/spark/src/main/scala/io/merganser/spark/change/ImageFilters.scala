package io.merganser.spark.change

import io.merganser.table.log.ChangeRecords
import org.apache.spark.sql.sources._

/**
 * Conditions on the images of changes, as conditions on rows of the table.
 *
 * A change that satisfies a condition on `before.c` or `after.c` has an image, the row before or the row after, that
 * satisfies the condition on `c`. So a change whose two rows have the same value of `c` is ruled out where that value
 * does not satisfy it. Conditions that hold where an image is null say nothing of rows.
 */
private[spark] object ImageFilters {

  /** The conditions on rows that follow from these. */
  def ofRows(filters: Seq[Filter]): Seq[Filter] = filters.flatMap(ofRow(_))

  private def ofRow(filter: Filter): Option[Filter] = filter match {
    case And(left, right)                => (ofRow(left) ++ ofRow(right)).reduceOption(And(_, _))
    case Or(left, right)                 => for (l <- ofRow(left); r <- ofRow(right)) yield Or(l, r)
    case Not(inner) if needsValue(inner) => named(inner).map(Not(_))
    case other if needsValue(other)      => named(other)
    case _                               => None
  }

  /** Whether a filter and its negation are null where its column is null. */
  private def needsValue(filter: Filter): Boolean = filter match {
    case _: EqualTo | _: GreaterThan | _: GreaterThanOrEqual | _: LessThan | _: LessThanOrEqual | _: In |
        _: StringStartsWith | _: StringEndsWith | _: StringContains => true
    case _ => false
  }

  private def named(filter: Filter): Option[Filter] = filter match {
    case EqualTo(c, v)            => column(c).map(EqualTo(_, v))
    case GreaterThan(c, v)        => column(c).map(GreaterThan(_, v))
    case GreaterThanOrEqual(c, v) => column(c).map(GreaterThanOrEqual(_, v))
    case LessThan(c, v)           => column(c).map(LessThan(_, v))
    case LessThanOrEqual(c, v)    => column(c).map(LessThanOrEqual(_, v))
    case In(c, values)            => column(c).map(In(_, values))
    case StringStartsWith(c, v)   => column(c).map(StringStartsWith(_, v))
    case StringEndsWith(c, v)     => column(c).map(StringEndsWith(_, v))
    case StringContains(c, v)     => column(c).map(StringContains(_, v))
    case _                        => None
  }

  /** The column of the table that a field of an image is. */
  private def column(name: String): Option[String] =
    Seq(ChangeRecords.Before, ChangeRecords.After).map(image => s"$image.").find(name.startsWith).map(prefix =>
      name.stripPrefix(prefix))
}
