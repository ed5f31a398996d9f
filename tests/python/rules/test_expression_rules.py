"""Columns that are merged by SQL expressions over both versions: on all paths, and refused where they are not sound."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from places import ROOT
from pyspark.sql import SparkSession
from snippets import page_text, snippets
from sql_steps import Sql, each_kind

import merganser
from merganser import Table, TableType

pytestmark = pytest.mark.e2e

COLUMN = "merganser.rule.column."
ITEMS = "id int, ts bigint, seq int, status string, qty bigint, total decimal(12,2), meta struct<a: int, b: string>"
RULE = {
    "qty": "expr('coalesce(old.qty, 0) + new.qty')",
    "status": "expr('CASE WHEN new.seq > old.seq THEN new.status ELSE concat_ws(''<'', old.status, new.status) END')",
    "seq": "expr('greatest(old.seq, new.seq)')",
    "total": "expr('old.total + new.qty * 1.25')",
    "meta": "expr('if(new.meta.a > old.meta.a, new.meta, old.meta)')",
}
OPTIONS = {KEY: "id", ORDERING: "ts", **{COLUMN + name: function for name, function in RULE.items()}}


@pytest.fixture(params=[COW, MOR])
def table_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_each_path_evaluates_the_same_expressions_and_they_are_stored_as_data(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    stored = [(1, 5, 3, "a", 10, Decimal(1), (1, "x")), (2, 5, 1, "b", None, Decimal(2), None)]
    save(frame(spark, stored, ITEMS), path, options)
    changes = [
        (1, 7, 2, "c", 5, None, (2, "y")),
        (1, 6, 4, "late", 1, None, (0, "z")),
        (2, 9, None, "d", 4, None, (1, "n")),
    ]
    save(frame(spark, changes, ITEMS), path, options)
    expected = [(1, 7, 4, "late", 16, "8.50", (2, "y")), (2, 9, 1, "b<d", 4, "7.00", None)]

    def rows() -> list[tuple[object, ...]]:
        found = load(spark, path).selectExpr("id", "ts", "seq", "status", "qty", "string(total)", "meta")
        return [(*row[:-1], row[-1] and tuple(row[-1])) for row in rows_of(found)]

    assert rows() == expected
    assert json.loads(properties(path)["merganser.rule"])["columns"] == RULE
    narrow = {"status": ["late", "b<d"], "qty": [16, 4], "meta.b": ["y", None], "string(total)": ["8.50", "7.00"]}
    for column, values in narrow.items():
        assert [row[0] for row in load(spark, path).orderBy("id").selectExpr(column).collect()] == values, column
    assert load(spark, path).where("seq = 4").count() == 1
    if table_type == MOR:
        Table.load(spark, str(path)).compact()
        assert rows() == expected


def test_moved_and_compacted_rows_are_merged_by_the_same_expressions(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, columns = tmp_path / "t", "id int, ts bigint, p string, v string, n int"
    options = {
        KEY: "id",
        ORDERING: "ts",
        TYPE: table_type,
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.index.type": "GLOBAL_SIMPLE",
        COLUMN + "v": "expr('concat_ws(''é/\n'',\n old.v,   new.v)')",
        COLUMN + "n": "expr('old.n * 2 + new.n')",
    }
    for batch in (
        [(1, 5, "p", "a", 1), (2, 5, "p", "b", 1)],
        [(1, 6, "q", "c", 1), (2, 4, "q", "late", 1)],
        [(1, 7, "q", "d", 1), (1, 8, "p", "e", 1), (2, 7, "p", "f", 1)],
    ):
        save(frame(spark, batch, columns), path, options)
    expected = [(1, 8, "p", "aé/\ncé/\ndé/\ne", 15), (2, 7, "p", "bé/\nlateé/\nf", 7)]
    table = Table.load(spark, str(path))
    assert rows_of(table.df()) == expected
    assert not table.inspect.verify().problems
    assert "expr('old.n * 2 + new.n')" in str(table.rule)
    if table_type == MOR:
        table.services.compact_logs()
        assert rows_of(table.df()) == expected
        table.compact()
        assert rows_of(table.df()) == expected
    table.delete(frame(spark, [(1, "p")], "id int, p string"))
    save(frame(spark, [(1, 1, "p", "new", 3)], columns), path, options)
    assert rows_of(table.df()) == [(1, 1, "p", "new", 3), expected[1]]


def test_combining_bulk_inserts_and_change_data_evaluate_expressions(spark: SparkSession, tmp_path: Path) -> None:
    path, columns = tmp_path / "t", "id int, ts bigint, n int, m struct<a: int, b: string>"
    options = {KEY: "id", ORDERING: "ts", TYPE: MOR, COLUMN + "n": "expr('old.n * 2 + new.m.a')"}
    bulk = {**options, OPERATION: "bulk_insert", "hoodie.combine.before.insert": "true"}
    rows = [(1, 5, 1, (1, "x")), (1, 6, 1, (2, "y")), (1, 4, 1, (3, "z"))]
    save(frame(spark, rows, columns), path, bulk)
    save(frame(spark, [(1, 7, 1, (1, "w"))], columns), path, options)
    changed = Table.load(spark, str(path)).change_data().select("op", "before.n", "after.n")
    assert rows_of(changed) == [("i", None, 11), ("u", 11, 23)]
    assert rows_of(load(spark, path).select("m.b", "n")) == [("w", 23)]


def test_frames_without_a_table_are_merged_by_expressions(spark: SparkSession) -> None:
    columns = "id int, qty int"
    changes = frame(spark, [(1, 1), (1, 2), (2, 5)], columns)
    rule = {"qty": "expr('old.qty * 10 + new.qty')"}
    assert rows_of(merganser.combine(changes, "id", rule)) == [(1, 12), (2, 5)]
    stored = frame(spark, [(1, 3)], columns)
    assert rows_of(merganser.merge_frames(stored, changes, "id", rule)) == [(1, 312), (2, 5)]


def test_partial_rows_without_a_column_that_an_expression_reads_are_refused(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path = tmp_path / "t"
    table = Table.create(
        spark, path, "id int, ts bigint, seq int, status string, note string", record_key="id", ordering_by="ts",
        table_type=TableType(table_type),
        rule={"status": "expr('if(new.seq > old.seq, new.status, old.status)')"},
    )  # fmt: skip
    keep = {"spark.merganser.write.missingColumns": "keep"}
    table.upsert(frame(spark, [(1, 5, 1, "a", "n")], "id int, ts bigint, seq int, status string, note string"))
    table.upsert(frame(spark, [(1, 2, "b")], "id int, seq int, status string"), options=keep)
    table.upsert(frame(spark, [(1, 1, "m")], "id int, seq int, note string"), options=keep)
    expected = [(1, 5, 1, "b", "m")]
    assert rows_of(table.df()) == expected
    before = listing(path)
    refused(lambda: table.upsert(frame(spark, [(1, "c")], "id int, status string"), options=keep),
            "RULE_COLUMNS_MISSING", "'status'", "seq", "new.status")  # fmt: skip
    assert listing(path) == before
    assert rows_of(table.df()) == expected


@each_kind
def test_merge_must_assign_every_column_that_an_expression_reads_and_update_is_refused(sql: Sql, kind: str) -> None:
    rule = r"expr(\'if(new.seq > old.seq, new.qty, old.qty + new.qty)\')"
    table = sql.create(kind, "id int, ts bigint, seq int, qty bigint, name string", **{COLUMN + "qty": rule})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 1, 10, 'a'), (2, 5, 1, 10, 'b')")
    merge = f"MERGE INTO {table} t USING (SELECT 1 id, 1 seq, 4L qty UNION ALL SELECT 2, 2, 4L) s ON t.id = s.id "
    sql.run(merge + "WHEN MATCHED THEN UPDATE SET seq = s.seq, qty = s.qty")
    sql.run(merge + "WHEN MATCHED THEN UPDATE SET name = 'c'")
    expected = [(1, 5, 1, 14, "c"), (2, 5, 2, 4, "c")]
    assert sql.rows(table) == expected
    for statement, mention in (
        (merge + "WHEN MATCHED THEN UPDATE SET qty = s.qty", "Assign seq too"),
        (merge + "WHEN MATCHED THEN UPDATE SET seq = s.seq, qty = t.qty + s.qty", "twice"),
        (f"UPDATE {table} SET qty = 0 WHERE id = 1", "not replace it"),
    ):
        error = sql.fails(statement)
        assert "RULE_ASSIGNMENT_UNSUPPORTED" in error, statement
        assert "'qty'" in error, statement
        assert mention in error, statement
    assert sql.rows(table) == expected


def test_show_create_table_of_an_expression_rule_creates_the_same_rule(sql: Sql) -> None:
    name = sql.name()
    sql.run(
        f"CREATE TABLE {name} (id INT, ts BIGINT, note STRING) USING merganser TBLPROPERTIES (primaryKey = 'id', "
        f"orderingFields = 'ts', '{COLUMN}note' = \"expr('concat_ws('', '', old.note, new.note)')\")"
    )
    sql.run(f"INSERT INTO {name} VALUES (1, 5, 'a')")
    sql.run(f"MERGE INTO {name} t USING (SELECT 1 id, 4L ts, 'b' note) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    assert sql.rows(name) == [(1, 5, "a, b")]
    ((shown,),) = sql.run(f"SHOW CREATE TABLE {name}")
    again = sql.name()
    sql.run(shown.replace(name, again, 1))
    names = ("merganser.rule", "hoodie.record.merge.strategy.id")
    before, after = (properties(sql.folder(table)) for table in (name, again))
    assert [before[key] for key in names] == [after[key] for key in names]


def test_a_later_write_may_repeat_an_expression_but_not_change_it_or_its_columns_types(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    columns = "id int, ts bigint, seq int, qty int"
    options = {KEY: "id", ORDERING: "ts", COLUMN + "qty": "expr('old.qty + length(new.seq)')"}
    refused(lambda: save(frame(spark, [(1, 5, 1, 1)], columns), path,
                         {**options, COLUMN + "qty": "expr('old.qty + new.sum')"}),
            "RULE_INVALID", "'qty'", "new.sum", "Name one of")  # fmt: skip
    assert listing(path) == []
    options[COLUMN + "qty"] = "expr('old.qty + new.seq')"
    save(frame(spark, [(1, 5, 1, 1)], columns), path, options)
    save(frame(spark, [(1, 6, 2, 1)], columns), path, options)
    other = {COLUMN + "qty": "expr('old.qty - new.seq')"}
    refused(lambda: save(frame(spark, [(1, 7, 2, 1)], columns), path, other), "CONFIG_CONFLICT", "new.seq")
    spark.conf.set("hoodie.schema.on.read.enable", "true")
    try:
        rename = f"ALTER TABLE merganser.`{path}` RENAME COLUMN seq TO number"
        refused(lambda: spark.sql(rename), "SCHEMA_CONFLICT", "'qty'", "new.seq")
    finally:
        spark.conf.unset("hoodie.schema.on.read.enable")
    wider = frame(spark, [(1, 7, 4, 1)], columns.replace("seq int", "seq bigint"))
    save(wider, path, {})
    assert rows_of(load(spark, path)) == [(1, 7, 4, 7)]


def test_an_overflow_in_an_expression_fails_with_column_expression_and_key(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    columns = "id int, ts bigint, qty int"
    options = {KEY: "id", ORDERING: "ts", COLUMN + "qty": "expr('old.qty * new.qty')"}
    save(frame(spark, [(1, 5, 2**30)], columns), path, options)
    refused(lambda: save(frame(spark, [(1, 6, 4)], columns), path, options),
            "MERGER_FAILED", "'qty'", "old.qty * new.qty", "'1'")  # fmt: skip
    assert rows_of(load(spark, path)) == [(1, 5, 2**30)]


def test_the_pages_python_and_sql_create_tables_and_it_lists_every_function(
    spark: SparkSession, tmp_path: Path, sql: Sql
) -> None:
    page = "docs/merge-rules.md"
    python, statement = (snippets(page, of, "Expressions")[0] for of in ("python", "sql"))
    names: dict[str, object] = {"merganser": merganser, "spark": spark}
    exec(compile(python.replace("lake/shipments", str(tmp_path / "t")), "merge-rules.md", "exec"), names)
    shipments = names["shipments"]
    assert isinstance(shipments, Table)
    columns = "id string, step int, place string, scans int"
    rows = frame(spark, [("a", 2, "hub", None), ("a", 1, "late", None), ("a", 3, "door", None)], columns)
    at = rows.selectExpr(
        "id", "timestamp_seconds(step) at", "step", "place", "cast(1 AS decimal(10,2)) weight", "scans"
    )
    shipments.upsert(at)
    assert rows_of(shipments.df().select("step", "place", "scans")) == [(3, "door", 2)]
    name = sql.name()
    sql.run(statement.strip().rstrip(";").replace("shipments", name, 1))
    assert Table.load(spark, str(sql.folder(name))).rule["scans"] == shipments.rule["scans"]
    source = (ROOT / "jvm/merge/src/main/scala/io/merganser/merge/columns/ExpressionSyntax.scala").read_text()
    listed = re.search(r"val Functions: Seq\[String\] = Seq\((.*?)\)", source, re.S)
    quoted = re.search(r"^> .*?\n\n", page_text(page, "Functions of expressions"), re.M | re.S)
    assert listed
    assert quoted
    assert re.findall(r"`(\w+)`", quoted[0]) == re.findall(r'"(\w+)"', listed[1])
