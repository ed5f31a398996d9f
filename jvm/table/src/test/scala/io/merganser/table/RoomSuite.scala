package io.merganser.table

import org.scalatest.funsuite.AnyFunSuite

class RoomSuite extends AnyFunSuite {

  test("the table room names the merge room, and cannot name the engine") {
    assertCompiles("import io.merganser.merge._")
    assertDoesNotCompile("import io.merganser.spark._")
  }
}
