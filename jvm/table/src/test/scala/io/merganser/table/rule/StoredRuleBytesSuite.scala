package io.merganser.table.rule

import io.merganser.merge.columns.DeclaredRule
import io.merganser.table.properties.{PropertiesFile, TableConfig}
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import java.io.ByteArrayInputStream
import java.nio.file.{Files, Path, Paths}
import java.util.Properties

import scala.collection.JavaConverters._

// Guarantee (Merge rules): Stored rules keep their bytes and strategy ids, and recorded tables with column rules,
//   retractions and retained deletes are read, compacted and written as before. Also: test_recorded_tables
/**
 * Rules as tables store them: `tests/recorded/column_rules` has the properties of rules that were written once. Tables
 * with these bytes exist, and their strategy id is a digest of them; none may change.
 */
class StoredRuleBytesSuite extends AnyFunSuite {
  import StoredRuleBytesSuite._

  for ((name, options) <- Declarations) test(s"$name: a new table has the stored bytes") {
    assert(new String(stored(options), "ISO-8859-1") == new String(bytes(name), "ISO-8859-1"))
  }

  for ((name, options) <- Declarations) test(s"$name: the stored bytes are read as the rule that was declared") {
    val config = TableConfig(recorded(name))
    val rule   = config.rule.get
    assert(rule == TableConfig(NewTable.properties(Table ++ options, Schema, "t")).rule.get)
    assert(recorded(name)("merganser.rule") == rule.text && DeclaredRule.parse(rule.text) == Right(rule))
    assert(recorded(name)("hoodie.record.merge.strategy.id") == rule.strategyId)
  }

  test("every recorded file has a declaration in this suite") {
    val files = Files.list(Folder)
    try assert(files.iterator.asScala.map(_.getFileName.toString).toSet == Declarations.map(_._1 + ".properties").toSet)
    finally files.close()
  }
}

private object StoredRuleBytesSuite {

  val Folder: Path = Paths.get(System.getProperty("merganser.root")).resolve("tests/recorded/column_rules")

  val Schema: StructType = StructType.fromDDL(
    "id INT, ts BIGINT, op STRING, qty BIGINT, price DOUBLE, best DECIMAL(10,2), ok BOOLEAN, name STRING, " +
      "tags ARRAY<STRING>, facts MAP<STRING, INT>, seen BIGINT, place STRING")

  val Table: Map[String, String] =
    Map("hoodie.datasource.write.recordkey.field" -> "id", "hoodie.table.ordering.fields" -> "ts")

  val Declarations: Seq[(String, Map[String, String])] = Seq(
    "functions" -> Map(
      "qty" -> "sum",
      "price" -> "product",
      "best" -> "max",
      "ok" -> "bool_or",
      "name" -> "concat('; ')",
      "tags" -> "collect",
      "facts" -> "union",
      "seen" -> "min",
      "place" -> "first_non_null"
    ).map(column),
    "other_functions" -> (Map("ok" -> "bool_and", "name" -> "first", "tags" -> "union").map(column) +
      ("merganser.rule.default" -> "last_non_null")),
    "expressions" -> Map("qty" -> "expr('greatest(old.qty, new.qty + 1)')",
      "name" -> "expr('concat_ws(''é'', old.name, new.place)')").map(column),
    "groups" -> Map(
      "merganser.rule.group.place.columns" -> "place,name",
      "merganser.rule.group.place.ordering" -> "seen",
      "merganser.rule.group.place.delete" -> "reset_group",
      "merganser.rule.delete" -> "ignore",
      column("qty" -> "sum")
    ),
    "retractions" -> Map(column("qty" -> "sum"), "merganser.rule.retract.column" -> "op",
      "merganser.rule.retract.values" -> "-U,before")
  )

  private def column(of: (String, String)): (String, String) = s"merganser.rule.column.${of._1}" -> of._2

  /** The properties of a new table that define its merge rule, as the file has them. */
  def stored(options: Map[String, String]): Array[Byte] =
    PropertiesFile.write(NewTable.properties(Table ++ options, Schema, "t").filter { case (key, _) =>
      Seq("merge", "merganser", "payload", "ordering").exists(key.contains)
    })

  def bytes(name: String): Array[Byte] = Files.readAllBytes(Folder.resolve(s"$name.properties"))

  def recorded(name: String): Map[String, String] = {
    val properties = new Properties
    properties.load(new ByteArrayInputStream(bytes(name)))
    properties.asScala.toMap
  }
}
