package io.merganser.table.timeline

/** A record of either form, read by name: what is absent or null is None, zero or empty. */
private[timeline] trait NamedFields extends Any {

  def string(name: String): Option[String]

  def long(name: String): Long

  def optionalLong(name: String): Option[Long]

  def strings(name: String): Seq[String]

  def longMap(name: String): Map[String, Long]
}
