package io.merganser.merge

import org.scalatest.funsuite.AnyFunSuite

class MerganserExceptionSuite extends AnyFunSuite {

  test("an undeclared condition is an internal error") {
    val error = intercept[IllegalStateException](MerganserException("NO_SUCH_CONDITION", "table" -> "t"))
    assert(error.getMessage == "no error condition 'NO_SUCH_CONDITION'")
  }

  test("the error of a failed merge omits Spark's advice and keeps keys and values unchanged") {
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
