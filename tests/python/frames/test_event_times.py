"""The event times that commits keep: least and greatest of each file written, in milliseconds since 1970."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from frames import commit_metadata, frame, refused, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession

from merganser import Table

pytestmark = pytest.mark.e2e

FIELD = "hoodie.payload.event.time.field"
VERSION = "hoodie.write.table.version"
EVENT_TIME = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload"}
NOTHING = (None, None)


def options(kind: str, **more: str) -> dict[str, str]:
    return {KEY: "id", ORDERING: "ts", TYPE: kind, **more}


def event_times(spark: SparkSession, path: Path) -> tuple[Any, Any]:
    """Of the one file that the newest commit wrote: its least and greatest event time."""
    home = path / ".hoodie"
    folder = home / "timeline" if (home / "timeline").is_dir() else home
    done = [f for f in folder.iterdir() if f.suffix in (".commit", ".deltacommit") and not f.name.startswith(".")]
    (stats,) = stats_of(spark, max(done, key=lambda f: f.name)).values()
    (stat,) = stats
    return stat.get("minEventTime"), stat.get("maxEventTime")


def stats_of(spark: SparkSession, commit: Path) -> Mapping[str, list[dict[str, Any]]]:
    """By partition path."""
    return commit_metadata(spark, commit)["partitionToWriteStats"]


@pytest.mark.parametrize("version", ["9", "8", "6"])
def test_a_copy_on_write_commit_records_the_event_time_range_of_its_changed_rows(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    path, schema = tmp_path / "t", "id int, ts bigint, at bigint"
    configured = options(COW, **EVENT_TIME, **{FIELD: "at", VERSION: version})
    save(frame(spark, [(1, 1, 1_700_000_000_500), (2, 1, 1_700_000_000), (3, 1, None)], schema), path, configured)
    assert event_times(spark, path) == (1_700_000_000_000, 1_700_000_000_500)
    save(frame(spark, [(1, 2, 1_700_000_009_000), (2, 0, 1_600_000_000_000)], schema), path, configured)
    assert event_times(spark, path) == (1_700_000_009_000, 1_700_000_009_000)


def test_logs_and_their_compaction_record_the_event_time_range_of_their_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, schema = tmp_path / "t", "id int, ts bigint, at timestamp, _hoodie_is_deleted boolean"
    configured = options(MOR, **EVENT_TIME, **{FIELD: "at"})
    day = dt.datetime(2024, 1, 15, tzinfo=dt.timezone.utc)
    first = 1_705_276_800_000

    def row(key: int, ts: int, seconds: float, deleted: bool = False) -> tuple[Any, ...]:
        return (key, ts, day + dt.timedelta(seconds=seconds), deleted)

    save(frame(spark, [row(1, 1, 0), row(2, 1, 10), row(3, 1, 0)], schema), path, configured)
    assert event_times(spark, path) == (first, first + 10_000)
    save(frame(spark, [row(1, 2, 30.25), row(2, 2, 20), row(3, 2, 99, True)], schema), path, configured)
    assert event_times(spark, path) == (first + 20_000, first + 30_250)
    Table.load(spark, str(path)).compact(options={FIELD: "at"})
    assert event_times(spark, path) == (first + 20_000, first + 30_250)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("date", [dt.date(2024, 1, 15), dt.date(1969, 12, 31)], (-86_400_000, 1_705_276_800_000)),
        ("int", [1_700_000_000, 5], (5, 1_700_000_000_000)),
        ("string", ["2024-01-15T00:00:00.5Z", "1700000000", "no time"], (1_700_000_000_000, 1_705_276_800_500)),
        ("bigint", [None, None], NOTHING),
    ],
)
def test_an_event_time_is_read_from_a_date_a_number_or_a_string(
    spark: SparkSession, tmp_path: Path, kind: str, values: list[Any], expected: tuple[Any, Any]
) -> None:
    rows = [(key, 1, value) for key, value in enumerate(values)]
    save(frame(spark, rows, f"id int, ts bigint, at {kind}"), tmp_path / "t", options(COW, **{FIELD: "at"}))
    assert event_times(spark, tmp_path / "t") == expected


def test_a_commit_without_the_option_records_no_event_times(spark: SparkSession, tmp_path: Path) -> None:
    save(frame(spark, [(1, 1)], "id int, ts bigint"), tmp_path / "t", options(COW, **EVENT_TIME))
    assert event_times(spark, tmp_path / "t") == NOTHING


def test_a_missing_event_time_column_is_refused_before_the_write(spark: SparkSession, tmp_path: Path) -> None:
    rows, path = frame(spark, [(1, 1)], "id int, ts bigint"), tmp_path / "t"
    wrong = options(COW, **{FIELD: "at"})
    refused(lambda: save(rows, path, wrong), "EVENT_TIME_FIELD_UNUSABLE", "'at'", "id, ts")
    assert not path.exists()
    save(rows, path, options(COW))
    before = sorted(f.name for f in (path / ".hoodie" / "timeline").iterdir())
    refused(lambda: save(rows, path, wrong), "EVENT_TIME_FIELD_UNUSABLE", "'at'")
    assert sorted(f.name for f in (path / ".hoodie" / "timeline").iterdir()) == before
