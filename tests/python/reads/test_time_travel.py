"""A table as of a time: every documented form reads the same rows, and everything else is an error with a name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sql_steps import Sql

from merganser import MerganserError, Table

pytestmark = pytest.mark.e2e


def moment(instant: str) -> datetime:
    return datetime.strptime(instant, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)


def refused(read: Callable[[], Any], *parts: str) -> None:
    with pytest.raises((MerganserError, Py4JJavaError, PySparkException)) as caught:
        read()
    assert all(part in str(caught.value) for part in parts), str(caught.value)[:500]


@pytest.fixture
def table(sql: Sql) -> str:
    """Merge-on-read: the row is 'a' in the base file of the first commit, and 'b' in the log of the second."""
    name = sql.create("mor")
    sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    sql.run(f"UPDATE {name} SET v = 'b'")
    return name


def instants(sql: Sql, table: str) -> list[str]:
    return [entry.instant for entry in reversed(Table.load(sql.spark, table).history())]


def test_each_form_of_a_time_reads_the_rows_of_that_time_in_each_kind_of_read(sql: Sql, table: str) -> None:
    first, _ = instants(sql, table)
    then = moment(first)
    text = then.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    path = sql.folder(table)
    python = Table.load(sql.spark, table)
    millis = str(int(then.timestamp() * 1000 + 0.5))
    for as_of in (first, text, text.replace(" ", "T"), text + "Z", text[:-4] + text[-4:] + "+00:00", millis):
        read = sql.spark.read.format("merganser").option("as.of.instant", as_of)
        assert [r.v for r in read.load(str(path)).collect()] == ["a"], as_of
        assert [r.v for r in python.df(as_of=as_of).collect()] == ["a"], as_of
    for value in (then, then.replace(tzinfo=None)):
        assert [r.v for r in python.df(as_of=value).collect()] == ["a"]
    assert [r.v for r in python.df(as_of=tomorrow).collect()] == ["b"]
    assert [r.v for r in python.df(as_of=first, read_optimized=True).collect()] == ["a"]


def test_as_of_reads_a_string_in_the_tables_zone_and_a_timestamp_as_an_absolute_time(
    sql: Sql, table: str, tmp_path: Path
) -> None:
    first, _ = instants(sql, table)
    text = moment(first).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    with sql.settings({"spark.sql.session.timeZone": "Asia/Tokyo"}):
        for travel in (
            f"VERSION AS OF '{first}'",
            f"VERSION AS OF {first}",
            f"FOR SYSTEM_VERSION AS OF '{text}'",
            f"TIMESTAMP AS OF '{first}'",
            f"TIMESTAMP AS OF '{text}'",
            f"FOR SYSTEM_TIME AS OF '{text}'",
            f"TIMESTAMP AS OF TIMESTAMP'{text} UTC'",
        ):
            for name in (table, f"merganser.`{sql.folder(table)}`"):
                assert sql.run(f"SELECT v FROM {name} {travel}") == [("a",)], (name, travel)
        assert sql.run(f"SELECT v FROM {table} TIMESTAMP AS OF to_timestamp('{text}Z')") == [("a",)]
        travel = f"TIMESTAMP AS OF '{first}'"
        assert sql.run(f"WITH old AS (SELECT v FROM {table} {travel}) SELECT * FROM old") == [("a",)]
        assert sql.run(f"SELECT (SELECT max(v) FROM {table} {travel})") == [("a",)]
        sql.run(f"UPDATE {table} SET v = concat(v, (SELECT max(v) FROM {table} {travel}))")
        assert sql.rows(table, "v") == [("ba",)]
    lake = tmp_path / "lake"
    sql.spark.conf.set("spark.sql.catalog.as_of", "io.merganser.spark.MerganserLakeCatalog")
    sql.spark.conf.set("spark.sql.catalog.as_of.warehouse", str(lake))
    sql.run("CREATE NAMESPACE as_of.n")
    sql.run("CREATE TABLE as_of.n.t (id int, v string) TBLPROPERTIES (primaryKey = 'id')")
    sql.run("INSERT INTO as_of.n.t VALUES (1, 'a')")
    ((instant,),) = sql.run("SELECT _hoodie_commit_time FROM as_of.n.t")
    sql.run("INSERT INTO as_of.n.t VALUES (2, 'b')")
    assert sql.run(f"SELECT v FROM as_of.n.t TIMESTAMP AS OF '{instant}'") == [("a",)]
    assert sql.run(f"SELECT v FROM as_of.n.t VERSION AS OF {instant}") == [("a",)]
    assert "AS_OF_INVALID" in sql.fails("SELECT v FROM as_of.n.t VERSION AS OF 1")
    sql.run("DROP TABLE as_of.n.t")


def test_as_of_an_invalid_or_too_early_time_is_refused_with_the_valid_ones(sql: Sql, table: str) -> None:
    first, _ = instants(sql, table)
    path = str(sql.folder(table))
    python = Table.load(sql.spark, table)
    for word in ("1", "20991", "latest", "yesterday", "2026-02-30"):
        option = sql.spark.read.format("merganser").option("as.of.instant", word)
        refused(lambda option=option: option.load(path), "AS_OF_INVALID", f"'{word}'", "yyyy-MM-dd")
        refused(lambda word=word: python.df(as_of=word), "AS_OF_INVALID", f"'{word}'")
        assert "AS_OF_INVALID" in sql.fails(f"SELECT * FROM {table} VERSION AS OF '{word}'")
    for early in ("2001-01-01", "20010101000000000", date(2001, 1, 1), datetime(2001, 1, 1)):
        refused(lambda early=early: python.df(as_of=early), "AS_OF_TOO_EARLY", first)
    assert first in sql.fails(f"SELECT * FROM {table} TIMESTAMP AS OF '2001-01-01'")
    assert "AS_OF_TOO_EARLY" in sql.fails(f"SELECT * FROM {table} TIMESTAMP AS OF DATE'2001-01-01'")
    assert "AS_OF_TOO_EARLY" in sql.fails(f"SELECT * FROM {table} VERSION AS OF '2001-01-01 00:00:00'")
    refused(lambda: sql.spark.read.option("as.of.instant", "1").table(table).collect(), "AS_OF_INVALID")
    with pytest.raises(TypeError, match=r"as_of is an instant or a time as a str, a datetime, a date, .* not int"):
        python.df(as_of=20991)  # type: ignore[arg-type]


def test_as_of_on_a_table_of_another_format_raises_sparks_own_error(sql: Sql, spark: SparkSession) -> None:
    name = sql.name()
    sql.run(f"CREATE TABLE {name} (id int) USING parquet")
    message = sql.fails(f"SELECT * FROM {name} TIMESTAMP AS OF '2026-01-01'")
    assert "does not support time travel" in message or "UNSUPPORTED_FEATURE.TIME_TRAVEL" in message
