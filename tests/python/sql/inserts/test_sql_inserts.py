"""INSERT INTO and INSERT OVERWRITE: of partitions, by name, by condition, and the same through data frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sql_steps import KINDS, Sql, each_kind

from merganser import MerganserError

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts bigint, p string"
SPARK_MODE = "spark.sql.sources.partitionOverwriteMode"
HUDI_MODE = "hoodie.datasource.overwrite.mode"


@contextmanager
def dynamic(sql: Sql) -> Iterator[None]:
    with sql.settings({SPARK_MODE: "dynamic"}):
        yield


def filled(sql: Sql, kind: str) -> str:
    """A table with partitions x, y and z, in x with an update that merge-on-read has in a log."""
    table = sql.create(kind, COLUMNS, by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 1, 'z')")
    sql.run(f"UPDATE {table} SET ts = 2 WHERE id = 1")
    return table


def last_commit(sql: Sql, table: str) -> str:
    return sql.commits(table)[-1]


# --- one partition -----------------------------------------------------------------------------------------------


@each_kind
def test_insert_overwrite_of_a_partition_replaces_its_rows_alone_in_one_replacecommit(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = len(sql.commits(table))
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') VALUES (7, 1), (8, 1)")
    assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x"), (8, 1, "x")]
    assert sql.commits(table)[before:] == ["replacecommit"]
    sql.run(f"UPDATE {table} SET ts = 3 WHERE p = 'x'")
    assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (7, 3, "x"), (8, 3, "x")]


@each_kind
def test_insert_overwrite_of_a_partition_by_no_rows_empties_it(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') SELECT id, ts FROM {table} WHERE id > 100")
    assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z")]
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'new') VALUES (9, 1)")
    assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (9, 1, "new")]


def test_insert_overwrite_of_a_partition_may_read_that_partition(sql: Sql) -> None:
    table = filled(sql, "mor")
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') SELECT id, ts + 10 FROM {table} WHERE p = 'x'")
    assert sql.rows(table) == [(1, 12, "x"), (2, 1, "y"), (3, 1, "z")]


@each_kind
def test_a_partly_static_overwrite_replaces_the_static_level_or_only_written_partitions(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, region string, day date", by="region, day")
    rows = "(1, 1, 'eu', DATE'2024-01-01'), (2, 1, 'eu', DATE'2024-01-02'), (3, 1, 'us', DATE'2024-01-01')"
    fill = f"INSERT OVERWRITE {table} VALUES {rows}"
    sql.run(fill)
    overwrite = f"INSERT OVERWRITE {table} PARTITION (region = 'eu', day) VALUES (9, 9, DATE'2024-01-02')"
    sql.run(overwrite)
    assert sql.rows(table, "id, region, cast(day as string)") == [(3, "us", "2024-01-01"), (9, "eu", "2024-01-02")]
    sql.run(fill)
    with dynamic(sql):
        sql.run(overwrite)
    assert sql.rows(table, "id, region, cast(day as string)") == [
        (1, "eu", "2024-01-01"),
        (3, "us", "2024-01-01"),
        (9, "eu", "2024-01-02"),
    ]


@pytest.mark.parametrize(
    ("kind", "type_", "one", "other"),
    [
        ("mor", "int", "7", "8"),
        ("cow", "boolean", "true", "false"),
        ("cow", "decimal(6,2)", "1.50", "2.00"),
        ("mor", "timestamp", "TIMESTAMP'2024-01-02 03:04:05'", "TIMESTAMP'2024-01-02 03:04:06'"),
        ("cow", "double", "0.5D", "1e10D"),
        ("cow", "varchar(3)", "'a/b'", "'b'"),
    ],
)
def test_a_partition_of_each_column_type_is_overwritten_by_value(
    sql: Sql, kind: str, type_: str, one: str, other: str
) -> None:
    table = sql.create(kind, f"id int, ts bigint, p {type_}", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, {one}), (2, 1, {other}), (3, 1, NULL)")
    literal = one.removesuffix("D") if type_ == "double" else one
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = {literal}) VALUES (4, 1)")
    assert sorted(r[0] for r in sql.rows(table, "id")) == [2, 3, 4]
    sql.run(f"INSERT INTO {table} REPLACE WHERE p IS NULL SELECT 5, 1L, CAST(NULL AS {type_})")
    assert sorted(r[0] for r in sql.rows(table, "id")) == [2, 4, 5]


@each_kind
def test_insert_into_a_partition_adds_rows_to_it(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    sql.run(f"INSERT INTO {table} PARTITION (p = 'x') VALUES (4, 1)")
    sql.run(f"INSERT INTO {table} PARTITION (p = 'w') (ts, id) VALUES (1, 5)")
    assert sql.rows(table) == [(1, 2, "x"), (2, 1, "y"), (3, 1, "z"), (4, 1, "x"), (5, 1, "w")]
    assert "ts" in sql.fails(f"INSERT INTO {table} PARTITION (ts = 1) VALUES (4, 'x')")


@each_kind
def test_partitions_of_a_char_column_are_matched_without_padding(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, p char(3)", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 1, 'z'), (4, 1, 'abc')")
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') SELECT 7, 1L")
    sql.run(f"INSERT INTO {table} REPLACE WHERE p = 'y' OR p IN ('abc', 'q') SELECT 8, 1L, 'y'")
    assert sql.rows(table) == [(3, 1, "z  "), (7, 1, "x  "), (8, 1, "y  ")]
    sql.run(f"TRUNCATE TABLE {table} PARTITION (p = 'y')")
    sql.run(f"ALTER TABLE {table} DROP PARTITION (p = 'z')")
    assert sql.rows(table) == [(7, 1, "x  ")]
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') SELECT id, ts FROM {table} WHERE id < 0")
    assert sql.rows(table) == []


@each_kind
@pytest.mark.parametrize("number", ["tinyint", "smallint"])
def test_partitions_of_small_numbers_are_overwritten(sql: Sql, kind: str, number: str) -> None:
    table = sql.create(kind, f"id int, ts bigint, p {number}", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 1), (2, 1, 2)")
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 1) SELECT 7, 1L")
    assert sql.rows(table) == [(2, 1, 2), (7, 1, 1)]


@each_kind
def test_one_statement_may_overwrite_partitions_of_several_tables(sql: Sql, kind: str) -> None:
    one, other, appended = filled(sql, kind), filled(sql, kind), sql.create(kind, COLUMNS, by="p")
    statement = (
        f"FROM (SELECT 7 AS id, 1L AS ts) INSERT OVERWRITE TABLE {one} PARTITION (p = 'x') SELECT id, ts "
        f"INSERT OVERWRITE TABLE {other} SELECT id, ts, 'y' INSERT INTO {appended} SELECT id, ts, 'w'"
    )
    sql.run(statement)
    assert sql.rows(one) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x")]
    assert sql.rows(other) == [(7, 1, "y")]
    with dynamic(sql):
        sql.run(
            f"WITH w AS (SELECT 8 AS i) {statement}".replace("SELECT 7 AS", "SELECT i AS").replace("ts)", "ts FROM w)")
        )
    assert sql.rows(one) == [(2, 1, "y"), (3, 1, "z"), (8, 1, "x")]
    assert sql.rows(other) == [(8, 1, "y")]
    assert sql.rows(appended) == [(7, 1, "w"), (8, 1, "w")]


# --- dynamic ------------------------------------------------------------------------------------------------------


@each_kind
def test_a_dynamic_overwrite_replaces_the_partitions_it_writes_to(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = len(sql.commits(table))
    with dynamic(sql):
        sql.run(f"INSERT OVERWRITE {table} VALUES (7, 1, 'x'), (8, 1, 'new')")
        assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x"), (8, 1, "new")]
        assert sql.commits(table)[before:] == ["replacecommit"]
        sql.run(f"INSERT OVERWRITE {table} SELECT * FROM {table} WHERE id > 100")
        assert len(sql.rows(table)) == 4
    sql.run(f"INSERT OVERWRITE {table} VALUES (9, 1, 'x')")
    assert sql.rows(table) == [(9, 1, "x")]


@each_kind
def test_hudis_overwrite_mode_has_the_effect_of_sparks(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    with sql.settings({HUDI_MODE: "dynamic"}):
        sql.run(f"INSERT OVERWRITE {table} VALUES (7, 1, 'x')")
        assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x")]
    with sql.settings({HUDI_MODE: "static"}), dynamic(sql):
        message = sql.fails(f"INSERT OVERWRITE {table} VALUES (8, 1, 'x')")
        assert "OPTION_CONFLICT" in message
        assert HUDI_MODE in message
    with sql.settings({HUDI_MODE: "static"}):
        sql.run(f"INSERT OVERWRITE {table} VALUES (8, 1, 'x')")
    assert sql.rows(table) == [(8, 1, "x")]


@each_kind
def test_a_dynamic_overwrite_of_a_table_without_partitions_replaces_all(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    with dynamic(sql):
        sql.run(f"INSERT OVERWRITE {table} VALUES (3, 1, 'c')")
    assert sql.rows(table) == [(3, 1, "c")]


def test_time_format_partitions_are_overwritten_dynamically_but_not_by_value(sql: Sql) -> None:
    table = sql.create(
        "cow",
        "id int, ts bigint, p string",
        by="p",
        **{
            "hoodie.table.keygenerator.type": "TIMESTAMP",
            "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
            "hoodie.keygen.timebased.output.dateformat": "yyyy-MM",
        },
    )
    sql.run(f"INSERT INTO {table} VALUES (1, 1, '2024-01-05'), (2, 1, '2024-02-05')")
    with dynamic(sql):
        sql.run(f"INSERT OVERWRITE {table} VALUES (3, 1, '2024-01-07')")
    assert [r[0] for r in sql.rows(table)] == [2, 3]
    message = sql.fails(f"INSERT OVERWRITE {table} PARTITION (p = '2024-01-07') VALUES (4, 1)")
    assert "OVERWRITE_CONDITION_UNSUPPORTED" in message
    assert [r[0] for r in sql.rows(table)] == [2, 3]
    assert sql.run(f"SHOW PARTITIONS {table}") == [("p=2024-01",), ("p=2024-02",)]


# --- REPLACE WHERE, writeTo ----------------------------------------------------------------------------------------


@each_kind
def test_replace_where_replaces_the_partitions_that_match_its_condition(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = len(sql.commits(table))
    sql.run(f"INSERT INTO {table} REPLACE WHERE p > 'x' AND upper(p) <= 'Z' VALUES (7, 1, 'y'), (8, 1, 'yy')")
    assert sql.rows(table) == [(1, 2, "x"), (7, 1, "y"), (8, 1, "yy")]
    assert sql.commits(table)[before:] == ["replacecommit"]


@each_kind
def test_replace_where_on_other_columns_is_refused_before_anything_is_written(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = len(sql.commits(table))
    for condition in ("id = 1", "p = 'x' AND ts > 0", "p = 'x' AND rand() < 2"):
        message = sql.fails(f"INSERT INTO {table} REPLACE WHERE {condition} VALUES (7, 1, 'x')")
        assert "OVERWRITE_CONDITION_UNSUPPORTED" in message
        assert table in message
    assert len(sql.commits(table)) == before


@each_kind
def test_replace_where_refuses_rows_outside_its_condition(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = sql.rows(table)
    message = sql.fails(f"INSERT INTO {table} REPLACE WHERE p = 'x' VALUES (7, 1, 'x'), (8, 1, 'y')")
    assert "ROWS_OUTSIDE_REPLACED" in message
    assert "p=y" in message
    assert sql.rows(table) == before


@each_kind
def test_write_to_appends_overwrites_partitions_and_overwrites_by_condition(sql: Sql, kind: str) -> None:
    from pyspark.sql import functions as f

    table = filled(sql, kind)

    def frame(*rows: tuple[int, int, str]):
        return sql.spark.createDataFrame(list(rows), COLUMNS)

    frame((1, 5, "x")).writeTo(table).append()
    assert sql.rows(table) == [(1, 5, "x"), (2, 1, "y"), (3, 1, "z")]
    frame((7, 1, "y"), (7, 2, "y")).writeTo(table).overwritePartitions()
    assert sql.rows(table) == [(1, 5, "x"), (3, 1, "z"), (7, 2, "y")]
    frame((8, 1, "z")).writeTo(table).overwrite(f.col("p") == "z")
    assert sql.rows(table) == [(1, 5, "x"), (7, 2, "y"), (8, 1, "z")]
    with pytest.raises(MerganserError, match="OVERWRITE_CONDITION_UNSUPPORTED"):
        frame((8, 1, "z")).writeTo(table).overwrite(f.col("id") == 8)
    frame((9, 1, "w")).writeTo(table).overwrite(f.lit(True))
    assert sql.rows(table) == [(9, 1, "w")]


def test_insert_into_of_a_frame_follows_the_sessions_overwrite_mode(sql: Sql) -> None:
    table = filled(sql, "mor")
    frame = sql.spark.createDataFrame([(7, 1, "x")], COLUMNS)
    with dynamic(sql):
        frame.write.insertInto(table, overwrite=True)
    assert sql.rows(table) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x")]
    frame.write.insertInto(table, overwrite=True)
    assert sql.rows(table) == [(7, 1, "x")]


# --- by name, and what is reported -------------------------------------------------------------------------------


def test_explain_of_an_insert_of_some_columns_shows_its_plan(sql: Sql) -> None:
    table = sql.create("cow", COLUMNS)
    for insert in f"INSERT INTO {table} (id) VALUES (1)", f"INSERT INTO {table} BY NAME SELECT 1 AS id":
        assert f"Insert spark_catalog.default.{table}" in sql.run("EXPLAIN " + insert)[0][0]
    assert sql.rows(table) == []


@each_kind
def test_insert_overwrite_accepts_column_lists_and_by_name(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') (ts, id) VALUES (5, 1)")
    assert (1, 5, "x") in sql.rows(table)
    sql.run(f"INSERT OVERWRITE {table} (p, id, ts) VALUES ('y', 2, 6)")
    assert sql.rows(table) == [(2, 6, "y")]
    sql.run(f"INSERT INTO {table} BY NAME SELECT 'z' p, 8 ts, 3 id")
    assert sql.rows(table) == [(2, 6, "y"), (3, 8, "z")]
    sql.run(f"INSERT OVERWRITE {table} BY NAME SELECT 'z' p, 9 ts, 3 id")
    assert sql.rows(table) == [(3, 9, "z")]


@each_kind
def test_the_sql_tab_shows_the_counts_of_an_insert(sql: Sql, kind: str) -> None:
    table = sql.create(kind, **{"hoodie.spark.sql.insert.into.operation": "upsert"})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(f"INSERT INTO {table} VALUES (1, 4, 'late'), (2, 5, 'b'), (3, 1, 'c'), (4, 1, 'd')")
    store = sql.spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList().takeRight(20)  # the store drops the oldest ones meanwhile
    reported: dict[str, str] = {}
    for execution in map(executions.apply, range(executions.size())):
        values = store.executionMetrics(execution.executionId())
        for metric in map(execution.metrics().apply, range(execution.metrics().size())):
            if metric.name().startswith("rows: ") and values.contains(metric.accumulatorId()):
                reported[metric.name()] = values.apply(metric.accumulatorId())
    assert reported["rows: inserted"] == "2"
    if kind == "cow":  # a log does not know yet who loses
        assert reported["rows: late"] == "1"
        assert (reported["rows: ties"], reported["rows: noOps"], reported["rows: filled"]) == ("1", "1", "0")


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_inserts_into_buckets_give_the_same_rows_on_both_table_types(sql: Sql, operation: str) -> None:
    found = []
    for kind in KINDS:
        table = sql.create(
            kind,
            **{
                "hoodie.index.type": "BUCKET",
                "hoodie.bucket.index.num.buckets": "1",
                "hoodie.spark.sql.insert.into.operation": operation,
            },
        )
        sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (1, 4, 'late'), (2, 1, 'b')")
        sql.run(f"INSERT INTO {table} VALUES (1, 3, 'later'), (2, 2, 'b2'), (3, 1, 'c')")
        found.append(sql.rows(table))
    assert found[0] == found[1] == [(1, 5, "a"), (2, 2, "b2"), (3, 1, "c")]


@each_kind
def test_an_overwrite_from_the_table_itself_conflicts_with_commits_since_it_was_read(sql: Sql, kind: str) -> None:
    from pyspark.sql import functions as f

    table = filled(sql, kind)
    read = sql.spark.table(table).where("id < 3")
    sql.run(f"INSERT INTO {table} VALUES (4, 1, 'x')")
    with pytest.raises(MerganserError, match="COMMIT_CONFLICT"):
        read.writeTo(table).overwrite(f.lit(True))
    assert [r[0] for r in sql.rows(table)] == [1, 2, 3, 4]
