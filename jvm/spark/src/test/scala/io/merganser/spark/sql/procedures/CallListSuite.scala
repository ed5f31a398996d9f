package io.merganser.spark.sql.procedures

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

class CallListSuite extends AnyFunSuite {

  test("the list of calls matches the procedures; CallList regenerates it") {
    val list = CallList.file(sys.props.getOrElse("merganser.root", "."))
    assert(Files.exists(list), list)
    assert(new String(Files.readAllBytes(list), UTF_8) == CallList.render)
  }
}
