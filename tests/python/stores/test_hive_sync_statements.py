"""Statements and services register their commits in a Hive metastore as data frames do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hive_lake import COW, MOR, SYNC, Lake

from merganser import MerganserError, Table

CHANGES = "SELECT * FROM VALUES (1, 'b', 2L, 'eu', DATE'2024-01-02'), (9, 'n', 1L, 'as', DATE'2024-01-09')"
MERGE = f"""
    MERGE INTO hive_changes t USING ({CHANGES} AS s (id, value, ts, region, day)) s
    ON t.id = s.id AND t.region = s.region AND t.day = s.day
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""

US, EU, AS = ("us", "2024-01-01"), ("eu", "2024-01-02"), ("as", "2024-01-09")

#: Statements in order, and the partitions after each of them.
STATEMENTS = [
    (
        "INSERT INTO hive_changes VALUES (1, 'a', 1L, 'eu', DATE'2024-01-02'), (2, 'a', 1L, 'us', DATE'2024-01-01')",
        {EU, US},
    ),
    (MERGE, {EU, US, AS}),
    ("UPDATE hive_changes SET value = 'u', ts = 5 WHERE id = 2", {EU, US, AS}),
    ("DELETE FROM hive_changes WHERE id = 1", {EU, US, AS}),
    ("ALTER TABLE hive_changes ADD COLUMNS (price DOUBLE)", {EU, US, AS}),
    ("ALTER TABLE hive_changes DROP PARTITION (region = 'as', day = DATE'2024-01-09')", {EU, US}),
    (
        "INSERT OVERWRITE hive_changes PARTITION (region = 'us', day = DATE'2024-01-01') "
        "SELECT 1, 'x', 1L, 1.5D WHERE false",
        {EU},
    ),
    ("INSERT OVERWRITE hive_changes VALUES (3, 'o', 1L, 1.5D, 'us', DATE'2024-01-01')", {US}),
    ("TRUNCATE TABLE hive_changes", set()),
]


@pytest.mark.parametrize("kind", ["cow", "mor"] if os.environ.get("MERGANSER_FULL") else ["mor"])
def test_every_statement_registers_its_commit_its_columns_and_its_partitions(
    lake: Lake, tmp_path: Path, kind: str
) -> None:
    database = f"statements_{kind}"
    options = {**lake.enabled, f"{SYNC}database": database, f"{SYNC}table_properties": "team=a=b\nowner=me"}
    listed = ", ".join(f"'{key}' = {value!r}" for key, value in options.items())
    lake.spark.sql(
        "CREATE TABLE hive_changes (id INT, value STRING, ts BIGINT, region STRING, day DATE) USING merganser "
        f"PARTITIONED BY (region, day) LOCATION '{tmp_path}/t' "
        f"TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = '{kind}', {listed})"
    )
    try:
        for statement, partitions in STATEMENTS:
            lake.spark.sql(statement)
            assert set(lake.client.partitions(database, "hive_changes")) == partitions, statement
            assert lake.is_current(tmp_path / "t", database, "hive_changes"), statement
        table = lake.client.table(database, "hive_changes")
        assert table.columns["price"] == "double"
        assert table.partition_columns == {"region": "string", "day": "date"}
        assert (table.properties["team"], table.properties["owner"]) == ("a=b", "me")
        suffixes = ["", "_ro", "_rt"] if kind == "mor" else [""]
        assert lake.client.tables(database) == {f"hive_changes{suffix}" for suffix in suffixes}
    finally:
        lake.spark.sql("DROP TABLE hive_changes")


def call(lake: Lake, path: Path) -> None:
    lake.spark.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{path}')")


def compact(lake: Lake, path: Path) -> None:
    Table.load(lake.spark, str(path)).compact()


def upgrade(lake: Lake, path: Path) -> None:
    lake.spark.sql(f"CALL upgrade_table(path => '{path}')")


@pytest.mark.parametrize("service", [call, compact, upgrade])
def test_a_service_registers_its_commit_with_the_options_of_the_session(
    lake: Lake, tmp_path: Path, service: Callable[[Lake, Path], None]
) -> None:
    path, name = tmp_path / "t", f"services_{service.__name__}"
    unpartitioned = {"hoodie.datasource.write.partitionpath.field": "", f"{SYNC}enable": ""}
    version = {"hoodie.write.table.version": "8"} if service is upgrade else {}
    for value in ("a", "b"):
        lake.write(path, lake.rows(f"(1, '{value}', 1L, 'x')"), **MOR, **unpartitioned, **version)
    assert name not in lake.client.tables("default")
    session = {**lake.enabled, f"{SYNC}table": name}
    try:
        for key, value in session.items():
            lake.spark.conf.set(key, value)
        service(lake, path)
        for suffix in ("", "_ro", "_rt"):
            assert lake.is_current(path, "default", name + suffix)
            assert not lake.client.table("default", name + suffix).partition_columns
    finally:
        for key in session:
            lake.spark.conf.unset(key)


def test_a_compaction_whose_registration_fails_is_committed_and_the_error_reports_it(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    off = {f"{SYNC}enable": ""}
    for value in ("a", "b"):
        lake.write(path, lake.rows(f"(1, '{value}', 1L, 'x')"), **MOR, **off)
    unreachable = {f"{SYNC}enable": "true", f"{SYNC}metastore.uris": "thrift://127.0.0.1:1"}
    table = Table.load(lake.spark, str(path))
    with pytest.raises(MerganserError, match=r"thrift://127\.0\.0\.1:1") as failed:
        table.compact(options=unreachable)
    assert failed.value.condition == "WRITE_COMMITTED_SYNC_FAILED"
    assert [commit.operation for commit in table.history()].count("COMPACT") == 1
    lake.write(path, lake.rows("(1, 'c', 1L, 'x')"), **MOR, **off)
    quiet = {**unreachable, f"{SYNC}ignore_exceptions": "true"}
    assert table.compact(options=quiet) is not None


@pytest.mark.parametrize("option", ["table_properties", "serde_properties"])
def test_a_malformed_property_line_is_refused_with_its_option_and_the_right_form(
    lake: Lake, tmp_path: Path, option: str
) -> None:
    with pytest.raises(MerganserError) as refused:
        lake.write(tmp_path / "t", lake.rows("(1, 'a', 1L, 'x')"), **COW, **{SYNC + option: "k=v\nteam: a"})
    assert refused.value.condition == "OPTION_VALUE_INVALID"
    assert all(part in str(refused.value) for part in (f"'{SYNC}{option}'", "'team: a'", "key=value"))
    assert not (tmp_path / "t").exists()
