"""Streams of change data: the images of all micro-batches, folded over nothing, give the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from feeds import SCHEMA, drop_last_commit, finish, folded
from followers import Change, Follower
from frames import refusal
from option_names import COW, MOR
from pyspark.sql import SparkSession
from sql_steps import each_kind

import merganser
from merganser import Table

KINDS = {"cow": COW, "mor": MOR}
CDC = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.query.incremental.format": "cdc"}


def create(spark: SparkSession, path: Path, kind: str = COW, **more: str) -> Table:
    named = {"hoodie.datasource.write.table.type": kind, **more}
    return Table.create(spark, str(path), SCHEMA, record_key="id", ordering_by="ts", options=named)


def upsert(spark: SparkSession, table: Table, *rows: tuple[int, int, str]) -> str:
    return table.upsert(spark.createDataFrame(rows, SCHEMA)).instant


# Guarantee (Streams): The changes of all micro-batches of a stream of change data, applied to an empty copy, give the
#   table, each change once, across restarts, services and kills at any step. Also:
#   test_a_change_stream_starts_at_the_next_commit_or_after_a_time_with_whole_commits,
#   test_a_change_stream_killed_at_any_step_has_each_change_once
@pytest.mark.extensive
@pytest.mark.e2e
@each_kind
def test_the_change_images_of_all_micro_batches_rebuild_the_table_across_restarts(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = create(spark, tmp_path / "t", KINDS[kind])
    follower = Follower(spark, tmp_path)
    first = [(i, 1, "first") for i in range(6)]
    upsert(spark, table, *first)
    upsert(spark, table, (0, 2, "second"))
    follower.follow(table.change_data_stream(max_files=1))
    start = folded([*first, (0, 2, "second")])
    assert [(op, before, after) for _, op, before, after in follower.batches()[0]] == [("i", None, r) for r in start]

    upsert(spark, table, (1, 2, "u"), (2, 0, "late"), (7, 1, "new"))
    table.delete(spark.createDataFrame([(3, 9, "")], SCHEMA))
    if kind == "mor":
        table.compact()
    upsert(spark, table, (1, 3, "again"), (3, 9, "back"))
    follower.follow(table.change_data_stream(max_files=1))
    assert [[change[1] for change in batch] for batch in follower.batches()[1:]] == [["i", "u"], ["d"], ["i", "u"]]
    assert follower.copy() == sorted(map(tuple, table.df().collect()))

    # It was killed before its checkpoint had the last micro-batch, which is repeated beside later changes.
    stored = follower.batches()
    drop_last_commit(tmp_path / "checkpoint")
    table.overwrite(spark.createDataFrame([(1, 4, "all"), (8, 1, "h")], SCHEMA))
    if kind == "cow":
        table.services.cluster()
    follower.follow(table.change_data_stream())
    assert follower.batches()[:-1] == stored
    assert follower.copy() == [(1, 4, "all"), (8, 1, "h")]
    follower.follow(table.change_data_stream())
    assert len(follower.batches()) == len(stored) + 1


def test_a_change_stream_starts_at_the_next_commit_or_after_a_time_with_whole_commits(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = {"hoodie.datasource.write.partitionpath.field": "v", "hoodie.populate.meta.fields": "false"}
    table = create(spark, tmp_path / "t", **options)
    first = upsert(spark, table, (1, 1, "a"), (2, 1, "b"))
    upsert(spark, table, (1, 2, "a"))
    started = {name: Follower(spark, tmp_path / name) for name in ("2000-01-01", first, "latest")}
    for name, follower in started.items():
        follower.follow(table.change_data_stream(name))
    table.delete_partitions(["b"])
    for name, follower in started.items():
        follower.follow(table.change_data_stream(name))

    def shown(name: str) -> list[list[Change]]:
        return [[change[1:] for change in batch] for batch in started[name].batches() if batch]

    gone, update = ("d", (2, 1, "b"), None), ("u", (1, 1, "a"), (1, 2, "a"))
    inserts = [("i", None, (1, 1, "a")), ("i", None, (2, 1, "b"))]
    assert shown("latest") == [[gone]]
    assert shown(first) == [[update], [gone]]
    assert shown("2000-01-01") == [[*inserts, update], [gone]]


def test_a_change_stream_configured_by_options_has_hudis_columns_and_reasons_on_request(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = create(spark, tmp_path / "t", MOR)
    instant = upsert(spark, table, (1, 1, "a"))
    reading = spark.readStream.format("merganser").options(**CDC).option("spark.merganser.read.changeReason", "true")
    assert reading.load(table.path).columns == ["op", "ts_ms", "before", "after", "reason"]
    query = reading.load(table.path).where("op = 'i'").select("ts_ms", "reason", "after")
    folder = tmp_path / "out"
    writing = query.writeStream.format("json").option("checkpointLocation", str(tmp_path / "checkpoint"))
    finish(writing.trigger(availableNow=True).start(str(folder)))
    rows = spark.read.schema("ts_ms string, reason string, after string").json(str(folder)).collect()
    assert [tuple(row) for row in rows] == [(instant, "won", '{"id":1,"ts":1,"v":"a"}')]


def test_a_change_stream_refuses_the_bounds_that_a_batch_read_requires(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, tmp_path / "t")
    upsert(spark, table, (1, 1, "a"))
    for key in ("hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"):
        frame = spark.readStream.format("merganser").options(**CDC).option(key, "2000-01-01").load(table.path)
        with pytest.raises(merganser.MerganserError, match=rf"STREAM_QUERY_UNSUPPORTED.*{key}=2000-01-01"):
            Follower(spark, tmp_path / key).follow(frame)
    read = spark.read.format("merganser").options(**CDC).load(table.path)
    assert refusal(read.collect).condition == "CHANGES_BEGIN_MISSING"


def test_a_change_stream_fails_on_cleaned_changes_and_on_changed_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, tmp_path / "t", **{"hoodie.clean.automatic": "false"})
    follower = Follower(spark, tmp_path)
    for ts in range(4):
        upsert(spark, table, (1, ts, "a"))
        if ts == 0:
            follower.follow(table.change_data_stream())
    loaded = table.change_data_stream()
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    with pytest.raises(merganser.MerganserError, match=r"CHANGE_DATA_CLEANED.*hoodie\.clean\.commits\.retained"):
        follower.follow(loaded)
    table.upsert(spark.createDataFrame([(2, 1, "b", "new")], f"{SCHEMA}, w string"))
    with pytest.raises(merganser.MerganserError, match="STREAM_SCHEMA_CHANGED"):
        follower.follow(loaded)
