package io.merganser.table.rule

import io.merganser.merge.NamedValue
import io.merganser.table.properties.TableConfig

/** Which of two versions of a row wins. */
sealed abstract class MergeMode(val name: String) extends NamedValue

object MergeMode {
  case object CommitTimeOrdering extends MergeMode("COMMIT_TIME_ORDERING")
  case object EventTimeOrdering extends MergeMode("EVENT_TIME_ORDERING")
  case object Custom extends MergeMode("CUSTOM")

  val all: Seq[MergeMode] = Seq(CommitTimeOrdering, EventTimeOrdering, Custom)

  /** By the name in hoodie.properties, in any case. */
  def parse(name: String): Option[MergeMode] = all.find(_.name.equalsIgnoreCase(name.trim))

  /**
   * The mode that a table stores, else the one that its other properties imply; without ordering fields, event time is
   * commit time.
   */
  def of(table: TableConfig): MergeMode = table.known("hoodie.record.merge.mode", parse)
    .getOrElse(infer(table.version, table.strategyId, table.payloadClass, table.orderingFields.nonEmpty))

  object StrategyId {
    val EventTime    = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
    val CommitTime   = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
    val PayloadBased = "00000000-0000-0000-0000-000000000000"

    private[table] val known = Set(EventTime, CommitTime, PayloadBased)
  }

  /**
   * The mode of a table that does not store one (version 6, and version 8 by some writers).
   *
   * From version 8 on the strategy id takes precedence over the payload class. In version 6 the payload class does,
   * unless the strategy is a user's own: every table of that version names a payload class.
   */
  private[table] def infer(
      version: Int,
      strategyId: Option[String],
      payloadClass: Option[String],
      hasOrdering: Boolean
  ): MergeMode = {
    val byStrategy = strategyId.map {
      case StrategyId.EventTime  => EventTimeOrdering
      case StrategyId.CommitTime => CommitTimeOrdering
      case _                     => Custom
    }
    val byPayload = payloadClass.map(_.split('.').last).map {
      case "DefaultHoodieRecordPayload" | "EventTimeAvroPayload" => EventTimeOrdering
      case "OverwriteWithLatestAvroPayload"                      => CommitTimeOrdering
      case _                                                     => Custom
    }
    val isUsers = strategyId.exists(id => !StrategyId.known(id))
    val found   = if (version >= 8 || isUsers) byStrategy.orElse(byPayload) else byPayload.orElse(byStrategy)
    found.getOrElse(if (hasOrdering) EventTimeOrdering else CommitTimeOrdering)
  }
}
