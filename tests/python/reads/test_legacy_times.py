"""Times in milliseconds that Hudi 0.15 to 1.0 labelled as microseconds, and local times without a label."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from frames import refused, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from merganser import Table

MILLIS = 1_700_000_000_000  # 2023-11-14T22:13:20Z
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def written(spark: SparkSession, *rows: tuple[int, int, int]) -> DataFrame:
    """Rows (id, ts, milliseconds) as the earlier release labelled them."""
    frame = spark.createDataFrame(list(rows), "id int, ts bigint, at bigint").coalesce(1)
    at = F.expr("timestamp_micros(at)")
    return frame.select("id", "ts", at.alias("at"), F.struct(at.alias("at")).alias("s"), F.array(at).alias("a"))


def right(spark: SparkSession, *rows: tuple[int, int, int]) -> DataFrame:
    """Rows (id, ts, milliseconds) with their real times."""
    return written(spark, *((id, ts, millis * 1000) for id, ts, millis in rows))


def relabelled(path: Path, old: str, new: str) -> None:
    """Changes the type of times in the schemas of commits, and leaves them without a checksum, as another engine's."""
    commits = [f for f in (path / ".hoodie").rglob("*commit") if f.is_file() and old.encode() in f.read_bytes()]
    assert commits
    for commit in commits:
        changed = commit.read_bytes().replace(old.encode(), new.encode())
        commit.write_bytes(changed.replace(b"merganser.crc32", b"elsewhere.crc32"))
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)


def labels(path: Path) -> list[set[str]]:
    """The types of times in the commits, oldest first."""
    names = "local-timestamp-millis", "timestamp-millis", "timestamp-micros"
    commits = sorted(f for f in (path / ".hoodie").rglob("*commit") if f.is_file() and f.stat().st_size)
    return [{name for name in names if name.encode() in commit.read_bytes()} for commit in commits]


def times(frame: DataFrame) -> dict[int, int]:
    """The milliseconds of each row, which are the same in its column, struct and array."""
    found = frame.select("id", *(F.expr(f"unix_micros({c})") for c in ("at", "s.at", "a[0]"))).collect()
    assert all(row[1] == row[2] == row[3] and row[1] % 1000 == 0 for row in found)
    return {row[0]: row[1] // 1000 for row in found}


def legacy(spark: SparkSession, path: Path, kind: str, version: str) -> Table:
    """Rows 1 to 3 in one write, then row 2 again: in a log, if the table has logs."""
    options = {KEY: "id", ORDERING: "ts", TYPE: kind, "hoodie.write.table.version": version, **QUIET}
    save(written(spark, (1, 1, MILLIS), (2, 1, MILLIS), (3, 1, MILLIS)), path, options)
    save(written(spark, (2, 2, MILLIS + 5)), path, options)
    relabelled(path, "timestamp-micros", "timestamp-millis")
    return Table.load(spark, str(path))


@pytest.mark.parametrize(("kind", "version"), [(COW, "6"), (MOR, "6"), (MOR, "9")])
def test_milliseconds_that_are_labelled_as_microseconds_are_right_in_each_query_and_stay_so(
    spark: SparkSession, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "t"
    table = legacy(spark, path, kind, version)
    first = table.history()[-1].instant
    before, after = {1: MILLIS, 2: MILLIS, 3: MILLIS}, {1: MILLIS, 2: MILLIS + 5, 3: MILLIS}
    assert times(table.df()) == after
    assert times(table.df(as_of=first)) == before
    assert times(table.changes(since=first)) == {2: MILLIS + 5}
    assert times(table.df().where("at > timestamp'2020-01-01'")) == after
    assert table.df().where("at < timestamp'1971-01-01'").count() == 0
    (changed,) = table.change_data(since=first).selectExpr("unix_millis(before.at)", "unix_millis(after.at)").collect()
    assert tuple(changed) == (MILLIS, MILLIS + 5)
    assert table.verify().ok

    table.upsert(right(spark, (1, 3, MILLIS + 7), (4, 3, MILLIS + 9)), options=QUIET)
    spark.sql(f"UPDATE {table.identifier} SET ts = 4 WHERE at = timestamp_millis({MILLIS + 5})")
    after = {1: MILLIS + 7, 2: MILLIS + 5, 3: MILLIS, 4: MILLIS + 9}
    assert times(table.df()) == after
    assert table.df().where("id = 2").head()["ts"] == 4
    if kind == MOR:
        table.compact()
        assert times(table.df()) == after
    table.cluster()
    if version == "6":
        table.upgrade()
    assert times(table.df()) == after
    assert times(table.df(as_of=first)) == before
    assert table.verify().ok
    assert all(found <= {"timestamp-millis"} for found in labels(path))
    fine = right(spark, (5, 1, MILLIS)).withColumn("at", F.col("at") + timedelta(microseconds=1))
    refused(lambda: table.upsert(fine), "TIME_BEYOND_MILLISECONDS", "'at'", "5")


@pytest.mark.parametrize("unit", ["millis", "micros"])
def test_plain_integers_are_local_times_in_the_unit_of_the_schema(
    spark: SparkSession, tmp_path: Path, unit: str
) -> None:
    path, value = tmp_path / "t", MILLIS if unit == "millis" else MILLIS * 1000
    options = {KEY: "id", TYPE: MOR, "hoodie.write.table.version": "6", **QUIET}
    for rows in [(1, value), (2, value)], [(2, value)]:
        save(spark.createDataFrame(rows, "id int, at bigint").coalesce(1), path, options)
    local = r"{\"type\":\"long\",\"logicalType\":\"local-timestamp-" + unit + r"\"}"
    relabelled(path, r'"at\",\"type\":[\"null\",\"long\"]', r'"at\",\"type\":[\"null\",' + local + "]")
    table, time = Table.load(spark, str(path)), datetime(2023, 11, 14, 22, 13, 20)
    assert sorted(tuple(row)[-2:] for row in table.df().collect()) == [(1, time), (2, time)]
    more = spark.createDataFrame([(3, time)], "id int, at timestamp_ntz")
    table.upsert(more)
    table.compact()
    assert sorted(tuple(row)[-2:] for row in table.df().collect()) == [(1, time), (2, time), (3, time)]


def test_a_new_table_of_rows_in_milliseconds_stores_microseconds(spark: SparkSession, tmp_path: Path) -> None:
    table = legacy(spark, tmp_path / "t", COW, "9")
    fine = table.df().withColumn("at", F.col("at") + timedelta(microseconds=1))
    save(fine, tmp_path / "copy", {KEY: "id", ORDERING: "ts"})
    assert labels(tmp_path / "copy") == [{"timestamp-micros"}]
    micros = Table.load(spark, str(tmp_path / "copy")).df().selectExpr("unix_micros(at)")
    assert {row[0] % 1000 for row in micros.collect()} == {1}
