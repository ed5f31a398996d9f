package io.merganser.spark.capture

import io.merganser.ExtensiveTest
import io.merganser.merge.MerganserException
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.TableSuite
import org.apache.spark.sql.Row

/** CALL apply_changes and CALL create_table_for_changes, with events as each tool writes them. */
final class ApplyChangesSuite extends TableSuite with LocalSession {
  import ApplyChangesSuite._

  override protected def master: String = "local[1]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private def events(values: String*): Unit = {
    val session = spark
    import session.implicits._
    values.toDF("value").createOrReplaceTempView("events")
  }

  private def create(path: String, preset: String): Unit = {
    spark.sql(s"CALL create_table_for_changes(path => '$path', preset => '$preset', keys => 'id', " +
      "schema => 'id int, name string, note string')").collect()
    ()
  }

  private def apply(path: String, preset: String, more: String = ""): Row =
    spark.sql(s"CALL apply_changes(source => 'events', path => '$path', preset => '$preset'$more)").head()

  private def rows(path: String): Seq[Row] =
    spark.read.format("merganser").load(path).select("id", "name", "note").orderBy("id").collect().toSeq

  Histories.foreach { case (preset, history) =>
    test(s"events of $preset in any order make the rows of the source's table") {
      val path = s"$storage/$preset"
      create(path, preset)
      events(history.reverse: _*)
      val done = apply(path, preset)
      assert(rows(path) == Seq(Row(1, "new", "n")))
      assert(done.getAs[Long]("events") == history.size)
      assert((done.getAs[Long]("upserts"), done.getAs[Long]("deletes")) == ((3L, 1L)))
      assert(done.getAs[String]("operation") == "upsert")
    }
  }

  test("an unavailable value stays as it is stored, and an event that cannot be applied goes to the quarantine",
    ExtensiveTest) {
    val path = s"$storage/t"
    create(path, "debezium_postgres")
    events(postgres("c", 10, row(1, "old", "kept")))
    apply(path, "debezium_postgres")
    events(postgres("u", 20, row(1, "new", "__debezium_unavailable_value")), "{malformed", "null")
    val error = intercept[MerganserException](apply(path, "debezium_postgres"))
    assert(error.condition == "EVENTS_REFUSED")
    val done = apply(path, "debezium_postgres", s", quarantine => '${path}_aside'")
    assert(done.getAs[Map[String, Long]]("quarantined") == Map("JSON_MALFORMED" -> 1L))
    assert(done.getAs[Map[String, Long]]("skipped") == Map("tombstone" -> 1L))
    assert(rows(path) == Seq(Row(1, "new", "kept")))
    assert(spark.read.format("merganser").load(s"${path}_aside").select("reason").head() == Row("JSON_MALFORMED"))
  }

  test("apply_changes applies rows of a query by key, sequence and delete condition") {
    val path = s"$storage/rows"
    spark.sql(s"CALL create_table_for_changes(path => '$path', keys => 'id', sequence_by => 'seq', " +
      "schema => 'id int, name string, note string, seq bigint')").collect()
    val query = "(SELECT * FROM VALUES (1, 'a', 'x', 1L, 'I'), (2, 'b', 'y', 1L, 'I'), " +
      "(2, 'b', 'y', 2L, 'D') AS t(id, name, note, seq, op))"
    val done = spark.sql(s"""CALL apply_changes(source => "$query", path => '$path', sequence_by => 'seq', """ +
      "apply_as_deletes => \"op = 'D'\", except_columns => 'op')").head()
    assert((done.getAs[Long]("upserts"), done.getAs[Long]("deletes"), done.getAs[Long]("inserted")) == ((2L, 1L, 1L)))
    assert(rows(path) == Seq(Row(1, "a", "x")))
  }

  test("a preset accepts settings in JSON, and an unknown preset is refused with the known ones") {
    val path = s"$storage/settings"
    create(path, "debezium_mysql")
    events(Histories("debezium_mysql").head, "null")
    val error = intercept[MerganserException](apply(path, """{"name": "debezium_mysql", "tombstones": "refuse"}"""))
    assert(error.parameters("counts") == "1 TOMBSTONE")
    val unknown = intercept[MerganserException](apply(path, "debezium"))
    assert(unknown.condition == "CHANGES_PRESET_UNKNOWN")
    assert(unknown.getMessage.contains("maxwell"))
  }
}

private object ApplyChangesSuite {

  def row(id: Int, name: String, note: String = "n"): String = s"""{"id": $id, "name": "$name", "note": "$note"}"""

  def postgres(op: String, lsn: Int, row: String): String = debezium(op, s""""lsn": $lsn""", row)

  private def debezium(op: String, position: String, row: String) = {
    val image = if (op == "d") s""""before": $row, "after": null""" else s""""before": null, "after": $row"""
    s"""{"op": "$op", $image, "source": {"db": "shop", "table": "t", "ts_ms": 1, $position}, "ts_ms": 2}"""
  }

  /** An insert and an update of one row, an insert and a delete of another one, as a tool writes them. */
  private def history(event: (String, Int, String) => String): Seq[String] = Seq(event("c", 1, row(1, "old")),
    event("c", 2, row(2, "gone")), event("u", 3, row(1, "new")), event("d", 4, row(2, "gone")))

  private val Words = Map("c" -> "insert", "u" -> "update", "d" -> "delete")

  val Histories: Map[String, Seq[String]] = Map(
    "debezium_postgres" -> history(postgres),
    "debezium_mysql" -> history((op, at, row) => debezium(op, s""""file": "bin.000001", "pos": $at""", row)),
    "debezium_generic" -> history((op, at, row) => debezium(op, s""""scn": "$at"""", row)),
    "debezium_flattened" -> history((op, at, row) => s"""${row.dropRight(1)}, "__op": "$op", "__lsn": $at}"""),
    "maxwell" -> history((op, at, row) =>
      s"""{"database": "d", "table": "t", "type": "${Words(op)}", "ts": $at, "xid": 1, "data": $row}"""),
    "canal" -> history((op, at, row) =>
      s"""{"data": [$row], "database": "d", "table": "t", "type": "${Words(op).toUpperCase}", "es": $at, "id": 1}"""),
    "aws_dms" -> history((op, at, row) =>
      s"""{"data": $row, "metadata": {"operation": "${Words(op)}", "commit-timestamp": "2024-05-01T10:00:0${at}Z"}}"""),
    "ogg" -> history((op, at, row) =>
      s"""{"table": "T", "op_type": "${Map("c" -> "I", "u" -> "U", "d" -> "D")(op)}", "pos": "$at", """ +
        s"""${if (op == "d") s""""before": $row""" else s""""after": $row"""}}""")
  )
}
