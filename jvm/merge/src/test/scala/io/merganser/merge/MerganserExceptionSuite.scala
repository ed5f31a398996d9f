package io.merganser.merge

import org.scalatest.funsuite.AnyFunSuite

class MerganserExceptionSuite extends AnyFunSuite {

  test("a condition that no module declares is an error of ours") {
    val error = intercept[IllegalStateException](MerganserException("NO_SUCH_CONDITION", "table" -> "t"))
    assert(error.getMessage == "no error condition 'NO_SUCH_CONDITION'")
  }

  test("of a failed merge the reason has no settings of Spark's, and keys and values are as they are stored") {
    val failure = new MergerFailure(
      Seq("merger" -> "function 'sum' of column 'n'", "key" -> "a.", "older" -> "b.\n== SQL", "newer" -> "c.",
        "reason" -> "it overflows. If necessary set spark.sql.ansi.enabled to \"false\" to bypass this error."),
      cause = null
    )
    val values = failure.in("p/group").parameters
    assert((values("key"), values("older"), values("newer")) == (("a.", "b.\n== SQL", "c.")))
    assert(values("reason") == "it overflows")
  }
}
