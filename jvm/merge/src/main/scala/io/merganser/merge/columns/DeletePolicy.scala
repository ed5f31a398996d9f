package io.merganser.merge.columns

/**
 * What a delete with an ordering value does to the columns that are merged by the same ordering fields. A delete
 * without one, as of SQL DELETE, removes the row whatever the rule is.
 *
 * @param text as rules store it
 */
sealed abstract class DeletePolicy(val text: String) extends Serializable {
  override def toString: String = text
}

object DeletePolicy {

  /** The row is gone. */
  case object RemoveRow extends DeletePolicy("remove_row")

  /** The columns become null, and functions such as `sum` begin again; the row stays. */
  case object ResetGroup extends DeletePolicy("reset_group")

  /** Nothing changes. */
  case object Ignore extends DeletePolicy("ignore")

  val all: Seq[DeletePolicy] = Seq(RemoveRow, ResetGroup, Ignore)

  def parse(text: String): Option[DeletePolicy] = all.find(_.text.equalsIgnoreCase(text.trim))
}
