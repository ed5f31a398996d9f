# Guarantee (Tables of other engines): A table without key columns gives each inserted row its own key, the same if a
#   task runs again; each engine continues with the other's. Also: GeneratedKeysSuite
"""Tables without record key columns, as in Hudi's quick start: each inserted row gets a key of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, properties, refused, rows_of, save
from option_names import KEY, TYPE
from pyspark.sql import DataFrame, SparkSession
from sql_steps import Sql, each_kind

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
#: Types and versions; all of them with MERGANSER_FULL=1.
TABLES = [("cow", 9), ("mor", 9), ("mor", 6)]
TABLES += [("cow", 6), ("cow", 8), ("mor", 8)] if os.environ.get("MERGANSER_FULL") else []
each_table = pytest.mark.parametrize(("kind", "version"), TABLES)
OPERATION = "hoodie.datasource.write.operation"
PARTITION = "hoodie.datasource.write.partitionpath.field"
SCHEMA = "id int, v string, ts bigint, part string"
ROWS = [[1, "a", 1, "x"], [2, "b", 1, "x"], [2, "b", 1, "x"], [3, "c", 1, "y"]]
META = ["_hoodie_record_key", "_hoodie_partition_path"]
GENERATED = re.compile(r"\d{17}_\d+_\d+")


def keys(spark: SparkSession, path: Any) -> list[str]:
    """The record keys, which have the form of Hudi's and are all different."""
    found = [row[0] for row in load(spark, path).select("_hoodie_record_key").collect()]
    assert all(GENERATED.fullmatch(key) for key in found), found
    assert len(set(found)) == len(found), found
    return sorted(found)


def agree(ours: MerganserEngine, hudi: HudiEngine, path: Path) -> list[list[Any]]:
    """The rows, which both engines read alike, keys included."""
    columns = [*META, "id", "v", "ts", "part"]
    read = ours.read(path).select(columns)
    assert hudi.read(path).select(columns) == read
    keys(ours.spark, path)
    return sorted(row[2:] for row in read)


def of_version(version: int) -> dict[str, str]:
    """Options by which Hudi creates a table of a version, and does not upgrade it later."""
    return {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}


def settings(version: int) -> list[str]:
    return [f"SET {key}={value}" for key, value in of_version(version).items()]


def change(ours: MerganserEngine, path: Path) -> None:
    """Every way of ours to change rows: SQL by columns that are no key, and frames that were read from the table."""
    table, spark = f"merganser.`{path}`", ours.spark
    spark.sql(f"UPDATE {table} SET v = 'updated' WHERE id = 1")
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1, 'merged'), (8, 'new') AS s(id, v)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v, ts, part) VALUES (s.id, s.v, 5, 'x')"
    )
    read = load(spark, path).select(*META, "*")
    save(read.where("id = 8").selectExpr(*META, "id", "'again' AS v", "ts", "part"), path, {OPERATION: "upsert"})
    save(read.where("id = 9"), path, {OPERATION: "delete"})


@pytest.mark.sampled
@each_table
def test_both_engines_change_and_compact_hudis_table_without_key_columns(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path, spark = tmp_path / "t", ours.spark
    options = {"hoodie.table.name": "t", TYPE: TYPES[kind], PARTITION: "part", **of_version(version)}
    hudi.write(path, SCHEMA, ROWS, operation="insert", mode="overwrite", options=options)
    assert agree(ours, hudi, path) == ROWS
    first = keys(spark, path)
    save(frame(spark, [(9, "nine", 1, "y"), (9, "nine", 1, "y")], SCHEMA, parts=2), path, {})
    save(frame(spark, [(9, "bulk", 1, "y")], SCHEMA), path, {OPERATION: "bulk_insert"})
    assert set(first) < set(keys(spark, path))
    change(ours, path)
    changed = [[1, "merged", 1, "x"], ROWS[1], ROWS[2], [8, "again", 5, "x"]]
    assert agree(ours, hudi, path) == changed
    if kind == "mor":
        ours.compact(path)
        assert agree(ours, hudi, path) == changed
    name = f"keyless_{kind}"
    # In version 6 Hudi's MERGE stores null in columns that it does not assign.
    source, assigned = "SELECT 1 id, 'hudi' v", "v = s.v"
    if version == 6:
        source, assigned = f"{source}, 1L ts, 'x' part", "*"
    hudi.sql(
        *settings(version),
        f"CREATE TABLE {name} USING hudi LOCATION '{path}'",
        f"INSERT INTO {name} VALUES (10, 'hudi', 1, 'x')",
        f"UPDATE {name} SET v = 'hudi' WHERE id = 8",
        f"DELETE FROM {name} WHERE id = 2",
        f"MERGE INTO {name} t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {assigned}",
        f"DROP TABLE {name}",
    )
    assert agree(ours, hudi, path) == [[1, "hudi", 1, "x"], [8, "hudi", 5, "x"], [10, "hudi", 1, "x"]]


@pytest.mark.sampled
@each_table
def test_both_engines_change_and_compact_our_table_without_key_columns(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path, spark = tmp_path / "t", ours.spark
    options = {TYPE: TYPES[kind], PARTITION: "part", **of_version(version)}
    save(frame(spark, [tuple(row) for row in ROWS], SCHEMA, parts=2), path, options)
    stored = properties(path)
    assert stored["hoodie.table.version"] == str(version)
    assert "hoodie.table.recordkey.fields" not in stored
    if version > 6:
        assert stored["hoodie.table.keygenerator.type"] == "SIMPLE"
        assert stored["hoodie.record.merge.mode"] == "COMMIT_TIME_ORDERING"
    assert agree(ours, hudi, path) == ROWS
    hudi.write(path, SCHEMA, [[9, "hudi", 1, "y"]], operation="insert", options=of_version(version))
    name = f"ours_{kind}"
    hudi.sql(
        *settings(version),
        f"CREATE TABLE {name} USING hudi LOCATION '{path}'",
        f"UPDATE {name} SET v = 'hudi' WHERE id = 1",
        f"DELETE FROM {name} WHERE id = 3",
        f"MERGE INTO {name} t USING (SELECT 1 id, 'merged' v, 1L ts, 'x' part UNION ALL SELECT 8, 'hudi', 5L, 'x') s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"DROP TABLE {name}",
    )
    changed = [[1, "merged", 1, "x"], ROWS[1], ROWS[2], [8, "hudi", 5, "x"], [9, "hudi", 1, "y"]]
    assert agree(ours, hudi, path) == changed
    if kind == "mor":
        hudi.compact(path, **of_version(version))
        assert agree(ours, hudi, path) == changed
    change(ours, path)
    assert agree(ours, hudi, path) == [[1, "merged", 1, "x"], ROWS[1], ROWS[2], [8, "again", 5, "x"]]


@pytest.mark.e2e
@each_kind
def test_sql_creates_changes_and_overwrites_a_table_without_a_primary_key(sql: Sql, kind: str) -> None:
    table = sql.name()
    sql.run(
        f"CREATE TABLE {table} (id int, v string, ts bigint, part string) USING merganser PARTITIONED BY (part) "
        f"TBLPROPERTIES (type = '{kind}')"
    )
    sql.run(f"INSERT INTO {table} VALUES (1, 'a', 1, 'x'), (2, 'b', 1, 'x'), (2, 'b', 1, 'x')")
    with sql.settings({"hoodie.spark.sql.insert.into.operation": "upsert"}):
        sql.run(f"INSERT INTO {table} VALUES (3, 'c', 1, 'y')")
    (updated,) = sql.spark.sql(f"UPDATE {table} SET v = 'u' WHERE id = 2").collect()
    assert updated["updated"] == 2
    (merged,) = sql.spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1, 'm', 2L, 'x'), (5, 'n', 2L, 'z'), (5, 'n', 2L, 'z') "
        "AS s(id, v, ts, part)) s ON t.id = s.id AND t.part = s.part "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()
    assert (merged["updated"], merged["inserted"]) == (1, 2)
    assert "KEY_COLUMN_CHANGED" in sql.fails(f"UPDATE {table} SET part = 'z' WHERE id = 3")
    (deleted,) = sql.spark.sql(f"DELETE FROM {table} WHERE id = 3").collect()
    assert deleted["deleted"] == 1
    rows = [(1, "m", 2, "x"), (2, "u", 1, "x"), (2, "u", 1, "x"), (5, "n", 2, "z"), (5, "n", 2, "z")]
    assert sql.rows(table) == rows
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
        assert sql.rows(table) == rows
    copy = sql.name()
    sql.run(f"CREATE TABLE {copy} USING merganser AS SELECT * FROM {table}")
    assert sql.rows(copy) == rows
    both = f"SELECT _hoodie_record_key FROM {table} UNION SELECT _hoodie_record_key FROM {copy}"
    assert len(sql.run(both)) == 2 * len(rows)
    sql.run(f"INSERT OVERWRITE {table} PARTITION (part = 'x') VALUES (7, 'o', 1)")
    assert sql.rows(table) == [(5, "n", 2, "z"), (5, "n", 2, "z"), (7, "o", 1, "x")]
    sql.run(f"INSERT OVERWRITE {table} VALUES (7, 'p', 1, 'x')")
    assert sql.rows(table) == [(7, "p", 1, "x")]
    assert "primaryKey" not in sql.run(f"SHOW CREATE TABLE {table}")[0][0]


def test_a_frame_changes_stored_rows_only_if_it_has_their_keys(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    new = frame(spark, [(1, "a"), (2, "b")], "id int, v string")
    table = Table.create(spark, str(path), new.schema)
    assert table.record_key == ()
    assert table.insert(new).inserted == 2

    def changed(v: str, key: int) -> DataFrame:
        return load(spark, path).where(f"id = {key}").selectExpr("_hoodie_record_key", "id", f"'{v}' AS v")

    assert table.upsert(changed("upserted", 1)).updated == 1
    save(changed("default", 2), path, {})
    assert rows_of(load(spark, path)) == [(1, "upserted"), (2, "default")]
    for operation in ("upsert", "delete"):
        refused(lambda op=operation: save(new, path, {OPERATION: op}), "FRAME_WITHOUT_KEYS", "_hoodie_record_key")
    mixed = changed("mixed", 1).union(spark.sql("SELECT CAST(null AS string), 3, 'new'"))
    result = table.upsert(mixed)
    assert (result.updated, result.inserted) == (1, 1)
    assert table.delete(changed("", 2).select("_hoodie_record_key")).deleted == 1
    assert rows_of(load(spark, path)) == [(1, "mixed"), (3, "new")]
    keys(spark, path)
    save(new, path, {}, mode="overwrite")
    assert rows_of(load(spark, path)) == [(1, "a"), (2, "b")]


def test_a_write_that_needs_keys_is_refused_for_a_new_table_without_key_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, rows = tmp_path / "t", frame(spark, [(1, "a")], "id int, v string")
    forgotten = [{OPERATION: "upsert"}, {KEY: ""}, {"primaryKey": " "}]
    for options in forgotten:
        refused(lambda o=options: save(rows, path, o), "RECORD_KEY_REQUIRED", KEY, OPERATION)
    refused(lambda: save(rows, path, {"hoodie.index.type": "BUCKET"}), "KEYS_ARE_GENERATED", "BUCKET")
    assert not path.exists()
    save(rows, path, {})
    for key, value in {
        "hoodie.combine.before.insert": "true",
        "hoodie.datasource.write.insert.drop.duplicates": "true",
        "hoodie.datasource.insert.dup.policy": "fail",
    }.items():
        refused(lambda k=key, v=value: save(rows, path, {k: v}), "KEYS_ARE_GENERATED", key, value)
    refused(lambda: save(rows, path, {KEY: "id"}), "CONFIG_CONFLICT", KEY, "none")
    assert rows_of(load(spark, path)) == [(1, "a")]
