"""Tables in the session catalog: CREATE, INSERT, SELECT, DROP, saveAsTable, and other formats beside ours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import __version__ as pyspark_version
from pyspark.errors import PySparkException
from sql_steps import Sql, each_kind, properties

import merganser
from merganser import MerganserError
from merganser.session import jar_for

pytestmark = pytest.mark.e2e

FRAME = "id int, ts bigint, v string"
OPTIONS = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.ordering.fields": "ts"}


# --- CREATE TABLE ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [("cow", "COPY_ON_WRITE"), ("mor", "MERGE_ON_READ")])
def test_create_table_stores_tblproperties_in_hoodie_properties(sql: Sql, kind: str, name: str) -> None:
    table = sql.create(kind, by="")
    stored = properties(sql.folder(table))
    assert stored["hoodie.table.type"] == name
    assert stored["hoodie.table.version"] == "9"
    assert stored["hoodie.table.name"] == table
    assert stored["hoodie.database.name"] == "default"
    assert stored["hoodie.table.recordkey.fields"] == "id"
    assert stored["hoodie.table.ordering.fields"] == "ts"
    assert stored["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert stored["hoodie.datasource.write.hive_style_partitioning"] == "true"
    assert sql.rows(table) == []


def test_create_table_accepts_precombinefield_and_hudis_full_names(sql: Sql) -> None:
    older = sql.create("mor", ordering=None, preCombineField="ts")
    assert properties(sql.folder(older))["hoodie.table.ordering.fields"] == "ts"
    full = sql.name()
    sql.run(
        f"CREATE TABLE {full} (id int, ts bigint, v string) USING merganser TBLPROPERTIES ("
        "'hoodie.datasource.write.table.type' = 'MERGE_ON_READ', 'hoodie.datasource.write.recordkey.field' = 'id', "
        "'hoodie.table.ordering.fields' = 'ts', 'hoodie.index.type' = 'BUCKET', "
        "'hoodie.bucket.index.num.buckets' = '2')"
    )
    stored = properties(sql.folder(full))
    assert stored["hoodie.table.type"] == "MERGE_ON_READ"
    assert stored["hoodie.bucket.index.num.buckets"] == "2"
    sql.run(f"INSERT INTO {full} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 1, 'c')")
    assert {f.name.split("-")[0] for f in sql.folder(full).glob("*.parquet")} == {"00000000", "00000001"}


@each_kind
def test_a_table_partitioned_by_two_columns_has_a_folder_for_each_pair_of_values(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, region string, day date", by="region, day")
    sql.run(
        f"INSERT INTO {table} VALUES (1, 1, 'a', 'eu', DATE'2024-01-02'), (2, 1, 'b', 'us', DATE'2024-01-02'), "
        "(3, 1, 'c', 'us', NULL)"
    )
    found = {str(f.parent.relative_to(sql.folder(table))) for f in sql.folder(table).rglob("*.parquet")}
    assert found == {
        "region=eu/day=2024-01-02",
        "region=us/day=2024-01-02",
        "region=us/day=__HIVE_DEFAULT_PARTITION__",
    }
    assert sql.rows(table, "id, region, cast(day as string)") == [
        (1, "eu", "2024-01-02"),
        (2, "us", "2024-01-02"),
        (3, "us", None),
    ]
    assert sql.run(f"SELECT id FROM {table} WHERE region = 'us' AND day = DATE'2024-01-02'") == [(2,)]


def test_partitions_are_plain_folders_if_hive_style_is_disabled(sql: Sql) -> None:
    plain = {"hoodie.datasource.write.hive_style_partitioning": "false"}
    table = sql.create("cow", "id int, ts bigint, region string", by="region", **plain)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'eu')")
    assert [f.parent.name for f in sql.folder(table).rglob("*.parquet")] == ["eu"]


@each_kind
def test_a_table_at_a_new_location_is_external_and_its_files_outlive_a_drop(
    sql: Sql, kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "out side, 100%20"
    table = sql.name()
    sql.run(
        f"CREATE TABLE {table} (id int, ts bigint, v string) USING merganser LOCATION '{place}' "
        f"TBLPROPERTIES (primaryKey = 'id', type = '{kind}', orderingFields = 'ts')"
    )
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    sql.run(f"ALTER TABLE {table} ADD COLUMNS (w int)")
    sql.run(f"DROP TABLE {table}")
    assert [tuple(r) for r in sql.spark.read.format("merganser").load(str(place)).collect()] == [(1, 1, "a", None)]


@pytest.mark.parametrize("columns", ["", "(id int, ts bigint, v string)"])
def test_create_table_at_the_location_of_a_table_takes_its_columns_settings_and_rows(
    sql: Sql, columns: str, tmp_path: Path
) -> None:
    frame = sql.spark.createDataFrame([(1, 5, "a")], FRAME)
    frame.write.format("merganser").options(**OPTIONS).save(str(tmp_path / "a table"))
    table = sql.name()
    sql.run(f"CREATE TABLE {table} {columns} USING merganser LOCATION '{tmp_path / 'a table'}'")
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 1 id, 4L ts, 'late' v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    assert sql.rows(table) == [(1, 5, "a")]


def test_create_table_over_a_table_with_other_settings_or_columns_is_refused(sql: Sql, tmp_path: Path) -> None:
    frame = sql.spark.createDataFrame([(1, 5, "a")], FRAME)
    frame.write.format("merganser").options(**OPTIONS).save(str(tmp_path / "t"))
    table = sql.name()
    start = f"CREATE TABLE {table}"
    end = f"USING merganser LOCATION '{tmp_path / 't'}'"
    assert "CONFIG_CONFLICT" in sql.fails(f"{start} {end} TBLPROPERTIES (primaryKey = 'ts')")
    assert "CONFIG_CONFLICT" in sql.fails(f"{start} {end} TBLPROPERTIES (type = 'mor')")
    other = sql.fails(f"{start} (id int, ts string, v string) {end}")
    assert re.match(r"\[COLUMNS_CONFLICT\] Cannot open table .*: column 'ts' is string, the table has bigint", other)
    for kind in ("int", "double", "date"):
        other = sql.fails(f"{start} (id int, ts bigint, v {kind}) {end}")
        assert re.match(
            rf"\[COLUMNS_CONFLICT\] Cannot open table .*: column 'v' is {kind}, the table has string", other
        )
    fewer = sql.fails(f"{start} (id int, v string) {end}")
    assert re.match(r"\[COLUMNS_CONFLICT\] .*column 'ts' \(bigint\) of the table is not declared.* or none", fewer)
    assert "CONFIG_CONFLICT" in sql.fails(
        f"{start} (id int, ts bigint, v string) {end.replace('LOCATION', 'PARTITIONED BY (v) LOCATION')}"
    )
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []


def test_create_table_uses_a_leftover_folder_only_if_location_names_it(sql: Sql, tmp_path: Path) -> None:
    table = sql.name()
    warehouse = sql.spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    frame = sql.spark.createDataFrame([(1, 5, "a")], FRAME)
    frame.write.format("merganser").options(**OPTIONS).save(f"{warehouse}/{table}")
    columns, keyed = "(id int, ts bigint, v string)", "TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts')"
    for statement in (
        f"CREATE TABLE {table} {columns} USING merganser {keyed}",
        f"CREATE TABLE {table} USING merganser",
        f"CREATE TABLE IF NOT EXISTS {table} {columns} USING merganser {keyed}",
        f"CREATE TABLE {table} USING merganser {keyed} AS SELECT 1 id, 1L ts, 'x' v",
    ):
        message = sql.fails(statement)
        assert message.startswith("[TABLE_FOLDER_TAKEN]")
        assert f"{warehouse}/{table}'" in message
        assert "LOCATION" in message
    with pytest.raises(merganser.TableExistsError, match=table):
        frame.write.format("merganser").options(**OPTIONS).saveAsTable(table)
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    sql.run(f"CREATE TABLE {table} {columns} USING merganser {keyed} LOCATION '{warehouse}/{table}'")
    sql.run(f"CREATE TABLE IF NOT EXISTS {table} {columns} USING merganser {keyed}")
    assert sql.rows(table) == [(1, 5, "a")]
    sql.run(f"CREATE OR REPLACE TABLE {table} USING merganser {keyed} AS SELECT 2 id, 1L ts, 'b' v")
    assert sql.rows(table) == [(2, 1, "b")]
    shutil.rmtree(f"{warehouse}/{table}")
    other = sql.name()
    Path(f"{warehouse}/{other}").mkdir()
    sql.run(f"CREATE TABLE {other} {columns} USING merganser {keyed}")
    lake = "lake_" + sql.name()[2:]
    sql.spark.conf.set(f"spark.sql.catalog.{lake}", "io.merganser.spark.MerganserLakeCatalog")
    sql.spark.conf.set(f"spark.sql.catalog.{lake}.warehouse", str(tmp_path))
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.csv").write_text("1")
    message = sql.fails(f"CREATE TABLE {lake}.raw {columns} {keyed}")
    assert message.startswith("[FOLDER_NOT_EMPTY]")
    assert "'a.csv'" in message


def test_drop_table_by_path_is_refused(sql: Sql, tmp_path: Path) -> None:
    place = tmp_path / "t"
    sql.spark.createDataFrame([(1, 5, "a")], FRAME).write.format("merganser").options(**OPTIONS).save(str(place))
    for words in ("TABLE", "TABLE IF EXISTS"):
        for end in ("", " PURGE"):
            message = sql.fails(f"DROP {words} merganser.`{place}`{end}")
            assert message.startswith("[DROP_BY_PATH]")
            assert str(place) in message
    assert sql.rows(f"merganser.`{place}`") == [(1, 5, "a")]
    assert "TABLE_OR_VIEW_NOT_FOUND" in sql.fails(f"DROP TABLE merganser.`{place}/none`")


def test_show_create_table_of_a_location_or_path_creates_an_equal_table(sql: Sql, tmp_path: Path) -> None:
    place = tmp_path / "t"
    sql.spark.createDataFrame([(1, 5, "a")], FRAME).write.format("merganser").partitionBy("v").options(
        **OPTIONS, **{"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.index.type": "BUCKET"}
    ).option("hoodie.bucket.index.num.buckets", "2").save(str(place))
    table, other = sql.name(), sql.name()
    sql.run(f"CREATE TABLE {table} USING merganser LOCATION '{place}'")
    stored = {
        "primaryKey": "id",
        "orderingFields": "ts",
        "type": "mor",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.datasource.write.hive_style_partitioning": "false",
    }
    for name in (table, f"merganser.`{place}`"):
        assert stored.items() <= dict(sql.run(f"SHOW TBLPROPERTIES {name}")).items()
        described = {r[0]: r[1] for r in sql.run(f"DESCRIBE TABLE EXTENDED {name}")}
        assert "primaryKey=id" in described["Table Properties"]
    (statement,) = sql.run(f"SHOW CREATE TABLE {table}")[0]
    sql.run(f"DROP TABLE {table}")
    sql.run(statement)
    assert sql.rows(table) == [(1, 5, "a")]
    sql.run(statement.replace(table, other).replace(str(place), str(tmp_path / "other")))
    sql.run(f"INSERT INTO {other} VALUES (1, 5, 'a')")
    made, first = properties(tmp_path / "other"), properties(place)
    ignored = {"hoodie.table.name", "hoodie.table.checksum", "hoodie.table.create.schema", "hoodie.database.name"}
    for key in (made.keys() | first.keys()) - ignored:
        assert made.get(key) == first.get(key), key


def test_create_table_refuses_invalid_keys_ordering_fields_and_settings(sql: Sql) -> None:
    def refused(columns: str, settings: str, by: str = "") -> str:
        return sql.fails(f"CREATE TABLE {table} ({columns}) USING merganser {by} TBLPROPERTIES ({settings})")

    table = sql.name()
    assert "RECORD_KEY_REQUIRED" in refused("id int", "primaryKey = ''")
    assert "RECORD_KEY_COLUMN_MISSING" in refused("id int", "primaryKey = 'key'")
    assert "ORDERING_FIELD_MISSING" in refused("id int", "primaryKey = 'id', orderingFields = 'ts'")
    assert "ORDERING_TYPE_UNORDERED" in refused("id int, a array<int>", "primaryKey = 'id', orderingFields = 'a'")
    assert "UNSUPPORTED_TYPE" in refused("id int, m map<int, int>", "primaryKey = 'id'")
    assert "UNSUPPORTED_COLUMN_NAME" in refused("id int, `a-b` int", "primaryKey = 'id'")
    assert "OPTION_VALUE_INVALID" in refused("id int", "primaryKey = 'id', type = 'cor'")
    nearest = refused("id int", "primaryKey = 'id', 'hoodie.index.typ' = 'SIMPLE'")
    assert "UNKNOWN_OPTION" in nearest
    assert "hoodie.index.type" in nearest
    assert "COLUMN_DEFAULT_UNSUPPORTED" in refused("id int, n int DEFAULT 1", "primaryKey = 'id'")
    assert "PARTITION_TRANSFORM_UNSUPPORTED" in refused(
        "id int, d date", "primaryKey = 'id'", "PARTITIONED BY (years(d))"
    )
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    # Nothing of it is left in the way of a right one.
    sql.run(f"CREATE TABLE {table} (id int) USING merganser TBLPROPERTIES (primaryKey = 'id')")


def test_create_table_refuses_or_keeps_an_existing_table(sql: Sql) -> None:
    table = sql.create("cow")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    again = f"TABLE {{}} {table} (id int, ts bigint, v string) USING merganser TBLPROPERTIES (primaryKey = 'id')"
    assert "TABLE_OR_VIEW_ALREADY_EXISTS" in sql.fails("CREATE " + again.format(""))
    sql.run("CREATE " + again.format("IF NOT EXISTS"))
    assert sql.rows(table) == [(1, 1, "a")]


# --- CREATE TABLE AS SELECT ------------------------------------------------------------------------------------


@each_kind
def test_create_table_as_select_makes_the_table_and_its_rows_in_one_commit(sql: Sql, kind: str) -> None:
    table = sql.name()
    sql.run(
        f"CREATE TABLE {table} USING merganser PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id', type = '{kind}', "
        "orderingFields = 'ts') AS SELECT 1 id, 2L ts, 'a' v, 'x' p UNION ALL SELECT 2, 3L, 'b', 'y'"
    )
    assert sql.rows(table) == [(1, 2, "a", "x"), (2, 3, "b", "y")]
    assert len(sql.commits(table)) == 1
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    assert sql.rows(table, "id, v") == [(1, "c"), (2, "b")]


def test_create_table_as_select_that_fails_leaves_no_table(sql: Sql) -> None:
    table = sql.name()
    made = f"CREATE TABLE {table} USING merganser TBLPROPERTIES (primaryKey = 'id') AS SELECT "
    assert "NULL_RECORD_KEY" in sql.fails(made + "cast(null as int) id, 'a' v")
    assert "RECORD_KEY_COLUMN_MISSING" in sql.fails(made + "1 key, 'a' v")
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    sql.run(made + "1 id, 'a' v")
    assert sql.rows(table) == [(1, "a")]


def test_create_table_as_select_succeeds_after_a_failed_attempt(sql: Sql, tmp_path: Path) -> None:
    table, place = sql.name(), tmp_path / "table"
    place.mkdir()
    keyed = "TBLPROPERTIES (primaryKey = 'id', type = 'mor', hoodie.index.type = 'BUCKET')"
    made = f"CREATE TABLE {table} USING merganser PARTITIONED BY (p) {keyed} LOCATION '{place}' AS "
    rows = "SELECT id, 'v' v, if(id = 9, repeat('x', {}), concat('p', id % 3)) p FROM range(10)"
    too_long = rows.format(300)  # no file system has such a name, which shows when the others are written
    sql.fails(made + too_long)
    sql.run(made + rows.format(1))
    assert sql.run(f"SELECT count(*), max(p) FROM {table}") == [(10, "x")]
    frames = tmp_path / "frames"
    for query in (too_long, rows.format(1)):
        write = sql.spark.sql(query).write.format("merganser").option("hoodie.datasource.write.recordkey.field", "id")
        if query is too_long:
            with pytest.raises((Py4JJavaError, PySparkException), match=r"x{200}"):
                write.partitionBy("p").save(str(frames))
        else:
            write.partitionBy("p").save(str(frames))
    assert sql.run(f"SELECT count(*), max(p) FROM merganser.`{frames}`") == [(10, "x")]


@each_kind
def test_create_or_replace_with_equal_settings_makes_one_replacecommit(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    replaced = f"CREATE OR REPLACE TABLE {table} USING merganser TBLPROPERTIES (primaryKey = 'id', type = '{kind}', "
    sql.run(replaced + "orderingFields = 'ts') AS SELECT 3 id, 1L ts, 'c' v")
    assert sql.rows(table) == [(3, 1, "c")]
    assert sql.commits(table)[1:] == ["replacecommit"]
    refused = sql.fails(replaced + "orderingFields = 'v') AS SELECT 4 id, 1L ts, 'd' v")
    assert "OVERWRITE_WITH_OTHER_SETTINGS" in refused
    assert "DROP TABLE" in refused
    assert sql.rows(table) == [(3, 1, "c")]


# --- INSERT ----------------------------------------------------------------------------------------------------


@each_kind
def test_insert_stores_a_second_row_of_a_stored_key(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {table} VALUES (1, 4, 'b'), (1, 3, 'c')")
    assert sql.rows(table) == [(1, 3, "c"), (1, 4, "b"), (1, 5, "a")]


@each_kind
@pytest.mark.parametrize(
    ("key", "value"), [("hoodie.spark.sql.insert.into.operation", "upsert"), ("hoodie.sql.insert.mode", "upsert")]
)
def test_insert_merges_rows_if_the_session_or_the_table_sets_upsert(sql: Sql, kind: str, key: str, value: str) -> None:
    by_table = sql.create(kind, **{key: value})
    by_session = sql.create(kind)
    sql.run(f"INSERT INTO {by_table} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {by_session} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {by_table} VALUES (1, 4, 'late'), (2, 1, 'n')")
    sql.run(f"SET {key} = {value}")
    try:
        sql.run(f"INSERT INTO {by_session} VALUES (1, 4, 'late'), (2, 1, 'n')")
    finally:
        sql.run(f"RESET {key}")
    assert sql.rows(by_table) == sql.rows(by_session) == [(1, 5, "a"), (2, 1, "n")]


@each_kind
def test_insert_runs_as_bulk_insert_if_configured(sql: Sql, kind: str) -> None:
    table = sql.create(kind, **{"hoodie.spark.sql.insert.into.operation": "bulk_insert"})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {table} VALUES (1, 4, 'b')")
    assert sql.rows(table) == [(1, 4, "b"), (1, 5, "a")]
    assert len(list(sql.folder(table).glob("*.parquet"))) == 2


@each_kind
def test_strict_insert_refuses_a_stored_key_and_writes_nothing(sql: Sql, kind: str) -> None:
    table = sql.create(kind, **{"hoodie.sql.insert.mode": "strict"})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    assert "DUPLICATE_KEY" in sql.fails(f"INSERT INTO {table} VALUES (2, 1, 'b'), (1, 9, 'c')")
    assert sql.rows(table) == [(1, 5, "a")]
    assert len(sql.commits(table)) == 1


@each_kind
def test_insert_refuses_a_null_key_only_if_the_query_returns_such_a_row(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} SELECT CAST(NULL AS int), 1, 'a' FROM range(0)")
    sql.run(f"INSERT INTO {table} SELECT NULL, 1, 'a' WHERE rand() > 2")
    assert "NULL_RECORD_KEY" in sql.fails(f"INSERT INTO {table} SELECT CAST(NULL AS int), 1, 'a' FROM range(1)")
    assert sql.rows(table) == []


@each_kind
def test_insert_accepts_column_lists_by_name_and_lossless_casts(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, n decimal(10,2)")
    sql.run(f"INSERT INTO {table} (v, id, ts) VALUES ('a', 1, 1)")
    sql.run(f"INSERT INTO {table} SELECT 2, 3, 4, 5")
    sql.run(f"INSERT INTO {table} BY NAME SELECT 1.5 n, 'c' v, 7 ts, 3 id")
    sql.run(f"INSERT INTO {table} BY NAME SELECT 1.5 n, 'c' v, 7 ts, 3 id")
    sql.run(f"INSERT INTO {table} BY NAME WITH own AS (SELECT 4 AS ID, 8 AS ts) SELECT * FROM own")
    assert "nowhere" in sql.fails(f"INSERT INTO {table} BY NAME SELECT 5 id, 8 ts, 1 nowhere")
    assert sql.rows(table, "id, ts, v, cast(n as string)") == [
        (1, 1, "a", None),
        (2, 3, "4", "5.00"),
        (3, 7, "c", "1.50"),
        (3, 7, "c", "1.50"),
        (4, 8, None, None),
    ]
    assert "CANNOT_SAFELY_CAST" in sql.fails(f"INSERT INTO {table} VALUES ('x', 1, 'a', 1)")


def test_insert_of_a_null_key_is_refused_with_its_column(sql: Sql) -> None:
    table = sql.create("cow")
    message = sql.fails(f"INSERT INTO {table} VALUES (NULL, 1, 'a')")
    assert "NULL_RECORD_KEY" in message
    assert "id" in message
    assert sql.commits(table) == []


@each_kind
def test_insert_overwrite_makes_one_replacecommit(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, p string", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'x'), (2, 5, 'y')")
    sql.run(f"UPDATE {table} SET ts = 6 WHERE id = 1")
    sql.run(f"INSERT OVERWRITE {table} VALUES (1, 1, 'x'), (3, 1, 'z')")
    assert sql.rows(table) == [(1, 1, "x"), (3, 1, "z")]
    assert sql.commits(table)[2:] == ["replacecommit"]
    sql.run(f"UPDATE {table} SET ts = 2 WHERE id = 1")
    assert sql.rows(table) == [(1, 2, "x"), (3, 1, "z")]


def test_insert_overwrite_may_read_its_own_table_and_return_no_rows(sql: Sql) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(f"INSERT OVERWRITE {table} SELECT id, ts + 1, v FROM {table} WHERE id > 1")
    assert sql.rows(table) == [(2, 6, "b")]
    sql.run(f"INSERT OVERWRITE {table} SELECT * FROM {table} WHERE id > 2")
    assert sql.rows(table) == []


# --- SELECT ----------------------------------------------------------------------------------------------------


@each_kind
def test_meta_columns_are_selected_by_name_and_not_by_a_star(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, p string", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'x')")
    sql.run(f"UPDATE {table} SET ts = 6")
    assert sql.spark.table(table).columns == ["id", "ts", "p"]
    ((key, path, time, seqno, file),) = sql.rows(
        table,
        "_hoodie_record_key, _hoodie_partition_path, _hoodie_commit_time, _hoodie_commit_seqno, _hoodie_file_name",
    )
    assert (key, path) == ("1", "p=x")
    assert seqno.startswith(time + "_")
    assert file
    assert sql.run(
        f"SELECT count(*) FROM {table} WHERE _hoodie_record_key = '1' AND _hoodie_partition_path = 'p=x'"
    ) == [(1,)]


@each_kind
def test_version_and_timestamp_as_of_return_earlier_rows(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    ((first,),) = sql.rows(table, "_hoodie_commit_time")
    sql.run(f"UPDATE {table} SET v = 'b'")
    ((second,),) = sql.rows(table, "_hoodie_commit_time")
    sql.run(f"DELETE FROM {table}")
    assert sql.run(f"SELECT v FROM {table} VERSION AS OF '{first}'") == [("a",)]
    assert sql.run(f"SELECT v FROM {table} VERSION AS OF '{second}'") == [("b",)]
    assert sql.rows(table) == []
    for read in (
        sql.spark.read.format("merganser").option("as.of.instant", first).load(str(sql.folder(table))),
        sql.spark.read.option("as.of.instant", first).table(table),
    ):
        assert [r.v for r in read.collect()] == ["a"]


def test_a_snapshot_read_plans_one_scan_that_merges_in_the_task(sql: Sql) -> None:
    table = sql.create("mor", "id int, ts bigint, v string, p string", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a', 'x'), (2, 1, 'b', 'y')")
    sql.run(f"UPDATE {table} SET v = 'c', ts = 2 WHERE id = 1")
    assert list(sql.folder(table).rglob(".*.log.*"))
    plan = sql.spark.sql(f"SELECT * FROM {table} WHERE ts > 0")._jdf.queryExecution().executedPlan().toString()
    words = [line.strip(" :+-*()0123456789").split(" ")[0].split("(")[0] for line in plan.strip().splitlines()]
    assert [word for word in words if word.startswith("BatchScan")] != []
    assert (
        not {word.split("[")[0] for word in words}
        - {"BatchScan", "Filter", "Project", "ColumnarToRow"}
        - {word for word in words if word.startswith("BatchScan")}
    ), plan
    assert "merged in task: true" in plan


# --- DESCRIBE, SHOW, DROP --------------------------------------------------------------------------------------


def test_describe_and_show_return_columns_partitions_and_properties(sql: Sql) -> None:
    table = sql.create("mor", "id int COMMENT 'the key', ts bigint, code varchar(3), p string", by="p")
    described = sql.run(f"DESCRIBE TABLE EXTENDED {table}")
    assert [r[:2] for r in described[:4]] == [("id", "int"), ("ts", "bigint"), ("code", "varchar(3)"), ("p", "string")]
    assert described[0][2] == "the key"
    details = {r[0]: r[1] for r in described[4:]}
    assert details["Provider"] == "merganser"
    assert details["Type"] == "MANAGED"
    assert (table, False) in [r[1:] for r in sql.run(f"SHOW TABLES LIKE '{table}'")]
    (statement,) = sql.run(f"SHOW CREATE TABLE {table}")[0]
    assert "USING merganser" in statement
    assert "PARTITIONED BY (p)" in statement
    assert "'primaryKey' = 'id'" in statement
    assert ("primaryKey", "id") in sql.run(f"SHOW TBLPROPERTIES {table}")


def test_char_and_varchar_columns_refuse_longer_strings(sql: Sql) -> None:
    table = sql.create("cow", "id int, ts bigint, code varchar(3), c char(2)")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'abc', 'x')")
    assert "EXCEED_LIMIT_LENGTH" in sql.fails(f"INSERT INTO {table} VALUES (2, 1, 'abcd', 'x')")
    assert sql.rows(table) == [(1, 1, "abc", "x ")]


@each_kind
def test_drop_removes_the_files_of_a_managed_table(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    place = sql.folder(table)
    sql.run(f"DROP TABLE {table}")
    assert not place.exists()
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    assert "TABLE_OR_VIEW_NOT_FOUND" in sql.fails(f"SELECT * FROM {table}")


def test_a_view_and_a_frame_of_a_table_in_a_database_see_later_commits(sql: Sql) -> None:
    sql.run("CREATE DATABASE IF NOT EXISTS birds")
    try:
        sql.run("CREATE TABLE birds.ducks (id int, n int) USING merganser TBLPROPERTIES (primaryKey = 'id')")
        sql.run("INSERT INTO birds.ducks VALUES (1, 1)")
        sql.run("CREATE OR REPLACE TEMP VIEW all_ducks AS SELECT * FROM birds.ducks")
        frame = sql.spark.table("birds.ducks")
        assert frame.count() == 1
        sql.run("INSERT INTO birds.ducks VALUES (2, 1)")
        assert sql.rows("all_ducks") == sql.rows("spark_catalog.birds.ducks") == [(1, 1), (2, 1)]
    finally:
        sql.run("DROP DATABASE birds CASCADE")


def test_a_write_refreshes_a_cached_table(sql: Sql) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    sql.run(f"CACHE TABLE {table}")
    assert sql.rows(table) == [(1, 1, "a")]
    sql.run(f"INSERT INTO {table} VALUES (2, 1, 'b')")
    assert sql.rows(table) == [(1, 1, "a"), (2, 1, "b")]
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    assert sql.rows(table) == [(1, 1, "c"), (2, 1, "b")]


# --- saveAsTable, insertInto, writeTo --------------------------------------------------------------------------


@each_kind
def test_save_as_table_creates_appends_and_overwrites_like_save(sql: Sql, kind: str) -> None:
    table = sql.name()
    options = {**OPTIONS, "hoodie.datasource.write.table.type": kind}

    def save(mode: str | None, rows: list[tuple[object, ...]], **more: str) -> None:
        writer = sql.spark.createDataFrame(rows, FRAME).write.format("merganser").options(**more)
        (writer.mode(mode) if mode else writer).saveAsTable(table)

    save(None, [(1, 5, "a"), (1, 6, "a2")], **options)
    assert sql.rows(table) == [(1, 6, "a2")]
    with pytest.raises(PySparkException, match="ALREADY_EXISTS"):
        save(None, [(9, 9, "no")], **options)
    with pytest.raises(PySparkException, match="ALREADY_EXISTS"):
        save("errorifexists", [(9, 9, "no")], **options)
    save("ignore", [(9, 9, "no")], **options)
    save("append", [(1, 4, "late"), (2, 1, "b")], **options)
    save("append", [(2, 2, "b2")])
    assert sql.rows(table) == [(1, 6, "a2"), (2, 2, "b2")]
    save("overwrite", [(3, 1, "c")], **options)
    save("overwrite", [(1, 1, "d")])
    assert sql.rows(table) == [(1, 1, "d")]
    assert sql.commits(table)[-2:] == ["replacecommit", "replacecommit"]
    with pytest.raises(MerganserError, match=r"OVERWRITE_WITH_OTHER_SETTINGS.*DROP TABLE"):
        save("overwrite", [(1, 1, "e")], **{**options, "hoodie.datasource.write.recordkey.field": "v"})
    assert sql.rows(table) == [(1, 1, "d")]


def test_save_as_table_with_a_path_makes_a_partitioned_external_table(sql: Sql, tmp_path: Path) -> None:
    table = sql.name()
    frame = sql.spark.createDataFrame([(1, 5, "x"), (2, 5, "y")], FRAME)
    writer = frame.write.format("merganser").options(**OPTIONS).partitionBy("v")
    writer.option("path", str(tmp_path / "t")).saveAsTable(table)
    assert properties(tmp_path / "t")["hoodie.table.partition.fields"] == "v"
    assert sql.rows(table) == [(1, 5, "x"), (2, 5, "y")]
    sql.run(f"DROP TABLE {table}")
    assert (tmp_path / "t" / ".hoodie").exists()


def test_save_as_table_of_bad_rows_leaves_no_table(sql: Sql) -> None:
    table = sql.name()
    frame = sql.spark.createDataFrame([(None, 5, "x")], FRAME)
    with pytest.raises(MerganserError, match="RECORD_KEY_REQUIRED"):
        frame.write.format("merganser").option("hoodie.datasource.write.operation", "upsert").saveAsTable(table)
    with pytest.raises(MerganserError, match="NULL_RECORD_KEY"):
        frame.write.format("merganser").options(**OPTIONS).saveAsTable(table)
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    frame.fillna(1).write.format("merganser").options(**OPTIONS).saveAsTable(table)
    assert sql.rows(table) == [(1, 5, "x")]


def test_insert_into_of_a_frame_duplicates_keys_and_write_to_upserts(sql: Sql) -> None:
    table = sql.create("cow")
    frame = sql.spark.createDataFrame([(1, 5, "a")], FRAME)
    frame.write.insertInto(table)
    frame.write.insertInto(table)
    assert sql.rows(table) == [(1, 5, "a"), (1, 5, "a")]
    frame.write.insertInto(table, overwrite=True)
    frame.writeTo(table).append()
    assert sql.rows(table) == [(1, 5, "a")]
    other = sql.name()
    frame.writeTo(other).using("merganser").tableProperty("primaryKey", "id").create()
    assert sql.rows(other) == [(1, 5, "a")]


# --- beside other formats, and with the jar alone --------------------------------------------------------------


def test_tables_of_other_formats_can_be_created_written_and_read_beside_ours(sql: Sql) -> None:
    ours, theirs, copy = sql.create("cow"), sql.name(), sql.name()
    sql.run(f"CREATE TABLE {theirs} (id int, ts bigint, v string) USING parquet PARTITIONED BY (v)")
    sql.run(f"INSERT INTO {theirs} VALUES (1, 1, 'a'), (2, 2, 'b')")
    sql.run(f"INSERT INTO {ours} SELECT * FROM {theirs}")
    sql.run(f"CREATE TABLE {copy} USING parquet AS SELECT * FROM {ours}")
    assert sql.rows(ours) == sql.rows(theirs) == sql.rows(copy) == [(1, 1, "a"), (2, 2, "b")]
    sql.spark.table(ours).write.mode("overwrite").saveAsTable(copy)
    sql.run(f"ALTER TABLE {copy} ADD COLUMNS (n int)")
    assert sql.rows(copy) == [(1, 1, "a", None), (2, 2, "b", None)]
    sql.run(f"INSERT OVERWRITE {theirs} VALUES (3, 3, 'c')")
    assert sql.rows(theirs) == [(3, 3, "c")]
    place = sql.folder(theirs)
    sql.run(f"DROP TABLE {theirs}")
    assert not place.exists()


@pytest.mark.extensive
def test_a_plain_session_with_the_jar_and_two_settings_works(tmp_path: Path) -> None:
    program = tmp_path / "plain.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys
            from pyspark.sql import SparkSession

            spark = (
                SparkSession.builder.master("local[1]")
                .config("spark.jars", {str(jar_for(pyspark_version))!r})
                .config("spark.sql.extensions", "io.merganser.spark.MerganserExtensions")
                .config("spark.sql.catalog.spark_catalog", "io.merganser.spark.MerganserCatalog")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.memory", "1g")
                .config("spark.sql.warehouse.dir", {str(tmp_path / "tables")!r})
                .config("spark.sql.shuffle.partitions", "1")
                .getOrCreate()
            )
            assert "merganser" not in sys.modules
            spark.sql("CREATE TABLE t (id int, ts bigint, v string) USING merganser "
                      "TBLPROPERTIES (primaryKey = 'id', type = 'mor', orderingFields = 'ts')")
            spark.sql("INSERT INTO t VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
            spark.sql("MERGE INTO t USING (SELECT 1 id, 6L ts, 'new' v UNION ALL SELECT 2, 4L, 'late' "
                      "UNION ALL SELECT 4, 1L, 'd') s ON t.id = s.id "
                      "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
            spark.sql("DELETE FROM t WHERE id = 3")
            spark.sql("CALL run_compaction(op => 'scheduleandexecute', table => 't')")
            print("ROWS", sorted(map(tuple, spark.sql("SELECT * FROM t").collect())))
            spark.stop()
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": "", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "ROWS [(1, 6, 'new'), (2, 5, 'b'), (4, 1, 'd')]" in done.stdout


@pytest.mark.e2e
def test_the_format_hudi_without_hudis_jar_is_refused_with_our_format_as_remedy(sql: Sql, tmp_path: Path) -> None:
    rows = sql.spark.range(1)
    stream = sql.spark.readStream.format("rate").load()
    of_stream = stream.writeStream.format("hudi").option("checkpointLocation", str(tmp_path / "c"))
    for use in (
        lambda: sql.spark.sql("CREATE TABLE h (id INT) USING hudi"),
        lambda: sql.spark.sql("CREATE TABLE h (id INT) USING org.apache.hudi"),
        lambda: sql.spark.sql("CREATE TABLE h USING HUDI AS SELECT 1 AS id"),
        lambda: sql.spark.sql(f"CREATE OR REPLACE TABLE h (id INT) USING hudi LOCATION '{tmp_path}'"),
        lambda: sql.spark.read.format("hudi").load(str(tmp_path)),
        lambda: sql.spark.read.format("hudi").schema("id int").load(str(tmp_path)),
        lambda: rows.write.format("hudi").mode("append").save(str(tmp_path / "t")),
        lambda: rows.write.format("hudi").saveAsTable("h"),
        lambda: sql.spark.readStream.format("hudi").load(str(tmp_path)),
        lambda: of_stream.start(str(tmp_path / "t")),
    ):
        with pytest.raises(merganser.MerganserError, match=r"Write format\('merganser'\)") as raised:
            use()
        assert raised.value.condition == "HUDI_NOT_LOADED"
    assert not (tmp_path / "t").exists()
    assert "h" not in [row[1] for row in sql.run("SHOW TABLES")]


@pytest.mark.e2e
def test_statements_of_other_formats_are_refused_with_their_replacement(sql: Sql) -> None:
    table = sql.create("cow")
    for statement, remedy in {
        f"VACUUM {table} RETAIN 0 HOURS": "CALL run_clean",
        f"optimize {table}": "CALL run_clustering",
        f"RESTORE TABLE {table} TO VERSION AS OF 1": "CALL restore_to_instant",
        f"DESCRIBE HISTORY {table}": "CALL show_history",
        f"DESC DETAIL {table}": "CALL show_table_properties",
        f"SHOW INDEXES FROM {table}": "CALL show_table_properties",
        f"SELECT * FROM table_changes('{table}', 1)": "hudi_table_changes",
        "WITH w AS (SELECT * FROM table_changes_by_path('/t', 1)) SELECT (SELECT 1), * FROM w": "hudi_table_changes",
        f"INSERT INTO {table} SELECT * FROM VALUES (1) WHERE 1 IN (SELECT 1 FROM Table_Changes('t', 1))": "each change",
        f"SELECT * FROM hudi_query_timeline('{table}')": "CALL show_timeline",
        f"SELECT * FROM hudi_filesystem_view('{table}')": "CALL show_fsview_latest",
        f"SELECT * FROM hudi_query('{table}', 'read_optimized')": "hoodie.datasource.query.type",
    }.items():
        with pytest.raises(merganser.MerganserError, match=remedy) as raised:
            sql.spark.sql(statement)
        assert raised.value.condition == "STATEMENT_OF_OTHER_FORMAT"
    sql.spark.range(1).createOrReplaceTempView("history")
    assert sql.run("DESCRIBE history id")
    sql.spark.catalog.dropTempView("history")
    for statement in (f"CREATE INDEX i ON {table} (v)", f"DROP INDEX i ON {table}"):
        with pytest.raises(merganser.MerganserError, match=r"index 'i' of '.*: a table has one index") as raised:
            sql.spark.sql(statement)
        assert raised.value.condition == "INDEX_UNSUPPORTED"
