package io.merganser.table.timeline

/** The completed instants of a timeline, sent to tasks. */
final class CompletedInstants private[timeline] (
    completed: Set[String],
    pending: Set[String],
    start: Option[String],
    limit: Option[String]
) extends (String => Boolean) with Serializable {

  override def apply(requested: String): Boolean =
    completed(requested) || (isArchived(requested) && limit.forall(requested <= _))

  def isArchived(requested: String): Boolean =
    start.exists(requested < _) && !pending(requested) && !completed(requested)
}
