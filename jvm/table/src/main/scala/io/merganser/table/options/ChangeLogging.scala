package io.merganser.table.options

import io.merganser.merge.NamedValue

/**
 * What change files have of a row besides the operation, by Hudi's names. What they lack is read from the slices before
 * and after the write.
 *
 * @param name   of `hoodie.table.cdc.supplemental.logging.mode`
 * @param before whether they have the row before the write
 * @param after  whether they have the row after it
 */
sealed abstract class ChangeLogging(val name: String, val before: Boolean, val after: Boolean) extends NamedValue

object ChangeLogging {
  case object KeyOnly extends ChangeLogging("OP_KEY_ONLY", before = false, after = false)
  case object Before extends ChangeLogging("DATA_BEFORE", before = true, after = false)
  case object BeforeAfter extends ChangeLogging("DATA_BEFORE_AFTER", before = true, after = true)

  val all: Seq[ChangeLogging] = Seq(KeyOnly, Before, BeforeAfter)

  def parse(name: String): Option[ChangeLogging] = all.find(_.name.equalsIgnoreCase(name.trim))
}
