"""Calls in threads, frames of other sessions, and observed ones; test_connect.py runs most over Spark Connect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import merganser
from merganser import Table

pytestmark = pytest.mark.e2e

COLUMNS = "id long, v string"


@pytest.fixture
def other_session(spark: SparkSession) -> SparkSession:
    """A session beside that of the table."""
    return spark.newSession()


def in_thread(call: Callable[[], Any]) -> Any:
    """The result of a call in a new thread of Python, which is a new thread of the JVM."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append(call())
        except Exception as failure:
            done.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert done, "the call does not return"
    if isinstance(done[0], Exception):
        raise done[0]
    return done[0]


def test_every_call_works_in_a_thread_without_an_active_session(spark: SparkSession, tmp_path: Path) -> None:
    name = f"threaded_{abs(hash(tmp_path))}"
    table = in_thread(lambda: Table.create_named(spark, name, COLUMNS, path=tmp_path / "t", record_key="id"))
    try:
        assert in_thread(lambda: Table.exists(spark, name))
        assert in_thread(lambda: Table.load(spark, name)) == table
        assert in_thread(lambda: Table.load(spark, f"default.{name}")).path == table.path
        rows = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], COLUMNS)
        assert in_thread(lambda: table.upsert(rows)).inserted == 3
        assert in_thread(lambda: table.update({"v": F.lit("x")}, F.col("id") == 1)).updated == 1
        assert in_thread(lambda: table.update({"v": F.lit("y")}, "id = 1", txn=("app", 1))).updated == 1
        assert in_thread(lambda: table.delete(where=F.col("id") == 2, dry_run=True)).deleted == 1
        assert in_thread(lambda: table.merge(rows).when_matched_delete(F.col("s.id") == 3).execute()).deleted == 1
        assert in_thread(lambda: table.merge(name, on="id").when_matched_update().dry_run()).no_ops == 2
        assert in_thread(lambda: table.delete(keys=[2])).deleted == 1
        assert in_thread(lambda: [tuple(row) for row in table.df().collect()]) == [(1, "y")]
        assert in_thread(lambda: table.call("show_commits", limit=1).count()) == 1
        assert in_thread(lambda: table.inspect.explain(1).versions)
        assert in_thread(lambda: table.inspect.verify().ok)
        assert in_thread(lambda: len(table.history())) == 5
        assert in_thread(lambda: table.schema.names) == ["id", "v"]
        for service in (
            table.clean,
            table.services.archive,
            table.services.cluster,
            table.savepoints.create,
            table.inspect.file_slices,
        ):
            in_thread(service)
        assert in_thread(lambda: merganser.combine(rows, "id").count()) == 3
        assert in_thread(lambda: [row["v"] for row in spark.table(name).collect()]) == ["y"]
    finally:
        spark.sql(f"DROP TABLE {name}")


def test_dry_run_merge_and_delete_in_foreach_batch_read_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, str(tmp_path / "t"), COLUMNS, record_key="id")
    table.insert([(1, "stored")])
    source = str(tmp_path / "source")
    spark.createDataFrame([(1, "it's ${x}"), (2, "new")], COLUMNS).coalesce(1).write.parquet(source)
    seen: list[Any] = []

    def apply(batch: DataFrame, _: int) -> None:
        merge = table.merge(batch).when_matched_update({"v": F.col("s.v")}).when_not_matched_insert()
        seen.append(merge.dry_run().inserted)
        seen.append(merge.execute().inserted)
        seen.append(table.delete(batch.where("id = 2"), dry_run=True).deleted)

    stream = spark.readStream.schema(COLUMNS).parquet(source).writeStream.foreachBatch(apply)
    started = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    started.awaitTermination()
    assert seen == [1, 1, 1]
    assert sorted(map(tuple, table.df().collect())) == [(1, "it's ${x}"), (2, "new")]


def test_frames_of_another_session_are_written_and_merged(
    spark: SparkSession, other_session: SparkSession, tmp_path: Path
) -> None:
    table = Table.create(spark, str(tmp_path / "t"), COLUMNS, record_key="id")
    other = other_session.createDataFrame([(1, "a"), (2, "b")], COLUMNS)
    assert table.upsert(other.where("id = 1")).inserted == 1
    done = table.merge(other).when_matched_update().when_not_matched_insert().execute()
    assert (done.inserted, done.updated) == (1, 1)
    here = spark.createDataFrame([(2, "c")], COLUMNS)
    assert {row["v"] for row in merganser.merge_frames(other, here, "id").collect()} == {"a", "c"}


@pytest.mark.parametrize("write", ["upsert", "insert", "bulk_insert", "append"])
def test_each_write_delivers_the_observed_metrics_of_its_frame(spark: SparkSession, tmp_path: Path, write: str) -> None:
    table = Table.create(spark, str(tmp_path / "t"), COLUMNS, record_key="id")
    observation = Observation("rows")
    rows = spark.createDataFrame([(1, "a"), (2, "b")], COLUMNS).observe(observation, F.count(F.lit(1)).alias("n"))
    if write == "append":
        rows.write.format("merganser").mode("append").save(table.path)
    else:
        getattr(table, write)(rows)
    assert in_thread(lambda: observation.get) == {"n": 2}
