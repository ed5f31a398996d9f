"""The page about a table: well formed, of what its history and its files have, with what to do next."""

from __future__ import annotations

import dataclasses
import re
import runpy
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from html_page import read
from places import ROOT
from pyspark.sql import SparkSession

import merganser
from merganser.history import HistoryEntry
from merganser.results import FileSlice, LogFile

REPORT = ROOT / "examples" / "report"
sys.path.insert(0, str(REPORT))

from advice import advice  # noqa: E402
from table_report import render  # noqa: E402

EMPTY: dict[str, Any] = {field.name: None for field in dataclasses.fields(HistoryEntry)}


def entry(number: int, action: str = "deltacommit", **values: Any) -> HistoryEntry:
    instant = f"2026010112{number:02d}00000"
    known = {"instant": instant, "action": action, "state": "COMPLETED", "archived": False, **values}
    return HistoryEntry(**{**EMPTY, **known})


def upsert(number: int, *, late: int = 0, **values: Any) -> HistoryEntry:
    return entry(number, operation="UPSERT", inserted=5, updated=10, deleted=0, late=late, elapsed_ms=900, **values)


def slice_of(partition: str, base: int, *logs: int) -> FileSlice:
    files = tuple(LogFile(f"log{place}", size) for place, size in enumerate(logs))
    return FileSlice(partition, "file", "1", "base", base, files)


def page(history: Sequence[HistoryEntry], slices: Sequence[FileSlice]) -> str:
    table: Any = SimpleNamespace(
        name="trips & <more>",
        path="/lake/trips",
        table_type=merganser.TableType.MERGE_ON_READ,
        record_key=("id",),
        ordering_by=("ts",),
        merge_mode="EVENT_TIME_ORDERING",
    )
    return render(table, history, slices)


def test_the_report_is_one_file_with_commits_late_rows_and_slices() -> None:
    compaction = entry(4, "commit", operation="COMPACT", inserted=1, updated=1, elapsed_ms=10)
    history = [upsert(5, late=3), compaction, upsert(3, late=2), entry(2, "clean", files_deleted=3), upsert(1)]
    html = page(history, [slice_of("eu", 5_000_000, 100_000, 200_000), slice_of("us", 3_000_000)])
    reader = read(html)
    text = " ".join(reader.text)
    assert not {tag for tag, _ in reader.found} & {"script", "link", "img", "iframe", "object"}
    assert "trips & <more>" in text
    for shown in (
        "upsert 2026-01-01 12:05:00 late: 3",
        "upsert 2026-01-01 12:03:00 inserted: 5",
        "compaction",
        "eu base file: 5 MB",
        "eu log files: 300 kB",
        "now: 2 slices, 2 logs, 8.3 MB",
        "Nothing is due.",
    ):
        assert shown in text, shown
    assert "a delete without a row to delete" not in text  # what did not happen is not in the legend


def test_savepoints_and_restores_are_drawn_as_lines_between_commits() -> None:
    history = [upsert(7), entry(6, "restore", comment="20260101120500000"), upsert(2), upsert(1)]
    history.insert(2, entry(2, "savepoint", comment="before the migration"))
    pending = entry(3, "savepoint", state="INFLIGHT")
    html = page([pending, *history], [])
    text = read(html).text
    assert "savepoint 2026-01-01 12:02:00 (before the migration)" in text
    assert "restore 2026-01-01 12:06:00 (20260101120500000)" in text
    assert [text.count(name) for name in ("savepoint", "restore")] == [2, 2]  # in the legend and in the chart
    places = {
        name: float(place)
        for place, name in re.findall(r'<line x1="([\d.]+)"[^>]*/><title>(\w+) [^<]*</title></g>', html)
    }
    ends = [float(x) + float(wide) for x, wide in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', html)]
    _, second, third = sorted(set(ends))
    assert second < places["savepoint"] < places["restore"] < third - 80  # side by side behind the second commit
    assert "a line behind the commit" not in page([upsert(1)], [])


def test_a_table_without_commits_or_late_rows_has_a_report() -> None:
    assert "Nothing is due." in page([], [])
    assert "No row came late" in page([upsert(1)], [])


def test_late_rows_of_logs_are_shown_at_the_compaction_that_merges_them() -> None:
    logged = entry(2, operation="UPSERT", inserted=0, updated=0, deleted=0, late=0, appended=7, appended_deletes=2)
    compaction = entry(4, "commit", operation="COMPACT", inserted=2, updated=1, deleted=0, late=3)
    merged = entry(3, operation="LOG_COMPACT", inserted=0, updated=0, deleted=0, late=1, duplicates=0)
    before = " ".join(read(page([logged, upsert(1)], [])).text)
    assert "7 rows were appended to logs" in before
    assert "No row is known to have come late" in before
    assert "appended: 5" in before  # the deletes are a bar of their own
    text = " ".join(read(page([compaction, merged, logged, upsert(1)], [])).text)
    for shown in (
        "2 commits shown",
        "7 rows inserted",
        "11 rows updated",
        "4 late rows",
        "compaction 2026-01-01 12:04:00 late: 3",
    ):
        assert shown in text, shown
    assert "No row came late" not in text


def test_each_due_task_has_its_command() -> None:
    def due(history: Sequence[HistoryEntry], slices: Sequence[FileSlice] = ()) -> list[str]:
        return [one.command for one in advice("/lake/my trips", history, slices)]

    table = "'/lake/my trips'"
    assert due([upsert(1)]) == []
    assert due([entry(1, "compaction", state="REQUESTED")]) == [f"merganser compact {table} --run"]
    assert due([entry(1, "clustering", state="INFLIGHT")]) == [f"merganser cluster {table} --run"]
    assert due([upsert(1, state="INFLIGHT")])[0] == f"merganser history {table}"
    assert due([], [slice_of("eu", 10_000_000, *[1_000] * 10)]) == [f"merganser compact {table}"]
    assert due([], [slice_of("eu", 1_000, 900)]) == [f"merganser compact {table}"]
    assert due([], [slice_of("eu", 1_000)] * 8) == [f"merganser cluster {table}"]
    assert due([], [slice_of(str(place), 1_000) for place in range(8)]) == []
    many = [upsert(number) for number in range(30)]
    assert due(many) == [f"merganser clean {table} --dry-run"]
    assert due([entry(40, "clean"), *many]) == []
    assert due([entry(1, operation="BULK_INSERT"), entry(2, operation="INSERT")]) == [f"merganser verify {table}"]
    assert due([upsert(1, late=10)]) == [f"merganser explain {table} KEY"]


@pytest.mark.parametrize("path", ["/lake/my trips", "/lake/it's", "/lake/a;b", "/lake/$x", "/lake/plain"])
def test_a_path_in_a_command_is_quoted_as_one_shell_word(path: str) -> None:
    (due,) = advice(path, [upsert(1, late=10)], [])
    assert shlex.split(due.command) == ["merganser", "explain", path, "KEY"]


@pytest.mark.e2e
def test_the_report_program_writes_a_tables_page(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, target = str(tmp_path / "orders"), tmp_path / "page.html"
    table = merganser.Table.create(spark, place, "id string, ts long", record_key="id", ordering_by="ts")
    table.upsert(spark.createDataFrame([("a", 1), ("b", 2)], "id string, ts long"))
    table.savepoints.create(comments="as it was")
    table.upsert(spark.createDataFrame([("a", 3)], "id string, ts long"))
    table.savepoints.restore(savepoint=table.savepoints.list()[0])
    monkeypatch.setattr(sys, "argv", ["report", place, "--out", str(target), "--commits", "5"])
    runpy.run_path(str(REPORT), run_name="__main__")
    assert capsys.readouterr().out == f"{target}\n"
    text = " ".join(read(target.read_text(encoding="utf-8")).text)
    assert "1 commits shown" in text
    assert "2 rows inserted by them" in text
    assert re.search(r"savepoint \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(as it was\)", text)
    assert re.search(r"restore \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text)
    assert table.df().count() == 2  # the session of others goes on
