package io.merganser.merge

import org.scalatest.funsuite.AnyFunSuite

class RoomSuite extends AnyFunSuite {

  test("the merge room cannot name the table room or the engine") {
    assertCompiles("import io.merganser.merge._")
    assertDoesNotCompile("import io.merganser.table._")
    assertDoesNotCompile("import io.merganser.spark._")
  }

  test("an error that no room declares is a mistake of ours") {
    val thrown = intercept[IllegalStateException](MerganserException("NO_SUCH_CONDITION"))
    assert(thrown.getMessage == "no error condition 'NO_SUCH_CONDITION'")
  }
}
