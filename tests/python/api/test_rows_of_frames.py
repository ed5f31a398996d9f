"""Frames of pandas, Arrow and Polars, and lists, as frames of Spark in the types of a table. No table is needed."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Iterator
from decimal import Decimal
from math import isnan
from typing import Any

import pandas
import pyarrow
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T

from merganser._rows import frame_of

BIG = 2**53 + 1
NOON = datetime.datetime(2026, 7, 1, 12)


def of_polars(table: pyarrow.Table) -> Any:
    """What a frame of Polars has in common with one: its module's name and its way to Arrow."""
    kind = type("DataFrame", (), {"to_arrow": lambda _: table, "columns": table.column_names})
    kind.__module__ = "polars.dataframe.frame"
    return kind()


def rows_of(spark: SparkSession, rows: Any, columns: str) -> list[tuple[Any, ...]]:
    """The rows that are written to a table of these columns."""
    schema = spark.createDataFrame([], columns).schema
    return [tuple(row) for row in frame_of(spark, "upsert", rows, schema).collect()]


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[None]:
    """The process is in Berlin, the session is in UTC."""
    before = os.environ["TZ"]
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    os.environ["TZ"] = before
    time.tzset()


def at(spark: SparkSession, rows: Any, columns: str = "id string, at timestamp") -> list[str]:
    """Times as the session shows them."""
    schema = spark.createDataFrame([], columns).schema
    return [row[0] for row in frame_of(spark, "upsert", rows, schema).selectExpr("CAST(at AS string)").collect()]


def test_large_integers_beside_missing_ones_keep_their_digits(spark: SparkSession) -> None:
    arrow = pyarrow.table({"id": ["a", "b"], "n": pyarrow.array([BIG, None], pyarrow.int64())})
    nullable = pandas.DataFrame({"id": ["a", "b"], "n": pandas.array([BIG, None], "Int64")})
    for rows in (arrow, arrow.to_batches()[0], of_polars(arrow), nullable):
        assert rows_of(spark, rows, "id string, n long") == [("a", BIG), ("b", None)]
        assert rows_of(spark, rows, "id string") == [("a", BIG), ("b", None)]


def test_naive_times_of_frames_are_times_of_the_session(spark: SparkSession, berlin: None) -> None:
    frame = pandas.DataFrame({"id": ["a"], "at": pandas.to_datetime(["2026-07-01 12:00"])})
    arrow = pyarrow.table({"id": ["a"], "at": pyarrow.array([NOON])})
    for rows in (frame, arrow, of_polars(arrow)):
        assert at(spark, rows) == ["2026-07-01 12:00:00"]
        assert at(spark, rows, "id string") == ["2026-07-01 12:00:00"]  # of a new column
        assert at(spark, rows, "id string, at timestamp_ntz") == ["2026-07-01 12:00:00"]
        assert at(spark, rows, "id string, at date") == ["2026-07-01"]
    assert at(spark, spark.createDataFrame(frame, "id string, at timestamp")) == ["2026-07-01 12:00:00"]
    assert at(spark, [{"id": "a", "at": NOON}]) == at(spark, spark.createDataFrame([("a", NOON)], ["id", "at"]))
    aware = pandas.DataFrame({"id": ["a"], "at": [pandas.Timestamp("2026-07-01 12:00", tz="America/New_York")]})
    assert at(spark, aware) == at(spark, aware, "id string, at timestamp_ntz") == ["2026-07-01 16:00:00"]


def test_ambiguous_and_missing_local_times_are_converted_as_by_spark(spark: SparkSession) -> None:
    twice = pandas.DataFrame({"id": ["a"], "at": pandas.to_datetime(["2026-10-25 02:30"])})
    never = pandas.DataFrame({"id": ["a"], "at": pandas.to_datetime(["2026-03-29 02:30"])})
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        schema = spark.createDataFrame([], "id string, at timestamp").schema
        found = [
            frame.selectExpr("unix_seconds(at)").collect()[0][0]
            for frame in (frame_of(spark, "upsert", twice, schema), spark.createDataFrame(twice, schema))
        ]
        assert found[0] == found[1]
        assert at(spark, never) == ["2026-03-29 03:30:00"]
        spark.conf.set("spark.sql.session.timeZone", "+05:30")
        assert at(spark, never) == ["2026-03-29 02:30:00"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_arrays_maps_structs_and_decimals_of_frames_get_the_tables_types(spark: SparkSession) -> None:
    kind = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    arrow = pyarrow.table({
        "id": ["a", "b"],
        "tags": [["x", "y"], ["x"]],
        "m": pyarrow.array([[("k", 1)], None], kind),
        "p": [{"x": 1, "y": "u"}, None],
    })  # fmt: skip
    columns = "id string, tags array<string>, m map<string, bigint>, p struct<x: bigint, y: string>"
    expected = [("a", ["x", "y"], {"k": 1}, Row(x=1, y="u")), ("b", ["x"], None, None)]
    for schema in (columns, "id string"):
        assert rows_of(spark, arrow, schema) == expected
        assert rows_of(spark, of_polars(arrow), schema) == expected
    assert rows_of(spark, arrow.to_pandas(), columns) == expected
    assert rows_of(spark, arrow.select(["id", "tags"]).to_pandas(), "id string") == [row[:2] for row in expected]
    prices = pandas.DataFrame({"id": ["a", "b"], "d": [1.5, 0.1 + 0.2]})
    assert rows_of(spark, prices, "id string, d decimal(9,2)") == [("a", Decimal("1.50")), ("b", Decimal("0.30"))]


def test_a_new_column_does_not_change_the_types_of_the_others(spark: SparkSession) -> None:
    frame = pandas.DataFrame({
        "id": ["a"], "at": pandas.to_datetime(["2026-07-01 12:00"]), "d": [1.5], "n": [1.0], "tip": [0.5],
        "seen": pandas.to_datetime(["2026-07-02"]), "took": pandas.to_timedelta(["1 days"]),
    })  # fmt: skip
    schema = spark.createDataFrame([], "id string, at timestamp, d decimal(9,2), n long").schema
    found = frame_of(spark, "upsert", frame, schema)
    assert [field.dataType for field in found.schema][:6] == [
        T.StringType(), T.TimestampType(), T.DecimalType(9, 2), T.LongType(), T.DoubleType(), T.TimestampType(),
    ]  # fmt: skip
    seen, day = datetime.datetime(2026, 7, 2), datetime.timedelta(days=1)
    assert tuple(found.collect()[0]) == ("a", NOON, Decimal("1.50"), 1, 0.5, seen, day)


def test_nan_is_a_missing_value_in_pandas_and_a_number_elsewhere(spark: SparkSession) -> None:
    frame = pandas.DataFrame({"id": ["a"], "x": [float("nan")]})
    assert rows_of(spark, frame, "id string, x double") == [("a", None)]
    arrow = pyarrow.table({"id": ["a", "b"], "x": pyarrow.array([float("nan"), None], pyarrow.float64())})
    for rows in (arrow, of_polars(arrow), arrow.to_pylist()):
        (_, nan), (_, missing) = rows_of(spark, rows, "id string, x double")
        assert isnan(nan)
        assert missing is None


def test_a_frame_with_two_columns_of_one_name_is_refused(spark: SparkSession) -> None:
    arrow = pyarrow.table([["a"], ["b"]], names=["id", "id"])
    for rows in (arrow, arrow.to_pandas()):
        with pytest.raises(ValueError, match="upsert: the frame has several columns of one name: id, id"):
            frame_of(spark, "upsert", rows)


def test_empty_frames_and_columns_of_nulls_are_accepted(spark: SparkSession) -> None:
    nulls = pandas.DataFrame({"id": ["a"], "op": [None]})
    arrow = pyarrow.table({"id": ["a"], "op": pyarrow.array([None], pyarrow.large_string())})
    for rows in (nulls, arrow, of_polars(arrow), [{"id": "a", "op": None}]):
        assert rows_of(spark, rows, "id string") == [("a", None)]
    for rows in (nulls[:0], arrow[:0], of_polars(arrow[:0])):
        found = frame_of(spark, "merge", rows, spark.createDataFrame([], "id string").schema)
        assert (found.columns, found.collect()) == (["id", "op"], [])


def test_lazy_frames_and_readers_are_accepted(spark: SparkSession) -> None:
    arrow = pyarrow.table({"id": ["a"]})
    lazy = of_polars(arrow)
    type(lazy).collect = lambda _: of_polars(arrow)
    for rows in (arrow.to_reader(), lazy):
        assert rows_of(spark, rows, "id string") == [("a",)]


def test_a_zone_unknown_to_python_fails_only_for_naive_times(spark: SparkSession) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "PST")
        assert rows_of(spark, pandas.DataFrame({"id": ["a"]}), "id string") == [("a",)]
        with pytest.raises(KeyError, match="PST"):
            frame_of(spark, "upsert", pandas.DataFrame({"at": pandas.to_datetime(["2026-07-01"])}))
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
