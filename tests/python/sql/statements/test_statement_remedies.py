"""A statement that is refused says what to write instead, and that runs."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_steps import Sql, each_kind

from merganser import Table

COLUMNS = "id int, ts bigint, v double not null, s struct<a:int,b:int>"
ROW = "1, 1L, 1.5D, named_struct('a', 1, 'b', 2)"


@pytest.fixture
def table(sql: Sql) -> str:
    table = sql.create("cow", COLUMNS)
    sql.run(f"INSERT INTO {table} VALUES ({ROW})")
    return table


# --- views


@pytest.mark.parametrize("kind", ["VIEW", "TEMP VIEW", "GLOBAL TEMP VIEW"])
def test_a_view_as_target_is_refused_with_its_table_as_remedy(sql: Sql, table: str, kind: str) -> None:
    name = f"v_{table}"
    sql.run(f"CREATE {kind} {name} AS SELECT * FROM {table}")
    view = f"global_temp.{name}" if kind.startswith("GLOBAL") else name
    try:
        statements = (
            "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET ts = 2",
            "UPDATE {t} SET ts = 3 WHERE id = 1",
            "DELETE FROM {t} WHERE id = 1",
        )
        for statement in statements:
            message = sql.fails(statement.format(t=view))
            assert "VIEW_AS_TARGET" in message
            assert name in message
            named = message.split("Name the table instead: ")[1].split(".\n")[0].rstrip(".")
            assert named.endswith(f"{table}`")
            sql.run(statement.format(t=named))
        assert sql.rows(table) == []
    finally:
        sql.run(f"DROP VIEW {view}")


def test_a_view_of_a_path_as_target_is_refused_with_the_path_as_remedy(
    spark: SparkSession, sql: Sql, table: str
) -> None:
    path = sql.folder(table)
    spark.read.format("merganser").load(str(path)).createOrReplaceTempView("of_path")
    message = sql.fails("DELETE FROM of_path WHERE id = 1")
    assert "VIEW_AS_TARGET" in message
    assert f"merganser.`{path}`" in message
    sql.run(f"DELETE FROM merganser.`{path}` WHERE id = 1")
    assert sql.rows(table) == []


# --- null in a column that is NOT NULL


@pytest.mark.parametrize(
    "query",
    ["VALUES (2, 2L, null, null)", "SELECT 2, 2L, if(id = 1, null, 1D), s FROM {t}", "(id, ts) VALUES (2, 2L)"],
)
def test_null_in_a_not_null_column_is_refused_by_its_name(sql: Sql, table: str, query: str) -> None:
    message = sql.fails(f"INSERT INTO {table} {query.format(t=table)}")
    if query.startswith("(") and not sql.spark.version.startswith("3."):
        assert "Cannot find data for the output column `v`" in message  # by Spark 4 itself
    else:
        assert "[NULL_VALUE]" in message
        assert "column 'v' is NOT NULL" in message
    assert "NullPointerException" not in message.split("\n")[0]
    assert "INTERNAL_ERROR" not in message
    assert len(sql.rows(table)) == 1


def test_each_statement_refuses_null_in_not_null_columns_and_fields(spark: SparkSession, sql: Sql, table: str) -> None:
    nested = sql.create("mor", "id int, ts bigint, s struct<a:int not null>")
    sql.run(f"INSERT INTO {nested} VALUES (1, 1L, named_struct('a', 1))")
    message = sql.fails(f"INSERT INTO {nested} SELECT 2, 2L, named_struct('a', if(id = 1, null, 2)) FROM {nested}")
    assert "[NULL_VALUE]" in message
    assert "'s.a'" in message
    rows = spark.sql("SELECT 2 AS id, 2L AS ts, cast(null AS double) AS v, cast(null AS struct<a:int,b:int>) AS s")
    value = "if(id = 1, null, 2D)"
    source = f"(SELECT id, 2L AS ts, {value} AS v, s FROM {table})"
    for statement in (
        f"UPDATE {table} SET v = {value}",
        f"INSERT OVERWRITE {table} SELECT * FROM {source}",
        f"MERGE INTO {table} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        f"MERGE INTO {table} t USING {source} s ON t.id = s.id + 1 WHEN NOT MATCHED THEN INSERT *",
    ):
        message = sql.fails(statement)
        assert "[NULL_VALUE]" in message, statement
        assert "column 'v'" in message, statement
    with pytest.raises(Exception, match="NULL_VALUE"):
        rows.writeTo(table).append()
    sql.run(f"UPDATE {table} SET v = coalesce({value}, 0D)")
    assert sql.rows(table, "id, v") == [(1, 0.0)]
    sql.run(f"ALTER TABLE {table} ALTER COLUMN v DROP NOT NULL")
    rows.writeTo(table).append()
    assert sql.rows(table, "id, v") == [(1, 0.0), (2, None)]


# --- values of other types


def test_a_value_of_another_type_is_refused_with_a_cast_that_works(sql: Sql, table: str) -> None:
    cases = {
        "v = '2.5'": ("v = CAST('2.5' AS DOUBLE)", "Write CAST(… AS DOUBLE) in its place"),
        "s = named_struct('x', 3, 'y', 4)": (
            "s = CAST(named_struct('x', 3, 'y', 4) AS STRUCT<a: INT, b: INT>)",
            "CAST(… AS STRUCT<a: INT, b: INT>) for the whole struct",
        ),
        "s.b = '5'": ("s.b = CAST('5' AS INT)", "Write CAST(… AS INT) for"),
    }
    for refused, (cast, remedy) in cases.items():
        for statement in (
            "UPDATE {t} SET {set} WHERE id = 1",
            "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {set}",
        ):
            message = sql.fails(statement.format(t=table, set=refused))
            assert "ASSIGNMENT_REFUSED" in message
            assert remedy in message, message
            sql.run(statement.format(t=table, set=cast))
    assert sql.rows(table, "v, s.a, s.b") == [(2.5, 3, 5)]
    merge = (
        f"MERGE INTO {table} t USING (SELECT 1 AS id, 9L AS ts, {{v}} AS v, {{s}} AS s) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    message = sql.fails(merge.format(v="'7'", s="named_struct('a', 1, 'b', 2)"))
    assert "for UPDATE SET * and INSERT *, in the query of the source" in message
    sql.run(merge.format(v="CAST('7' AS DOUBLE)", s="named_struct('a', 1, 'b', 2)"))
    assert sql.rows(table, "v, s.a, s.b") == [(7.0, 1, 2)]


def test_a_struct_without_a_field_is_refused_with_a_struct_that_works(sql: Sql, table: str) -> None:
    merge = (
        f"MERGE INTO {table} t USING (SELECT 1 AS id, 9L AS ts, 2D AS v, {{s}} AS s) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    for statement in (merge, f"UPDATE {table} SET s = {{s}}"):
        message = sql.fails(statement.format(s="named_struct('b', 7)"))
        assert "Write named_struct('a', …, 'b', …) for `s`, or" in message
        sql.run(statement.format(s="named_struct('a', null, 'b', 7)"))
        assert sql.rows(table, "s.a, s.b") == [(None, 7)]


@pytest.mark.parametrize(
    ("kind", "element", "place"),
    [
        ("array<struct<a:int,b:int>>", "array({s})", "`l`.`element`"),
        ("map<string,struct<a:int,b:int>>", "map('k', {s})", "`l`.`value`"),
    ],
)
def test_a_struct_without_a_field_in_a_collection_is_refused_with_one_that_works(
    sql: Sql, kind: str, element: str, place: str
) -> None:
    table = sql.create("cow", f"id int, ts bigint, l {kind}")
    full, other = (element.format(s=f"named_struct({fields})") for fields in ("'a', 1, 'b', 2", "'x', 3, 'y', 4"))
    sql.run(f"INSERT INTO {table} VALUES (1, 1L, {full})")
    shown = "l[0]" if kind.startswith("array") else "l['k']"
    merge = (
        f"MERGE INTO {table} t USING (SELECT 1 AS id, 9L AS ts, {element} AS l) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    for statement in (merge, f"UPDATE {table} SET l = {element}"):
        message = sql.fails(statement.format(s="named_struct('b', 7)"))
        assert f"Write named_struct('a', …, 'b', …) for {place}, or" in message, message
        sql.run(statement.format(s="named_struct('a', null, 'b', 7)"))
        assert sql.rows(table, f"{shown}.a, {shown}.b") == [(None, 7)]
    message = sql.fails(f"UPDATE {table} SET l = {other}")
    cast = re.search(r"CAST\(… (AS .*)\) in its place", message)
    assert cast is not None, message
    sql.run(f"UPDATE {table} SET l = CAST({other} {cast[1]})")
    assert sql.rows(table, f"{shown}.a, {shown}.b") == [(3, 4)]


# --- times


def test_an_unquoted_time_is_read_by_its_digits_or_refused_with_its_quoted_form(
    spark: SparkSession, sql: Sql, table: str
) -> None:
    first = Table.load(spark, table).history()[0].instant
    sql.run(f"UPDATE {table} SET v = 9")
    query = "SELECT v FROM {t} TIMESTAMP AS OF {at}"
    assert sql.run(query.format(t=table, at=first)) == [(1.5,)]
    assert sql.run(query.format(t=table, at=4102444800)) == [(9.0,)]  # seconds since 1970
    for at, shown in {"2026": "'2026'", "2026-01-31": "'((2026 - 1) - 31)'"}.items():
        message = sql.fails(query.format(t=table, at=at))
        assert "AS_OF_INVALID" in message
        assert shown in message, message
    assert "Use a string in quotes" in message
    assert sql.run(query.format(t=table, at="'2100-01-31'")) == [(9.0,)]
    far = sql.fails(query.format(t=table, at="cast('4102444800000' AS bigint)"))
    assert "AS_OF_INVALID" in far
    assert "'4102444800000 seconds since 1970'" in far


# --- settings of the session, and functions of Hudi


def test_the_legacy_store_assignment_policy_is_refused_and_ansi_works(sql: Sql, table: str) -> None:
    statements = (
        f"INSERT INTO {table} VALUES (2, 2L, 2D, null)",
        f"UPDATE {table} SET ts = 3",
        f"MERGE INTO {table} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET ts = 4",
    )
    for statement in statements:
        with sql.settings({"spark.sql.storeAssignmentPolicy": "LEGACY"}):
            message = sql.fails(statement)
            assert "STORE_ASSIGNMENT_LEGACY" in message
            assert "SET spark.sql.storeAssignmentPolicy = ANSI" in message
            sql.run("SET spark.sql.storeAssignmentPolicy = ANSI")
            sql.run(statement)
    assert sql.rows(table, "id, ts") == [(1, 4), (2, 3)]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"hoodie.sql.insert.mode": "strict", "hoodie.sql.bulk.insert.enable": "true"}, "hoodie.sql.insert.mode"),
        ({"hoodie.datasource.insert.dup.policy": "drop"}, "hoodie.datasource.insert.dup.policy"),
        ({"hoodie.datasource.insert.dup.policy": "fail"}, "hoodie.datasource.insert.dup.policy"),
        ({"hoodie.datasource.write.insert.drop.duplicates": "true"}, "insert.drop.duplicates"),
    ],
)
def test_a_bulk_insert_with_a_setting_that_looks_up_keys_is_refused(
    sql: Sql, table: str, settings: dict[str, str], named: str
) -> None:
    bulk = {"hoodie.spark.sql.insert.into.operation": "bulk_insert"}
    insert = f"INSERT INTO {table} VALUES ({ROW})"
    with sql.settings(settings if "hoodie.sql.bulk.insert.enable" in settings else {**settings, **bulk}):
        message = sql.fails(insert)
        assert "OPTION_CONFLICT" in message
        assert named in message
        assert "bulk.insert.enable' = 'true'" in message or "insert.into.operation' = 'bulk_insert'" in message
    only = {key: value for key, value in settings.items() if "bulk" not in key}
    with sql.settings(only):  # the row is left out, or refused by its key
        if "drop" in str(only):
            sql.run(insert)
        else:
            assert "DUPLICATE_KEY" in sql.fails(insert)
    assert len(sql.rows(table)) == 1
    with sql.settings(bulk):
        sql.run(insert)
    assert len(sql.rows(table)) == 2


def test_the_function_hudi_metadata_is_refused_with_the_call_that_lists_files(sql: Sql, table: str) -> None:
    message = sql.fails(f"SELECT * FROM hudi_metadata('{table}')")
    assert "STATEMENT_OF_OTHER_FORMAT" in message
    assert "CALL show_fsview_latest(table => '...')" in message
    assert len(sql.run(f"CALL show_fsview_latest(table => '{table}')")) == 1


# --- rows of other partitions


@each_kind
def test_update_set_star_and_upsert_leave_rows_in_their_partition_if_rows_do_not_move(
    spark: SparkSession, sql: Sql, kind: str
) -> None:
    stays = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p", **stays)
    sql.run(f"INSERT INTO {table} VALUES (1, 1L, 'a', 'x')")
    source = "(SELECT 1 AS id, 2L AS ts, 'b' AS v, 'y' AS p)"
    sql.run(
        f"MERGE INTO {table} t USING {source} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert sql.rows(table) == [(1, 2, "b", "x")]
    Table.load(spark, table).upsert(spark.sql(f"SELECT * FROM {source}").withColumn("ts", F.lit(3).cast("bigint")))
    assert sql.rows(table) == [(1, 3, "b", "x")]
    explicit = f"MERGE INTO {table} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET p = s.p, v = s.v"
    assert "KEY_COLUMN_CHANGED" in sql.fails(explicit)
    sql.run(explicit.replace("p = s.p, ", ""))
    assert sql.rows(table) == [(1, 3, "b", "x")]
