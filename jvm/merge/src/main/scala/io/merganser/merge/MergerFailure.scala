package io.merganser.merge

/** A user's merger failed. [[KeyFold]] adds the file group, which a rule does not know. */
private[merge] final class MergerFailure(parameters: Seq[(String, Any)], cause: Throwable)
    extends RuntimeException(cause) {

  /** The error for users. */
  def in(fileGroup: String): MerganserException = {
    val error = MerganserException("MERGER_FAILED", parameters :+ ("fileGroup" -> fileGroup): _*)
    if (cause == null) error else error.causedBy(cause)
  }
}
