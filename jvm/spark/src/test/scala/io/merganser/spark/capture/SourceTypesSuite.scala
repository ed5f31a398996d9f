package io.merganser.spark.capture

import org.scalatest.funsuite.AnyFunSuite

import java.nio.file.{Files, Paths}

/** What presets and types are named, and the page that lists them. */
final class SourceTypesSuite extends AnyFunSuite {

  test("each MySQL type name becomes a column type") {
    val types = Map(
      "BOOL" -> "boolean",
      "REAL" -> "double",
      "FIXED(12,3)" -> "decimal(12,3)",
      "fixed" -> "decimal(10,0)",
      "dec(5)" -> "decimal(5,0)",
      "SERIAL" -> "decimal(20,0)",
      "double precision" -> "double",
      "int(10) unsigned zerofill" -> "bigint",
      "enum('real')" -> "string"
    )
    types.foreach { case (name, expected) => assert(MySqlTypes.of(name).simpleString == expected, name) }
  }

  test("the page on changes lists the ordering fields of every preset and every reason") {
    val root = Paths.get(System.getProperty("merganser.root"))
    val page = new String(Files.readAllBytes(root.resolve("docs/follow-a-database.md")), "UTF-8")
    val rows = page.linesIterator.filter(_.startsWith("| `")).toSeq
    Preset.All.foreach { preset =>
      val row = rows.find(_.startsWith(s"| `${preset.name}` |")).getOrElse(fail(preset.name))
      preset.ordering.foreach(column => assert(row.contains(s"`${column.name}`"), preset.name))
    }
    Reason.Meanings.keys.foreach(reason => assert(rows.exists(_.contains(s"`$reason`")), reason))
  }
}
