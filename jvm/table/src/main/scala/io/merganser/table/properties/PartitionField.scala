package io.merganser.table.properties

import io.merganser.merge.NamedValue
import java.util.Locale

/**
 * A column that partitions a table.
 *
 * @param name as the table's properties spell it; `a.b` for a field of a struct column
 */
final case class PartitionField(name: String, kind: PartitionKind)

/** How the column's value is written in the partition path. */
sealed abstract class PartitionKind(val name: String) extends NamedValue

object PartitionKind {

  /** As a string. */
  case object Simple extends PartitionKind("SIMPLE")

  /** As a time in the format of the table's properties. */
  case object Timestamp extends PartitionKind("TIMESTAMP")

  /** As the writer decides: CUSTOM tables before version 8 and those of a user's key generator do not store it. */
  case object Unknown extends PartitionKind("")

  /** In a way that is not known; keys are generated as for [[Simple]]. */
  final case class Other(text: String) extends PartitionKind(text)

  /** By the name in hoodie.properties, in any case. */
  def parse(name: String): PartitionKind = name.trim.toUpperCase(Locale.ROOT) match {
    case Simple.name    => Simple
    case Timestamp.name => Timestamp
    case other          => Other(other)
  }
}
