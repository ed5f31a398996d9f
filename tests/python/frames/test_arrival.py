"""Arrival is (input partition, position in it): neither partitions nor shuffles decide who wins."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from frames import frame, load, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession

from merganser import Table

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts int, v string"
COMMIT = {KEY: "id", ORDERING: "ts", "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
EVENT = {KEY: "id", ORDERING: "ts"}


def batch(seed: int) -> list[tuple[int, int, str]]:
    """Ten versions of each of twenty keys, far apart from one another; ordering values tie often."""
    rng = random.Random(seed)
    return [(rng.randrange(20), rng.randrange(3), f"{seed}.{i}") for i in range(200)]


def last(rows: list[tuple[int, int, str]]) -> dict[int, str]:
    return {key: value for key, _, value in rows}


def highest(rows: list[tuple[int, int, str]]) -> dict[int, str]:
    stored: dict[int, tuple[int, str]] = {}
    for key, ts, value in rows:
        if key not in stored or ts >= stored[key][0]:
            stored[key] = (ts, value)
    return {key: value for key, (_, value) in stored.items()}


@contextmanager
def conf(spark: SparkSession, **settings: str) -> Iterator[None]:
    before = {key: spark.conf.get(key.replace("_", ".")) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key.replace("_", "."), value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key.replace("_", "."), value)


@pytest.mark.parametrize(
    ("parts", "shuffle", "adaptive"),
    [(1, "2", "true"), (2, "1", "false"), (2, "7", "true"), (8, "2", "true"), (8, "5", "false")],
)
@pytest.mark.parametrize("options", [COMMIT, EVENT], ids=["commit time", "event time"])
def test_the_number_of_partitions_and_shuffles_does_not_change_the_merged_rows(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], parts: int, shuffle: str, adaptive: str
) -> None:
    first, second = batch(1), batch(2)
    fold = last if options is COMMIT else highest
    expected = fold([*first, *second])
    with conf(spark, spark_sql_shuffle_partitions=shuffle, spark_sql_adaptive_enabled=adaptive):
        save(frame(spark, first, COLUMNS, parts), tmp_path / "t", options)
        assert {row.id: row.v for row in load(spark, tmp_path / "t").collect()} == fold(first)
        save(frame(spark, second, COLUMNS, parts), tmp_path / "t", options)
        assert {row.id: row.v for row in load(spark, tmp_path / "t").collect()} == expected


@pytest.mark.parametrize("parts", [1, 8])
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_logs_and_buckets_keep_the_last_row_of_each_key(
    spark: SparkSession, tmp_path: Path, index: str, parts: int
) -> None:
    options = {**COMMIT, TYPE: MOR, INDEX: index, BUCKETS: "4"}
    first, second = batch(3), batch(4)
    save(frame(spark, first, COLUMNS, parts), tmp_path / "t", options)
    save(frame(spark, second, COLUMNS, parts), tmp_path / "t", options)
    expected = last([*first, *second])
    assert {row.id: row.v for row in load(spark, tmp_path / "t").collect()} == expected
    Table.load(spark, str(tmp_path / "t")).compact()
    assert {row.id: row.v for row in load(spark, tmp_path / "t").collect()} == expected


@pytest.mark.parametrize("parts", [1, 8])
def test_rows_of_a_unions_second_side_are_newer_than_those_of_its_first(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    first, second = batch(5), batch(6)
    save(
        frame(spark, first, COLUMNS, parts).union(frame(spark, second, COLUMNS, 3)),
        tmp_path / "t",
        {**COMMIT, TYPE: COW},
    )
    assert {row.id: row.v for row in load(spark, tmp_path / "t").collect()} == last([*first, *second])


def test_combined_inserts_keep_the_last_row_of_each_key(spark: SparkSession, tmp_path: Path) -> None:
    rows = batch(7)
    for operation in ("insert", "bulk_insert"):
        options = {**COMMIT, "hoodie.combine.before.insert": "true", "hoodie.datasource.write.operation": operation}
        save(frame(spark, rows, COLUMNS, 8), tmp_path / operation, options)
        assert {row.id: row.v for row in load(spark, tmp_path / operation).collect()} == last(rows)
        assert len(rows_of(load(spark, tmp_path / operation))) == len(last(rows))
