# Guarantee (SQL and sessions): An `INSERT` whose query has the table's names in another order swaps no values: it is
#   refused, or matched by the setting.
"""Which column of a query an INSERT writes to which column of the table, where the statement leaves it open."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from sql_steps import Sql

pytestmark = pytest.mark.e2e

SETTING = "spark.merganser.sql.insertMatching"
#: The table's columns are k, a, b, p.
SWAPPED = "SELECT 1 AS k, 'B' AS b, 'A' AS a, 'x' AS p"
STATEMENTS = {
    "into": f"INSERT INTO {{t}} {SWAPPED}",
    "overwrite": f"INSERT OVERWRITE {{t}} {SWAPPED}",
    "another case": "INSERT INTO {t} SELECT 1 AS K, 'B' AS B, 'A' AS A, 'x' AS P",
    "a static partition": "INSERT INTO {t} PARTITION (p = 'x') SELECT 1 AS k, 'B' AS b, 'A' AS a",
    "an overwritten partition": "INSERT OVERWRITE {t} PARTITION (p = 'x') SELECT 1 AS k, 'B' AS b, 'A' AS a",
    "a dynamic partition": f"INSERT INTO {{t}} PARTITION (p) {SWAPPED}",
    "a view": "INSERT INTO {t} SELECT * FROM {v}",
    "a table": "INSERT INTO {t} TABLE {v}",
    "a query with definitions": f"WITH s AS ({SWAPPED}) INSERT INTO {{t}} SELECT * FROM s",
    "a union": f"INSERT INTO {{t}} {SWAPPED} UNION ALL SELECT 2, 'B', 'A', 'x'",
    "the second insert of several": f"FROM ({SWAPPED}) INSERT INTO {{t}} SELECT k, a, b, p WHERE k > 5 "
    "INSERT INTO {t} SELECT p, k, a, b",
    "a condition": f"INSERT INTO {{t}} REPLACE WHERE p = 'x' {SWAPPED}",
}

#: Further rows of a statement.
MORE = {"a union": [(2, "A", "B", "x")]}


def made(sql: Sql) -> tuple[str, str]:
    """A table with one row, and a view of a row whose columns are in another order."""
    table, view = sql.create("cow", "k int, a string, b string, p string", key="k", ordering=None, by="p"), sql.name()
    sql.run(f"INSERT INTO {table} VALUES (0, 'a0', 'b0', 'x')")
    sql.run(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {SWAPPED}")
    return table, view


def test_an_insert_of_the_tables_column_names_in_another_order_is_refused(sql: Sql) -> None:
    table, view = made(sql)
    for name, statement in STATEMENTS.items():
        message = sql.fails(statement.format(t=table, v=view))
        assert "INSERT_ORDER_UNDEFINED" in message, (name, message)
        assert [part for part in ("BY NAME", "column list", SETTING, "k, a, b") if part not in message] == [], name
    message = sql.fails(STATEMENTS["into"].format(t=table))
    assert "k, b, a, p" in message
    assert "k, a, b, p" in message
    assert sql.rows(table) == [(0, "a0", "b0", "x")]
    assert len(sql.commits(table)) == 1


def test_insert_into_of_a_frame_with_another_column_order_is_refused(sql: Sql) -> None:
    table, _ = made(sql)
    frame = sql.spark.sql(SWAPPED)
    listed = sql.spark.createDataFrame([(1, "B", "A", "x")], "k int, b string, a string, p string")

    def refused(rows: DataFrame, overwrite: bool) -> str:
        with pytest.raises((Py4JJavaError, PySparkException)) as caught:
            rows.write.insertInto(table, overwrite=overwrite)
        return str(caught.value)

    for rows in (frame, listed, frame.where("k > 0"), sql.spark.table(table).select("k", "b", "a", "p")):
        for overwrite in (False, True):
            message = refused(rows, overwrite)
            assert "INSERT_ORDER_UNDEFINED" in message
            assert "writeTo" in message
    assert sql.rows(table) == [(0, "a0", "b0", "x")]
    with sql.settings({SETTING: "name"}):
        frame.write.insertInto(table)
        listed.write.insertInto(table, overwrite=True)
    assert sql.rows(table) == [(1, "A", "B", "x")]
    with sql.settings({SETTING: "position"}):
        frame.write.insertInto(table, overwrite=True)
    assert sql.rows(table) == [(1, "B", "A", "x")]
    listed.writeTo(table).overwritePartitions()
    assert sql.rows(table) == [(1, "A", "B", "x")]


def test_the_setting_matches_insert_columns_by_name_or_by_position(sql: Sql) -> None:
    table, view = made(sql)
    # By position, of the columns of "the second insert of several" not even the types fit.
    by_position = ("into", "an overwritten partition", "a view", "a condition")
    for setting, row, names in (
        ("name", (1, "A", "B", "x"), tuple(STATEMENTS)),
        ("position", (1, "B", "A", "x"), by_position),
    ):
        for name in names:
            sql.run(f"TRUNCATE TABLE {table}")
            with sql.settings({SETTING: setting}):
                sql.run(STATEMENTS[name].format(t=table, v=view))
            assert sql.rows(table) == sorted([row, *MORE.get(name, [])]), (setting, name)
    assert "OPTION_VALUE_INVALID" in refused_setting(sql, STATEMENTS["into"].format(t=table))
    sql.run(f"ALTER TABLE {table} SET TBLPROPERTIES ('{SETTING}' = 'name')")
    sql.run(f"INSERT OVERWRITE {table} {SWAPPED}")
    assert sql.rows(table) == [(1, "A", "B", "x")]


def refused_setting(sql: Sql, statement: str) -> str:
    with sql.settings({SETTING: "names"}):
        return sql.fails(statement)


def test_inserts_of_values_other_names_column_lists_or_by_name_are_unaffected(sql: Sql) -> None:
    table, view = made(sql)
    source = sql.create("mor", "k int, b string, a string, p string", key="k", ordering=None)
    sql.run(f"INSERT INTO {source} VALUES (1, 'B', 'A', 'x')")
    one, swapped = (1, "A", "B", "x"), (1, "B", "A", "x")
    for statement, row in (
        ("VALUES (1, 'A', 'B', 'x')", one),
        ("SELECT 1, 'A', 'B', 'x'", one),
        ("SELECT 1 AS k, 'A' AS b, 'B' AS c, 'x' AS p", one),
        ("SELECT 1 AS k, 'A' AS b, 'B' AS b, 'x' AS p", one),
        ("SELECT k, a, b, p FROM {s}", one),
        ("(k, b, a, p) SELECT * FROM {s}", one),
        ("(k, a, b, p) SELECT * FROM {s}", swapped),
        ("(b, a, p, k) VALUES ('B', 'A', 'x', 1)", one),
        ("BY NAME SELECT * FROM {v}", one),
        ("PARTITION (p = 'x') SELECT k, a, b FROM {s}", one),
        ("PARTITION (p = 'x') (k, b, a) SELECT k, b, a FROM {s}", one),
        ("REPLACE WHERE p = 'x' SELECT k, a, b, p FROM {s}", one),
    ):
        sql.run(f"TRUNCATE TABLE {table}")
        sql.run(f"INSERT INTO {table} {statement.format(s=source, v=view)}")
        assert sql.rows(table) == [row], statement


def test_generated_names_of_values_are_not_matched_with_columns(sql: Sql) -> None:
    table = sql.create("cow", "col2 int, col1 int", key="col2", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (2, 1)")
    assert sql.rows(table, "col1, col2") == [(1, 2)]
    assert "INSERT_ORDER_UNDEFINED" in sql.fails(f"INSERT INTO {table} SELECT 1 AS col1, 2 AS col2")


def test_struct_fields_in_another_order_are_refused_or_matched_as_the_setting_chooses(sql: Sql) -> None:
    table = sql.create(
        "cow", "k int, s struct<a:string,b:string>, l array<struct<a:int,b:int>>", key="k", ordering=None
    )
    one = "named_struct('b', 'B', 'a', 'A')"
    other = "array(named_struct('b', 2, 'a', 1))"
    statement = f"INSERT INTO {table} SELECT 1, {one}, array(named_struct('a', 1, 'b', 2))"
    message = sql.fails(statement)
    assert "INSERT_ORDER_UNDEFINED" in message
    assert "s.b, s.a" in message
    assert "l.element.b, l.element.a" in sql.fails(f"INSERT INTO {table} SELECT 1 AS k, null AS s, {other} AS l")
    sql.run(f"INSERT INTO {table} SELECT 1, named_struct('x', 'A', 'y', 'B'), null")
    assert sql.rows(table, "k, s.a, s.b") == [(1, "A", "B")]
    with sql.settings({SETTING: "name"}):
        sql.run(f"INSERT OVERWRITE {table} SELECT 1, {one}, {other}")
        assert sql.run(f"SELECT s.a, l[0].a FROM {table}") == [("A", 1)]
        sql.run(f"INSERT OVERWRITE {table} SELECT {other} AS l, {one} AS s, 1 AS k")
        assert sql.run(f"SELECT s.a, l[0].a FROM {table}") == [("A", 1)]
    with sql.settings({SETTING: "position"}):
        sql.run(f"INSERT OVERWRITE {table} SELECT 1, {one}, {other}")
    assert sql.run(f"SELECT s.a, l[0].a FROM {table}") == [("B", 2)]
