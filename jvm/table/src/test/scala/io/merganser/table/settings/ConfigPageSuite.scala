package io.merganser.table.settings

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.scalatest.funsuite.AnyFunSuite

class ConfigPageSuite extends AnyFunSuite {

  test("docs/config.md matches the options; run io.merganser.table.settings.ConfigPage to regenerate it") {
    val page = Paths.get(sys.props.getOrElse("merganser.root", "."), ConfigPage.place)
    assert(Files.exists(page), page)
    assert(new String(Files.readAllBytes(page), UTF_8) == ConfigPage.render)
  }
}
