package io.merganser.merge

/** A failure and its causes, the outermost first: at most 20, since causes may form a circle. */
private[merganser] object Causes {

  def of(failure: Throwable): Seq[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).toList
}
