package io.merganser.merge

/** A user's merger failed. [[KeyFold]] adds the file group, which a rule does not know. */
private[merge] final class MergerFailure(parameters: Seq[(String, Any)], cause: Throwable)
    extends RuntimeException(cause) {

  /** The error for users. */
  def in(fileGroup: String): MerganserException = {
    val plain = parameters.map {
      case ("reason", reason) => "reason" -> MergerFailure.withoutHint(String.valueOf(reason))
      case other              => other
    }
    val error = MerganserException("MERGER_FAILED", plain :+ ("fileGroup" -> fileGroup): _*)
    if (cause == null) error else error.causedBy(cause)
  }
}

private object MergerFailure {

  /** Spark's errors name a setting that has no effect on merges, and the place in the expression on further lines. */
  private val Hint = """(?s) *(If necessary set \S+ to \S+ to bypass this error[^.]*\.|\n== SQL.*)\.?$""".r

  def withoutHint(text: String): String = Hint.replaceFirstIn(Hint.replaceFirstIn(text, ""), "").stripSuffix(".")
}
