package io.merganser.merge

import org.scalatest.funsuite.AnyFunSuite

class MerganserExceptionSuite extends AnyFunSuite {

  test("a condition that no module declares is an error of ours") {
    val error = intercept[IllegalStateException](MerganserException("NO_SUCH_CONDITION", "table" -> "t"))
    assert(error.getMessage == "no error condition 'NO_SUCH_CONDITION'")
  }
}
