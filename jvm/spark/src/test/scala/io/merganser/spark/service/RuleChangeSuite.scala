package io.merganser.spark.service

import io.merganser.merge.{Change, MerganserException}
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.Row

/** What changes the merge rule of a table that has rows, and what is refused. */
final class RuleChangeSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private def row(key: String, ts: Long, value: String = "v") = Change(key, Some(ts), Seq(Some(value), Some("w")))

  private def call(procedure: String, more: String): Seq[Row] =
    spark.sql(s"CALL $procedure(path => '$storage'$more)").collect().toSeq

  private def changeRule(options: String*): Seq[Row] =
    call("change_rule", s", options => map(${options.map(o => s"'$o'").mkString(", ")})")

  test("a column rule is refused for a table of COMMIT_TIME_ORDERING with ordering fields") {
    upsert(storage, Seq(row("k0", 5)),
      options(mergeOnRead = false, bucketed = false) +
        ("hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING"))
    val before = TableConfig.load(storage).properties
    val e      = intercept[MerganserException](changeRule("merganser.rule.column.v", "max"))
    assert(e.condition == "RULE_CHANGE_REFUSED" && e.getMessage.contains("(ts)"))
    assert(TableConfig.load(storage).properties == before)
  }

  for ((without, mode) <- Seq("ts" -> "COMMIT_TIME_ORDERING", "" -> "EVENT_TIME_ORDERING"))
    test(s"removing a table's rule restores its merge mode $mode") {
      upsert(storage, Seq(row("k0", 5)), options(mergeOnRead = false, bucketed = false).filterNot(_._2 == without))
      def stored = TableConfig.load(storage).properties("hoodie.record.merge.mode")
      assert(stored == mode)
      changeRule("merganser.rule.column.v", "max")
      assert(stored == "CUSTOM")
      spark.sql(s"ALTER TABLE merganser.`$storage` UNSET TBLPROPERTIES ('merganser.rule.column.v')")
      assert(stored == mode)
    }

  test("a rule change compacts all logs, also those that the table's compactions skip") {
    upsert(storage, Seq(row("k0", 5)), options(mergeOnRead = true, bucketed = true))
    upsert(storage, Seq(row("k0", 6)), Map.empty)
    val changed = changeRule("hoodie.compaction.strategy", "LogFileNumBasedCompactionStrategy",
      "hoodie.compaction.logfile.num.threshold", "5", "merganser.rule.column.v", "max")
    assert(changed.map(_.getInt(3)) == Seq(1))
    assert(view(storage).slices.forall(_.logs.isEmpty))
  }

  test("a rule change compacts logs that were written after a compaction was planned") {
    upsert(storage, Seq(row("k0", 5)), options(mergeOnRead = true, bucketed = true))
    upsert(storage, Seq(row("k0", 6)), Map.empty)
    call("run_compaction", ", op => 'schedule'")
    upsert(storage, Seq(row("k0", 7)), Map.empty)
    changeRule("merganser.rule.column.v", "max")
    assert(TableConfig.load(storage).rule.isDefined && view(storage).slices.forall(_.logs.isEmpty))
  }

  test("an upgrade compacts all logs, also those that the session's compactions skip") {
    upsert(storage, Seq(row("k0", 5)),
      options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> "8"))
    upsert(storage, Seq(row("k0", 6)), Map.empty)
    spark.conf.set("hoodie.compaction.strategy", "LogFileNumBasedCompactionStrategy")
    spark.conf.set("hoodie.compaction.logfile.num.threshold", "5")
    try call("upgrade_table", "")
    finally Seq("strategy", "logfile.num.threshold").foreach(key => spark.conf.unset(s"hoodie.compaction.$key"))
    assert(TableConfig.load(storage).version == 9 && rows(storage) == Seq(row("k0", 6).toString))
  }

  test("retraction values with commas or leading spaces are refused") {
    for (value <- Seq("-U,-X", " -U")) {
      val whole = s"""{"version":1,"columns":{},"retract":{"column":"v","values":["$value"]}}"""
      val e = intercept[MerganserException](upsert(storage, Seq(row("k0", 5)),
          options(mergeOnRead = false, bucketed = false) + ("merganser.rule" -> whole)))
      assert(e.condition == "RULE_INVALID" && e.getMessage.contains(s"'$value'"), e.getMessage)
    }
  }

  test("a write of retractions to a table with column versions is refused by their column's name") {
    val columns = "id INT, n BIGINT, note STRING, kind STRING, ts BIGINT"
    spark.sql(s"CREATE TABLE sums ($columns) USING merganser LOCATION '$storage' TBLPROPERTIES (type = 'mor', " +
      "primaryKey = 'id', orderingFields = 'ts', 'merganser.rule.column.n' = 'sum', " +
      "'merganser.rule.retract.column' = 'kind', 'hoodie.schema.on.read.enable' = 'true')")
    try {
      def rows(note: String)        = spark.sql(s"SELECT 1 AS id, 2L AS n, 'a' AS $note, '+I' AS kind, 1L AS ts")
      def write(note: String): Unit = rows(note).write.format("merganser").mode("append").save(storage.toString)
      write("note")
      spark.sql("ALTER TABLE sums RENAME COLUMN note TO remark")
      val e = intercept[MerganserException](write("remark"))
      assert(e.condition == "RETRACTIONS_NEED_PARTIAL_ROWS" && e.getMessage.contains("'kind'"))
    } finally { spark.sql("DROP TABLE sums"); () }
  }

  test("compare_rule after a rule change starts at the first slice of the new rule") {
    upsert(storage, Seq(row("k0", 5, "a")), options(mergeOnRead = true, bucketed = true))
    upsert(storage, Seq(row("k0", 4, "b")), Map.empty)
    changeRule("merganser.rule.column.v", "max")
    upsert(storage, Seq(row("k0", 6, "A")), Map.empty)
    assert(rows(storage) == Seq(row("k0", 6, "a").toString))
    val other = call("compare_rule", ", rule => 'hoodie.write.record.merge.mode=EVENT_TIME_ORDERING'").toString
    assert(other.contains("versions in logs of before are not compared"))
    assert(other.contains("\"v\":\"A\""), other)
  }
}
