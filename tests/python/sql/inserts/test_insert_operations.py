"""`SET hoodie.datasource.write.operation` in INSERT INTO, INSERT OVERWRITE and CREATE TABLE … AS SELECT, as in Hudi."""

from __future__ import annotations

from typing import Any

import pytest
from sql_steps import Sql

pytestmark = pytest.mark.e2e

OPERATION = "hoodie.datasource.write.operation"
OF_INSERTS = "hoodie.spark.sql.insert.into.operation"
MODE = "hoodie.datasource.overwrite.mode"

STORED = [(1, "one", "d1"), (2, "two", "d2")]
TWICE = [(1, "new", "d1"), (1, "one", "d1"), (2, "two", "d2"), (3, "three", "d3")]
MERGED = [(1, "new", "d1"), (2, "two", "d2"), (3, "three", "d3")]
ONLY_NEW = [(1, "new", "d1"), (3, "three", "d3")]
ROWS = "VALUES (1, 'new', 'd1'), (3, 'three', 'd3')"
ONE_PARTITION = [(2, "two", "d2"), (3, "three", "d1")]

#: Rows that Hudi 1.2.0 leaves of STORED. On copy-on-write tables a key that is inserted twice is counted with both.
INTO = {
    "upsert": MERGED,
    "UPSERT": MERGED,
    "insert": TWICE,
    "bulk_insert": TWICE,
    "insert_overwrite": MERGED,
    "insert_overwrite_table": ONLY_NEW,
    "delete": [(2, "two", "d2")],
    "delete_partition": [(2, "two", "d2")],
}
OVERWRITE = {
    "upsert": ONLY_NEW,
    "insert": ONLY_NEW,
    "bulk_insert": ONLY_NEW,
    "insert_overwrite": MERGED,
    "insert_overwrite_table": ONLY_NEW,
}


def filled(sql: Sql, kind: str, by: str = "day") -> str:
    table = sql.create(kind, "k int, v string, day string", key="k", ordering=None, by=by)
    sql.run(f"INSERT INTO {table} VALUES (1, 'one', 'd1'), (2, 'two', 'd2')")
    return table


def under(sql: Sql, settings: dict[str, str], statement: str, table: str) -> list[tuple[Any, ...]]:
    """The table's rows after a statement with these settings of the session."""
    with sql.settings(settings):
        sql.run(statement.format(t=table))
    return sql.rows(table)


def test_insert_into_runs_the_sessions_operation(sql: Sql) -> None:
    for number, (operation, rows) in enumerate(INTO.items()):
        table = filled(sql, ["cow", "mor"][number % 2])
        assert under(sql, {OPERATION: operation}, f"INSERT INTO {{t}} {ROWS}", table) == rows, operation
    table = filled(sql, "cow")
    statement = f"INSERT INTO {{t}} {ROWS}"
    assert under(sql, {OPERATION: "upsert", OF_INSERTS: "insert"}, statement, table) == MERGED
    table = filled(sql, "mor")
    assert under(sql, {OPERATION: "insert", OF_INSERTS: "upsert"}, statement, table) == TWICE
    table = filled(sql, "mor")
    frame = sql.spark.sql(f"SELECT * FROM {ROWS} AS r(x, y, z)")
    with sql.settings({OPERATION: "insert_overwrite"}):
        frame.write.insertInto(table)
    assert sql.rows(table) == MERGED


def test_insert_overwrite_replaces_rows_as_the_sessions_operation_sets(sql: Sql) -> None:
    for number, (operation, rows) in enumerate(OVERWRITE.items()):
        kind = ["cow", "mor"][number % 2]
        table = filled(sql, kind)
        before = len(sql.commits(table))
        assert under(sql, {OPERATION: operation}, f"INSERT OVERWRITE {{t}} {ROWS}", table) == rows, operation
        assert sql.commits(table)[before:] == ["replacecommit"]
    table = filled(sql, "mor")
    twice = "INSERT OVERWRITE {t} VALUES (1, 'a', 'd1'), (1, 'b', 'd1')"
    assert under(sql, {OPERATION: "upsert"}, twice, table) == [(1, "b", "d1")]
    # The operation is more explicit than the session's mode, in which it would be the partitions of the rows.
    both = {OPERATION: "insert_overwrite_table", MODE: "DYNAMIC"}
    assert under(sql, both, f"INSERT OVERWRITE {{t}} {ROWS}", table) == ONLY_NEW
    table = filled(sql, "mor")
    both = {OPERATION: "insert_overwrite", "spark.sql.sources.partitionOverwriteMode": "static"}
    assert under(sql, both, f"INSERT OVERWRITE {{t}} {ROWS}", table) == MERGED
    unpartitioned = filled(sql, "cow", by="")
    for operation in ("upsert", "insert_overwrite"):
        assert under(sql, {OPERATION: operation}, f"INSERT OVERWRITE {{t}} {ROWS}", unpartitioned) == ONLY_NEW
    table = filled(sql, "cow")
    with sql.settings({OPERATION: "insert_overwrite"}):
        sql.spark.sql("SELECT 3, 'three', 'd1'").write.insertInto(table, overwrite=True)
    assert sql.rows(table) == ONE_PARTITION


def test_insert_overwrite_of_a_partition_refuses_a_contradicting_operation(sql: Sql) -> None:
    statement = "INSERT OVERWRITE {t} PARTITION (day = 'd1') SELECT 3, 'three'"
    for operation in ("insert_overwrite", "bulk_insert"):
        assert under(sql, {OPERATION: operation}, statement, filled(sql, "cow")) == ONE_PARTITION
    table = filled(sql, "mor")
    for operation in ("upsert", "insert", "insert_overwrite_table"):
        with sql.settings({OPERATION: operation}):
            message = sql.fails(statement.format(t=table))
        assert "OPTION_CONFLICT" in message
        assert [text for text in (OPERATION, operation, "of some partitions") if text not in message] == []
        with sql.settings({OPERATION: operation, "spark.sql.sources.partitionOverwriteMode": "dynamic"}):
            assert "OPTION_CONFLICT" in sql.fails(statement.format(t=table))
    for operation in ("upsert", "insert"):
        with sql.settings({OPERATION: operation, MODE: "DYNAMIC"}):
            assert "OPTION_CONFLICT" in sql.fails(f"INSERT OVERWRITE {table} {ROWS}")
    for operation in ("delete", "delete_partition"):
        with sql.settings({OPERATION: operation}):
            assert "DELETE_NEEDS_APPEND" in sql.fails(statement.format(t=table))
            assert "DELETE_NEEDS_APPEND" in sql.fails(f"INSERT OVERWRITE {table} {ROWS}")
    assert sql.rows(table) == STORED


def test_create_table_as_select_runs_the_sessions_operation(sql: Sql) -> None:
    query = "SELECT * FROM VALUES (1, 'a', 'd1'), (1, 'b', 'd1') AS x(k, v, day)"
    twice = [(1, "a", "d1"), (1, "b", "d1")]
    made = f"USING merganser PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k') AS {query}"
    for operation, rows in (
        ("upsert", twice[1:]), ("insert", twice), ("bulk_insert", twice), ("insert_overwrite", twice),
        ("insert_overwrite_table", twice),
    ):  # fmt: skip
        table = sql.name()
        assert under(sql, {OPERATION: operation}, f"CREATE TABLE {{t}} {made}", table) == rows, operation
    assert under(sql, {OPERATION: "upsert"}, f"CREATE OR REPLACE TABLE {{t}} {made}", table) == twice[1:]
    assert under(sql, {OPERATION: "insert_overwrite"}, f"CREATE OR REPLACE TABLE {{t}} {made}", table) == twice
    table = sql.name()
    for operation in ("delete", "delete_partition"):
        with sql.settings({OPERATION: operation}):
            assert "DELETE_FROM_NO_TABLE" in sql.fails(f"CREATE TABLE {table} {made}")
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []


def test_an_unknown_session_operation_fails_inserts_and_no_other_statement(sql: Sql) -> None:
    table = filled(sql, "cow")
    with sql.settings({OPERATION: "upsrt"}):
        for statement in (f"INSERT INTO {table} {ROWS}", f"INSERT OVERWRITE {table} {ROWS}"):
            message = sql.fails(statement)
            assert "OPTION_VALUE_INVALID" in message
            assert "upsrt" in message
    assert sql.rows(table) == STORED
    for operation in ("insert", "delete", "insert_overwrite_table"):
        with sql.settings({OPERATION: operation}):
            sql.run(
                f"MERGE INTO {table} t USING (SELECT 1 AS k, 'm' AS v, 'd1' AS day) s ON t.k = s.k "
                "WHEN MATCHED THEN UPDATE SET *"
            )
            sql.run(f"UPDATE {table} SET v = 'u' WHERE k = 2")
            assert sql.rows(table) == [(1, "m", "d1"), (2, "u", "d2")]
            sql.run(f"UPDATE {table} SET v = 'one' WHERE k = 1")
    with sql.settings({OPERATION: "delete"}):
        sql.run(f"ALTER TABLE {table} DROP PARTITION (day = 'd2')")
        assert [row[0] for row in sql.rows(table)] == [1]
        sql.run(f"TRUNCATE TABLE {table}")
    assert sql.rows(table) == []
