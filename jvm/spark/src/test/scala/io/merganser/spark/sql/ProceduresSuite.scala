package io.merganser.spark.sql

import io.merganser.merge.{Change, MerganserException}
import io.merganser.spark.{LocalSession, MerganserCatalog, MerganserLakeCatalog}
import io.merganser.table.TableSuite
import org.apache.spark.sql.Row

/** What procedures accept, refuse and show. */
final class ProceduresSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private def row(key: String, ts: Long, value: String = "v") = Change(key, Some(ts), Seq(Some(value), Some("w")))

  private def call(procedure: String, more: String = ""): Seq[Row] =
    spark.sql(s"CALL $procedure(path => '$storage'$more)").collect().toSeq

  private def refused(action: => Any): MerganserException = intercept[MerganserException](action)

  private def inSession[T](settings: (String, String)*)(body: => T): T = {
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally settings.foreach { case (key, _) => spark.conf.unset(key) }
  }

  test("services that change rows, rules or versions, and ALTER TABLE, refuse the session's dry run") {
    val created = options(mergeOnRead = false, bucketed = false)
    upsert(storage, Seq(row("k0", 1)), created)
    upsert(storage, Seq(row("k0", 2)), created + ("hoodie.datasource.write.operation" -> "bulk_insert"))
    inSession("spark.merganser.write.dryRun" -> "true") {
      for (
        (service, arguments) <- Seq("repair_deduplicate" -> ", dry_run => false", "verify_table" -> ", repair => true",
          "rollback_to_instant" -> "", "change_rule" -> ", options => 'merganser.rule.column.v=max'")
      ) withClue(service)(assert(refused(call(service, arguments)).condition == "DRY_RUN_OF_SERVICE"))
      for (change <- Seq("ADD COLUMNS (x INT)", "SET TBLPROPERTIES ('hoodie.clean.automatic' = 'false')")) {
        val error = refused(spark.sql(s"ALTER TABLE merganser.`$storage` $change"))
        assert(error.condition == "DRY_RUN_OF_SERVICE", change)
      }
      assert(call("repair_deduplicate").head.getLong(2) == 1)
    }
    assert(rows(storage).size == 2 && !spark.read.format("merganser").load(storage.toString).columns.contains("x"))
    assert(call("repair_deduplicate", ", dry_run => false").head.getLong(2) == 1)
    assert(rows(storage) == Seq(row("k0", 2).toString))
  }

  test("show_merge_config shows no secret") {
    upsert(storage, Seq(row("k0", 1)), options(mergeOnRead = false, bucketed = false))
    Seq("hoodie.record.merge.property.password", "hoodie.some.password").foreach { key =>
      val shown = call("show_merge_config", s", options => map('$key', 's3cret')")
      assert(shown.exists(_.getString(0) == key) && !shown.mkString.contains("s3cret"), key)
    }
  }

  test("a dry run of a service refuses arguments of others and accepts its procedure's name") {
    upsert(storage, Seq(row("k0", 1)), options(mergeOnRead = true, bucketed = false))
    upsert(storage, Seq(row("k0", 2)), Map.empty)
    def dry(service: String, more: String = "") = call("dry_run_service", s", service => '$service'$more")
    for (argument <- Seq("order => 'v'", "order_strategy => 'linear'", "predicate => 'part = 1'", "partition => 'p'"))
      assert(refused(dry("compaction", s", $argument")).condition == "CALL_ARGUMENT_INVALID", argument)
    assert(dry("compaction").size == 1 && dry("run_compaction") == dry("compaction"))
    assert(dry("clustering", ", order => 'v'") == dry("run_clustering", ", order => 'v'"))
    assert(dry("archive_commits", ", min_commits => 1, max_commits => 2").isEmpty)
    assert(dry("remove_orphan_files").isEmpty)
  }

  test("USING hudi is refused in the session's catalog and in ours, and left to others") {
    def parsed(table: String): Any = spark.sessionState.sqlParser.parsePlan(s"CREATE TABLE $table (id INT) USING hudi")
    inSession(
      "spark.sql.catalog.lake" -> classOf[MerganserLakeCatalog].getName,
      "spark.sql.catalog.lake.warehouse" -> storage.toString,
      "spark.sql.catalog.other" -> "com.example.OtherCatalog"
    ) {
      for (table <- Seq("t", "default.t", "spark_catalog.default.t", "lake.default.t"))
        assert(refused(parsed(table)).condition == "HUDI_NOT_LOADED", table)
      parsed("other.default.t")
    }
  }

  for (storesKeys <- Seq(true, false))
    test("two times of a repeated hour are two keys" + (if (storesKeys) "" else " where keys are not stored")) {
      val frame = spark.sql("SELECT timestamp_micros(id * 3600000000 + 1698537600000000) AS t, id FROM range(4)")
      frame.write.format("merganser").mode("append").option("hoodie.table.name", "t").option(
        "hoodie.datasource.write.recordkey.field", "t").option("hoodie.populate.meta.fields", storesKeys.toString)
        .option("hoodie.datasource.write.operation", "bulk_insert").save(storage.toString)
      inSession("spark.sql.session.timeZone" -> "Europe/Berlin") {
        assert(frame.selectExpr("CAST(t AS STRING)").distinct().count() < 4)
        val found = call("check_keys").head
        assert((found.getLong(0), found.getLong(1), found.getLong(2)) == ((4L, 4L, 0L)))
      }
      assert(refused(call("check_keys", ", limit => -1")).condition == "CALL_ARGUMENT_INVALID")
    }
}
