package io.merganser.merge

/** One of a fixed set of values, each with the name by which options, properties or files have it. */
trait NamedValue extends Serializable {
  def name: String

  override def toString: String = name
}

/** All values of a kind. */
trait NamedValues[T <: NamedValue] {
  def all: Seq[T]

  /** By a name that was checked before. */
  private[merganser] def of(name: String): T =
    all.find(_.name == name).getOrElse(throw new IllegalArgumentException(name))
}
