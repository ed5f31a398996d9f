package io.merganser

import org.scalatest.Tag

/** As [[Extensive]], for one test of a suite. */
object ExtensiveTest extends Tag(classOf[Extensive].getName)
