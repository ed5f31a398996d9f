"""Rows that a column of the frame marks as deletes: the column is boolean, as Hudi demands, and found in any case."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import frame, load, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_steps import Sql

import merganser
from merganser import Table

COLUMNS = "id int, ts bigint, v string"
FLAG = "_hoodie_is_deleted"
STREAM_OPERATION = "_hoodie_operation"
STORED = [(1, 1, "a"), (2, 1, "b")]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_each_write_refuses_a_delete_flag_that_is_not_boolean(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: kind}
    save(frame(spark, STORED, COLUMNS), path, options)
    for type_name, mark in ("string", "true"), ("int", 1), ("double", 1.0):
        rows = frame(spark, [(1, 2, "gone", mark)], f"{COLUMNS}, {FLAG} {type_name}")
        for operation in "upsert", "insert", "bulk_insert", "insert_overwrite":
            refused(
                lambda rows=rows, operation=operation: save(rows, path, {**options, OPERATION: operation}),
                "DELETE_FLAG_NOT_BOOLEAN",
                FLAG,
                type_name,
            )
        refused(lambda rows=rows: save(rows, tmp_path / "new", options), "DELETE_FLAG_NOT_BOOLEAN", FLAG)
        refused(lambda rows=rows: merganser.combine(rows, "id", ordering_by="ts"), "DELETE_FLAG_NOT_BOOLEAN", FLAG)
    assert rows_of(load(spark, path)) == STORED
    no_mark = frame(spark, [(2, 2, "b2")], COLUMNS).withColumn(FLAG, F.lit(None))
    save(no_mark, path, options)
    save(frame(spark, [(1, 2, "gone", True)], f"{COLUMNS}, {FLAG} boolean"), path, options)
    assert rows_of(load(spark, path)) == [(2, 2, "b2")]


def test_a_delete_flag_in_another_case_deletes_its_row_and_adds_no_column(sql: Sql, tmp_path: Path) -> None:
    spark, options = sql.spark, {KEY: "id", ORDERING: "ts"}
    marked = frame(spark, [(1, 2, "gone", True), (3, 1, "c", False)], f"{COLUMNS}, {FLAG.upper()} boolean")
    save(frame(spark, STORED, COLUMNS), tmp_path / "t", options)
    save(marked, tmp_path / "t", options)
    assert rows_of(load(spark, tmp_path / "t")) == [(2, 1, "b"), (3, 1, "c")]
    assert load(spark, tmp_path / "t").columns[-3:] == ["id", "ts", "v"]
    save(marked, tmp_path / "new", options)
    assert rows_of(load(spark, tmp_path / "new")) == [(3, 1, "c", False)]
    assert load(spark, tmp_path / "new").columns[-1] == FLAG
    assert rows_of(merganser.combine(marked, "id", ordering_by="ts")) == [(3, 1, "c")]
    name = sql.create("cow", COLUMNS)
    sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    marked.createOrReplaceTempView("marked")
    with sql.settings({"spark.merganser.sql.schemaEvolution": "true"}):
        sql.run(
            f"MERGE INTO {name} t USING marked s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    assert FLAG.upper() not in spark.table(name).columns


def test_alter_table_refuses_a_delete_flag_that_is_not_boolean(sql: Sql) -> None:
    name = sql.create("cow", f"{COLUMNS}, mark int")
    assert "DELETE_FLAG_NOT_BOOLEAN" in sql.fails(f"ALTER TABLE {name} ADD COLUMNS ({FLAG} int)")
    with sql.settings({"hoodie.schema.on.read.enable": "true"}):
        assert "DELETE_FLAG_NOT_BOOLEAN" in sql.fails(f"ALTER TABLE {name} RENAME COLUMN mark TO {FLAG}")
    sql.run(f"ALTER TABLE {name} ADD COLUMNS ({FLAG} boolean)")
    sql.run(f"ALTER TABLE {name} ADD COLUMNS (later int)")
    assert sql.spark.table(name).columns[-3:] == ["mark", FLAG, "later"]


# Guarantee (Writes): A column that marks deletes is found in any case, also by the stars of a `MERGE`; one that is not
#   boolean is refused. Also: test_merge_stars_delete_flagged_rows_in_a_table_without_a_flag_column,
#   test_each_write_refuses_a_delete_flag_that_is_not_boolean,
#   test_a_delete_flag_in_another_case_deletes_its_row_and_adds_no_column, FrameCheckSuite
@pytest.mark.parametrize("way", ["create", "statement", "select", "add", "rename"])
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_declared_delete_flag_is_stored_in_the_case_that_readers_expect(
    sql: Sql, tmp_path: Path, kind: str, way: str
) -> None:
    spark, written = sql.spark, FLAG.upper()
    if way == "create":
        table = Table.create(
            spark,
            str(tmp_path / "t"),
            f"{COLUMNS}, {written} boolean",
            record_key="id",
            ordering_by="ts",
            table_type={"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind],
        )
        target = f"merganser.`{table.path}`"
    elif way == "select":
        target = sql.name()
        sql.run(
            f"CREATE TABLE {target} USING merganser TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', "
            f"type = '{kind}') AS SELECT 9 AS id, 1L AS ts, 'z' AS v, false AS {written}"
        )
    else:
        marked = {"statement": f", {written} boolean", "rename": ", mark boolean"}.get(way, "")
        target = sql.create(kind, COLUMNS + marked)
        if way == "add":
            sql.run(f"ALTER TABLE {target} ADD COLUMNS ({written} boolean)")
        elif way == "rename":
            with sql.settings({"hoodie.schema.on.read.enable": "true"}):
                sql.run(f"ALTER TABLE {target} RENAME COLUMN mark TO {written}")
    assert spark.table(target).columns[-1] == FLAG
    sql.run(f"INSERT INTO {target} VALUES (1, 1, 'a', false), (2, 1, 'b', false)")
    sql.run(f"UPDATE {target} SET {written} = true, ts = 2 WHERE id = 1")
    assert 1 not in {row["id"] for row in spark.table(target).collect()}


@pytest.mark.parametrize("evolution", ["false", "true"])
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_merge_stars_delete_flagged_rows_in_a_table_without_a_flag_column(sql: Sql, kind: str, evolution: str) -> None:
    name = sql.create(kind, COLUMNS)
    rows = "VALUES (1, 1L, 'a'), (2, 1L, 'b'), (3, 5L, 'c')"
    sql.run(f"INSERT INTO {name} {rows}")
    source = (
        "(SELECT * FROM VALUES (1, 2L, 'gone', true), (2, 2L, 'b2', false), (3, 4L, 'late', true), "
        f"(4, 1L, 'd', null), (5, 1L, 'never', true) AS s(id, ts, v, {FLAG.upper()})) s"
    )
    merge = f"MERGE INTO {name} t USING {source} ON t.id = s.id"
    stars = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    expected = [(2, 2, "b2"), (3, 5, "c"), (4, 1, "d")]
    with sql.settings({"spark.merganser.sql.schemaEvolution": evolution}):
        sql.run(f"{merge} {stars}")
        assert rows_of(sql.spark.table(name)) == expected
        wrong = merge.replace("true", "1").replace("false", "0")
        assert "DELETE_FLAG_NOT_BOOLEAN" in sql.fails(f"{wrong} {stars}")
        # A clause that reads the mark decides on it, whatever its type.
        sql.run(f"{wrong} WHEN MATCHED AND s.{FLAG} = 1 THEN UPDATE SET v = 'marked' WHEN NOT MATCHED THEN INSERT *")
    found = {row["id"]: row["v"] for row in sql.spark.table(name).collect()}
    assert (found[3], found[5]) == ("marked", "never")
    assert sql.spark.table(name).columns[-3:] == ["id", "ts", "v"]


@pytest.mark.parametrize("column", [FLAG, FLAG.upper()])
def test_apply_changes_refuses_a_flag_column_and_shows_the_arguments_to_give(
    spark: SparkSession, tmp_path: Path, column: str
) -> None:
    table = Table.create(spark, str(tmp_path / "t"), COLUMNS, record_key="id", ordering_by="ts")
    table.upsert(frame(spark, STORED, COLUMNS))
    rows = frame(spark, [(1, 2, "gone", True), (2, 2, "b2", False)], f"{COLUMNS}, {column} boolean")
    with pytest.raises(ValueError, match=f"except_columns='{column}'.*apply_as_deletes='{column}'"):
        table.apply_changes(rows, keys="id", sequence_by="ts")
    table.apply_changes(rows, keys="id", sequence_by="ts", apply_as_deletes=column, except_columns=column)
    assert rows_of(table.df()) == [(2, 2, "b2")]


@pytest.mark.parametrize("kind", [COW, MOR])
@pytest.mark.parametrize("operation", ["upsert", "insert"])
def test_a_stream_row_with_a_delete_operation_removes_the_row_unless_it_is_late(
    spark: SparkSession, tmp_path: Path, kind: str, operation: str
) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: kind}
    save(frame(spark, [(key, 5, "a") for key in range(1, 6)], COLUMNS), path, options)
    changes = [(1, 6, "d", "D"), (2, 4, "late", "D"), (3, 6, "before", "-U"), (4, 6, "u", "U"), (5, 6, "n", None)]
    changed = frame(spark, changes, f"{COLUMNS}, {STREAM_OPERATION} string")
    merging = {"hoodie.merge.allow.duplicate.on.inserts": "false"}
    save(changed, path, {**options, **merging, OPERATION: operation})
    assert rows_of(load(spark, path)) == [(2, 5, "a"), (4, 6, "u"), (5, 6, "n")]
    assert STREAM_OPERATION not in load(spark, path).columns
    assert rows_of(merganser.combine(changed, "id", ordering_by="ts")) == [(4, 6, "u"), (5, 6, "n")]
    save(changed, tmp_path / "new", options)
    assert rows_of(load(spark, tmp_path / "new")) == [(4, 6, "u"), (5, 6, "n")]


def test_a_stored_string_column_named_like_the_flag_is_written_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    marker = {"hoodie.payload.delete.field": FLAG, "hoodie.payload.delete.marker": "true"}
    path, options, columns = tmp_path / "t", {KEY: "id", ORDERING: "ts"}, f"{COLUMNS}, {FLAG} string"
    save(frame(spark, [(*row, "false") for row in STORED], columns), path, {**options, **marker})
    save(frame(spark, [(1, 2, "gone", "true")], columns), path, options)
    assert rows_of(load(spark, path)) == [(2, 1, "b", "false")]
    assert Table.load(spark, str(path)).schema[FLAG].dataType.simpleString() == "string"
