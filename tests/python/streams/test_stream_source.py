"""Streams from a table: a snapshot, then what each later commit changed, whatever services do in between."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from feeds import SCHEMA, finish
from option_names import COW, MOR
from pyspark.sql import DataFrame, SparkSession
from sql_steps import each_kind

import merganser
from merganser import Table

KINDS = {"cow": COW, "mor": MOR}
MAX_FILES = "maxFilesPerTrigger"
MAX_BYTES = "maxBytesPerTrigger"
START = "hoodie.datasource.streaming.startOffset"


def create(spark: SparkSession, path: Path, kind: str = COW, **more: str) -> Table:
    named = {"hoodie.datasource.write.table.type": kind, **more}
    return Table.create(spark, str(path), SCHEMA, record_key="id", ordering_by="ts", options=named)


def upsert(spark: SparkSession, table: Table, *rows: tuple[int, int, str]) -> str:
    return table.upsert(spark.createDataFrame(rows, SCHEMA)).instant


def source(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.readStream.format("merganser").options(**options).load(str(path))


def follow(frame: DataFrame, folder: Path, **trigger: Any) -> None:
    """Read all that is there into files, each micro-batch once."""
    writing = frame.writeStream.format("json").option("checkpointLocation", str(folder / "checkpoint"))
    finish(writing.trigger(**(trigger or {"availableNow": True})).start(str(folder / "out")))


def read(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    """All rows that were returned so far."""
    out = spark.read.schema(SCHEMA).json(str(folder / "out"))
    return sorted(tuple(row) for row in out.collect())


def batches(folder: Path) -> int:
    return len([f for f in (folder / "checkpoint" / "commits").iterdir() if f.name.isdigit()])


# Guarantee (Streams): A stream from a table returns its rows once, then those that commits changed, and nothing of
#   services; limits count file groups of the snapshot, then commits. Also:
#   test_a_micro_batch_reads_commits_or_snapshot_file_groups_up_to_its_limits
@pytest.mark.e2e
@each_kind
def test_a_stream_returns_the_snapshot_and_then_changed_rows_but_nothing_of_services(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = create(spark, tmp_path / "t", KINDS[kind])
    upsert(spark, table, (1, 5, "a"), (2, 5, "b"), (3, 5, "c"))
    upsert(spark, table, (1, 6, "a2"))
    follow(source(spark, tmp_path / "t"), tmp_path)
    expected = [(1, 6, "a2"), (2, 5, "b"), (3, 5, "c")]
    assert read(spark, tmp_path) == expected
    follow(source(spark, tmp_path / "t"), tmp_path)
    assert batches(tmp_path) == 1

    upsert(spark, table, (2, 4, "late"), (3, 9, "c2"), (4, 1, "d"))
    if kind == "mor":
        table.compact()
    else:
        spark.sql(f"CALL run_clustering(path => '{table.path}', order => 'id')").collect()
    upsert(spark, table, (4, 2, "d2"))
    follow(source(spark, tmp_path / "t"), tmp_path)
    expected += [(3, 9, "c2"), (4, 2, "d2")]
    assert read(spark, tmp_path) == sorted(expected)
    assert batches(tmp_path) == 2

    # A service alone is no micro-batch.
    if kind == "mor":
        table.compact()
    table.clean()
    follow(source(spark, tmp_path / "t"), tmp_path)
    assert batches(tmp_path) == 2


def test_a_micro_batch_reads_commits_or_snapshot_file_groups_up_to_its_limits(
    spark: SparkSession, tmp_path: Path
) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    table = create(spark, tmp_path / "t", **buckets)
    upsert(spark, table, *((i, 1, "first") for i in range(20)))
    limits: list[tuple[str, dict[str, str], int]] = [
        ("one", {MAX_FILES: "1"}, 4),
        ("three", {MAX_FILES: "3"}, 2),
        ("bytes", {MAX_BYTES: "1"}, 4),
        ("all", {}, 1),
    ]
    for name, limit, parts in limits:
        follow(source(spark, tmp_path / "t", **limit), tmp_path / name)
        assert batches(tmp_path / name) == parts
        assert read(spark, tmp_path / name) == [(i, 1, "first") for i in range(20)]
    for ts in (2, 3, 4):
        upsert(spark, table, (7, ts, "later"))
    follow(source(spark, tmp_path / "t", **{MAX_FILES: "1"}), tmp_path / "one")
    assert batches(tmp_path / "one") == 7
    assert [row for row in read(spark, tmp_path / "one") if row[0] == 7] == [
        (7, 1, "first"),
        *((7, ts, "later") for ts in (2, 3, 4)),
    ]
    follow(source(spark, tmp_path / "t", **{MAX_BYTES: "1"}), tmp_path / "bytes")
    assert batches(tmp_path / "bytes") == 7
    # The newest state alone, where the commits are in one micro-batch; `once` takes everything.
    follow(source(spark, tmp_path / "t", **{MAX_BYTES: str(10**9)}), tmp_path / "three")
    assert batches(tmp_path / "three") == 3
    follow(source(spark, tmp_path / "t", **{MAX_FILES: "1"}), tmp_path / "all", once=True)
    assert batches(tmp_path / "all") == 2
    for name in ("three", "all"):
        assert [row for row in read(spark, tmp_path / name) if row[0] == 7] == [(7, 1, "first"), (7, 4, "later")]


def test_a_stream_starts_at_the_next_commit_or_after_a_time_and_keeps_its_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = create(spark, tmp_path / "t")
    first = upsert(spark, table, (1, 1, "a"))
    upsert(spark, table, (2, 1, "b"))
    follow(source(spark, tmp_path / "t", **{START: "latest"}), tmp_path / "latest")
    follow(source(spark, tmp_path / "t", **{START: first}), tmp_path / "time")
    upsert(spark, table, (3, 1, "c"))
    follow(source(spark, tmp_path / "t"), tmp_path / "latest")
    follow(source(spark, tmp_path / "t", **{START: "earliest"}), tmp_path / "time")
    assert read(spark, tmp_path / "latest") == [(3, 1, "c")]
    assert read(spark, tmp_path / "time") == [(2, 1, "b"), (3, 1, "c")]


@pytest.mark.e2e
def test_tables_of_a_catalog_are_read_as_streams_by_their_name(spark: SparkSession, tmp_path: Path) -> None:
    name = f"s_{uuid.uuid4().hex}"
    spark.sql(f"CREATE TABLE {name} (id INT, ts BIGINT, v STRING) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    try:
        spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'a')")
        follow(spark.readStream.table(name), tmp_path)
        spark.sql(f"UPDATE {name} SET v = 'b'")
        follow(spark.readStream.table(name).filter("id = 1").select("v", "ts", "id"), tmp_path)
        assert read(spark, tmp_path) == [(1, 1, "a"), (1, 1, "b")]
    finally:
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.e2e
@pytest.mark.since("4.0")
def test_a_stream_returns_the_meta_columns_that_it_selects(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, tmp_path / "t", MOR)
    first = upsert(spark, table, (1, 1, "a"), (2, 1, "b"))
    second = upsert(spark, table, (1, 2, "c"))
    frame = source(spark, tmp_path / "t").selectExpr("id", "length(v) AS ts", "_hoodie_commit_time AS v")
    follow(frame, tmp_path)
    third = upsert(spark, table, (2, 2, "d"))
    follow(frame, tmp_path)
    assert read(spark, tmp_path) == [(1, 1, second), (2, 1, first), (2, 1, third)]


# Guarantee (Streams): Changed columns, cleaned files and commits that were taken back are errors with a remedy. Also:
#   test_a_stream_whose_commits_were_restored_or_cleaned_fails_with_the_reason, TakenBackSuite,
#   test_a_change_stream_fails_on_cleaned_changes_and_on_changed_columns
def test_a_change_of_columns_stops_a_stream_and_a_restart_returns_the_new_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = create(spark, tmp_path / "t")
    upsert(spark, table, (1, 1, "a"))
    running = source(spark, tmp_path / "t")
    wider = spark.createDataFrame([(2, 1, "b", "new")], f"{SCHEMA}, w string")
    table.upsert(wider)
    with pytest.raises(merganser.MerganserError, match=r"STREAM_SCHEMA_CHANGED.*Load the table again"):
        follow(running, tmp_path)
    follow(source(spark, tmp_path / "t"), tmp_path)
    out = spark.read.schema(f"{SCHEMA}, w string").json(str(tmp_path / "out"))
    assert sorted(map(tuple, out.collect())) == [(1, 1, "a", None), (2, 1, "b", "new")]


def test_a_stream_whose_commits_were_restored_or_cleaned_fails_with_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = create(spark, tmp_path / "t")
    instants = [upsert(spark, table, (1, ts, "a")) for ts in range(3)]
    follow(source(spark, tmp_path / "t"), tmp_path / "restored")
    table.savepoints.create(instants[1])
    table.savepoints.restore(savepoint=instants[1])
    upsert(spark, table, (1, 9, "b"))
    with pytest.raises(merganser.MerganserError, match="CHANGES_TAKEN_BACK"):
        follow(source(spark, tmp_path / "t"), tmp_path / "restored")

    table = create(spark, tmp_path / "v")
    upsert(spark, table, (1, 1, "a"))
    follow(source(spark, tmp_path / "v"), tmp_path / "unread")
    taken = upsert(spark, table, (2, 1, "wrong"))
    follow(source(spark, tmp_path / "v"), tmp_path / "read")
    table.savepoints.rollback()
    named = rf"CHANGES_TAKEN_BACK.*rollback \d+ took back the commits from {taken}"
    with pytest.raises(merganser.MerganserError, match=named):
        follow(source(spark, tmp_path / "v"), tmp_path / "read")
    upsert(spark, table, (2, 1, "right"))
    with pytest.raises(merganser.MerganserError, match=named):
        follow(source(spark, tmp_path / "v"), tmp_path / "read")
    follow(source(spark, tmp_path / "v"), tmp_path / "unread")
    assert read(spark, tmp_path / "unread") == [(1, 1, "a"), (2, 1, "right")]

    table = create(spark, tmp_path / "u", **{"hoodie.clean.automatic": "false"})
    for ts in range(2):
        upsert(spark, table, (1, ts, "a"))
    slow = source(spark, tmp_path / "u", **{MAX_FILES: "1"})
    follow(slow, tmp_path / "cleaned")
    for ts in range(2, 5):
        upsert(spark, table, (1, ts, "a"))
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    with pytest.raises(merganser.MerganserError, match=r"CHANGES_CLEANED.*hoodie\.clean\.commits\.retained"):
        follow(slow, tmp_path / "cleaned")
