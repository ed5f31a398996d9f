"""Tables of version 6 and 8 become version 9 when it is requested, and only then."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pytest
from frames import frame, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql

from interop.hudi_engine import HudiEngine

pytestmark = pytest.mark.e2e

VERSION = "hoodie.write.table.version"
UPGRADE = {"hoodie.write.auto.upgrade": "true"}
PAYLOAD = "hoodie.datasource.write.payload.class"
MODELS = "org.apache.hudi.common.model."
COLUMNS = "id int, name string, ts bigint"

#: Each version and each type of a table, once for each way to upgrade it; with MERGANSER_FULL=1 all pairs for both.
BY_A_WRITE = [("6", COW), ("8", MOR)]
BY_A_CALL = [("6", MOR), ("8", COW)]
if os.environ.get("MERGANSER_FULL"):
    BY_A_WRITE = BY_A_CALL = BY_A_WRITE + BY_A_CALL


def made(spark: SparkSession, path: Path, version: str, kind: str, **more: str) -> dict[str, str]:
    """A table with updates, a late-arriving row and deletes of both kinds in its files; its options."""
    options = {KEY: "id", ORDERING: "ts", TYPE: kind, **more}
    first = [(i, f"n{i}", 5) for i in range(6)]
    save(frame(spark, first, COLUMNS), path, {**options, VERSION: version})
    save(frame(spark, [(1, "newer", 6), (2, "late", 4), (9, "nine", 1)], COLUMNS), path, options)
    save(frame(spark, [(3, None, None)], COLUMNS), path, {**options, OPERATION: "delete"})
    return options


EXPECTED = [(0, "n0", 5), (1, "newer", 6), (2, "n2", 5), (4, "n4", 5), (5, "n5", 5), (9, "nine", 1)]


@pytest.mark.parametrize(("version", "kind"), BY_A_WRITE)
def test_a_write_with_auto_upgrade_upgrades_the_table_and_keeps_its_rows(
    spark: SparkSession, tmp_path: Path, version: str, kind: str
) -> None:
    path = tmp_path / "t"
    options = made(spark, path, version, kind)
    assert rows_of(load(spark, path)) == EXPECTED
    save(frame(spark, [(0, "after", 7), (1, "late again", 2)], COLUMNS), path, {**options, **UPGRADE})
    stored = properties(path)
    assert (stored["hoodie.table.version"], stored["hoodie.timeline.layout.version"]) == ("9", "2")
    assert stored["hoodie.table.initial.version"] == version
    assert stored["hoodie.table.ordering.fields"] == "ts"
    assert stored["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert "hoodie.compaction.payload.class" not in stored
    assert not [f.name for f in (path / ".hoodie").iterdir() if f.is_file() and f.suffix in (".commit", ".deltacommit")]
    after = [(0, "after", 7), *EXPECTED[1:]]
    assert rows_of(load(spark, path)) == after
    save(frame(spark, [(9, "ten", 10)], COLUMNS), path, options)
    assert rows_of(load(spark, path)) == [*after[:-1], (9, "ten", 10)]


@pytest.mark.parametrize(("version", "kind"), BY_A_CALL)
def test_hudi_reads_and_writes_a_table_upgraded_by_call(
    spark: SparkSession, hudi: HudiEngine, tmp_path: Path, version: str, kind: str
) -> None:
    path = tmp_path / "t"
    made(spark, path, version, kind)
    call = f"CALL upgrade_table(path => '{path}', to_version => 'NINE')"
    assert [tuple(row) for row in spark.sql(call).collect()] == [(True, None)]
    assert properties(path)["hoodie.table.version"] == "9"
    assert rows_of(load(spark, path)) == EXPECTED
    assert sorted(map(tuple, hudi.read(path).select(["id", "name", "ts"]))) == EXPECTED
    spark.sql(call)
    assert rows_of(load(spark, path)) == EXPECTED


@pytest.mark.parametrize("version", ["6", "8"])
def test_an_upgrade_replaces_a_payload_class_with_the_settings_of_version_9(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    path, payload = tmp_path / "t", MODELS + "PartialUpdateAvroPayload"
    options = {KEY: "id", ORDERING: "ts", TYPE: MOR, PAYLOAD: payload}
    save(frame(spark, [(1, "a", 5), (2, "b", 5)], COLUMNS), path, {**options, VERSION: version})
    save(frame(spark, [(1, None, 6)], COLUMNS), path, options)
    spark.sql(f"CALL upgrade_table(path => '{path}')")
    stored = properties(path)
    assert stored["hoodie.table.legacy.payload.class"] == payload
    assert stored["hoodie.table.partial.update.mode"] == "IGNORE_DEFAULTS"
    assert stored["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    save(frame(spark, [(2, None, 7)], COLUMNS), path, options)
    assert rows_of(load(spark, path)) == [(1, "a", 6), (2, "b", 7)]


def test_a_payload_class_whose_ordering_columns_are_missing_is_not_upgraded(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, payload = tmp_path / "t", MODELS + "debezium.MySqlDebeziumAvroPayload"
    columns = "id int, name string, _event_seq string, _change_operation_type string"
    options = {KEY: "id", ORDERING: "_event_seq", PAYLOAD: payload, VERSION: "8"}
    save(frame(spark, [(1, "a", "1.2", "c")], columns), path, options)
    call = f"CALL upgrade_table(path => '{path}')"
    refused(lambda: spark.sql(call).collect(), "ORDERING_FIELD_MISSING", "_event_bin_file", "upgrade")
    assert properties(path)["hoodie.table.version"] == "8"
    assert rows_of(load(spark, path)) == [(1, "a", "1.2", "c")]


def test_an_upgrade_is_refused_while_another_of_several_writers_is_writing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = made(spark, path, "8", COW)
    instant = datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]
    pending = [path / ".hoodie" / "timeline" / f"{instant}.{state}" for state in ("commit.requested", "inflight")]
    heartbeat = path / ".hoodie" / ".heartbeat" / instant
    heartbeat.parent.mkdir(exist_ok=True)
    for file in (*pending, heartbeat):
        file.touch()
    upgrading = {**options, **UPGRADE}
    several = {**upgrading, "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    rows = frame(spark, [(0, "after", 7)], COLUMNS)
    refused(lambda: save(rows, path, several), "UPGRADE_REFUSED", instant, "pending")
    assert all(file.exists() for file in pending)
    assert properties(path)["hoodie.table.version"] == "8"
    save(rows, path, upgrading)
    assert properties(path)["hoodie.table.version"] == "9"
    assert rows_of(load(spark, path)) == [(0, "after", 7), *EXPECTED[1:]]


def test_an_insert_under_the_session_setting_upgrades_and_another_version_is_refused(sql: Sql) -> None:
    name = sql.create("mor", **{VERSION: "8"})
    sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    assert "CALL_ARGUMENT_INVALID" in sql.fails(f"CALL upgrade_table(table => '{name}', to_version => 'SEVEN')")
    sql.run("SET hoodie.write.auto.upgrade=true")
    try:
        sql.run(f"INSERT INTO {name} VALUES (2, 1, 'b')")
    finally:
        sql.run("RESET hoodie.write.auto.upgrade")
    assert properties(sql.folder(name))["hoodie.table.version"] == "9"
    assert sql.rows(name) == [(1, 1, "a"), (2, 1, "b")]
