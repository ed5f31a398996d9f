"""Services beside writers: in the background of the session, and of another process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from held import held
from pyspark.sql import SparkSession

import merganser
from merganser import Table
from merganser.cli import main

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = "id string, ts long, v string"
MOR = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
BEATS = {"hoodie.client.heartbeat.interval_in_ms": "200", "hoodie.client.heartbeat.tolerable.misses": "4"}
START_S = 120


def create(spark: SparkSession, path: Path, kind: str = "MERGE_ON_READ") -> Table:
    return Table.create(
        spark,
        path,
        COLUMNS,
        record_key="id",
        ordering_by="ts",
        options={**MOR, "hoodie.datasource.write.table.type": kind},
    )


def upsert(spark: SparkSession, table: Table, ts: int, **options: str) -> None:
    rows = [(key, ts, f"{key}{ts}") for key in "ab"]
    table.upsert(spark.createDataFrame(rows, COLUMNS), options=options)


def rows_of(table: Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.df().collect())


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_background_services_run_beside_writes_until_they_are_stopped(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, tmp_path / "t")
    upsert(spark, table, 1)
    settings = {"hoodie.compact.inline.max.delta.commits": "2", "hoodie.clean.commits.retained": "1"}
    started = table.services.start(["compaction", "clean"], interval_seconds=300, options=settings)
    assert [(s.service, s.interval_seconds) for s in started] == [("compaction", 300), ("clean", 300)]
    for ts in range(2, 7):
        upsert(spark, table, ts)
    table.services.stop()
    assert table.services.status() == []
    done = table.history()
    assert sum(entry.action == "commit" for entry in done) >= 1
    assert sum(entry.action == "clean" for entry in done) >= 1
    assert all(entry.state == "COMPLETED" for entry in done)
    assert rows_of(table) == [("a", 6, "a6"), ("b", 6, "b6")]
    with pytest.raises(TypeError, match="list of names"):
        table.services.start("clean")


@pytest.mark.extensive
def test_a_killed_runners_compaction_is_taken_over_after_its_heartbeat_expires(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = create(spark, path)
    for ts in (1, 2):
        upsert(spark, table, ts)
    assert table.compact(schedule_only=True) is not None
    upsert(spark, table, 3)
    orders = held(tmp_path / "held")
    orders.order("compaction", "hold", ".parquet")
    command = [
        sys.executable,
        "-m",
        "merganser",
        "compact",
        f"held://{path}",
        "--run",
        "--json",
        "--master",
        "local[1]",
    ]
    conf = {**orders.settings, "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    for key, value in BEATS.items():
        command += ["--option", f"{key}={value}"]
    with (tmp_path / "log.txt").open("wb") as log:
        runner = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
        try:
            runner_pid = orders.reached("compaction").pid
            (left,) = spark.sql(f"CALL run_compaction(op => 'run', path => '{path}')").collect()
            assert left.state == "INFLIGHT"
            assert re.match(rf"process {runner_pid} on .* runs it", left.left_because)
            upsert(spark, table, 4)
            os.kill(runner_pid, signal.SIGKILL)
            assert runner.wait(START_S) == 1
        finally:
            runner.kill()
    expiring = ", ".join(f"'{key}', '{value}'" for key, value in BEATS.items())
    call = f"CALL run_compaction(op => 'run', path => '{path}', options => map({expiring}))"
    wait_until(lambda: [row.state for row in spark.sql(call).collect()] == ["COMPLETED"])
    assert rows_of(table) == [("a", 4, "a4"), ("b", 4, "b4")]
    bases = [file.name for file in path.glob("*.parquet")]
    assert len([name for name in bases if left.timestamp in name]) == 1
    assert [file.name for file in (path / ".hoodie" / ".heartbeat").glob("*")] == []


def test_the_command_line_compacts_cleans_and_archives_and_prints_what_was_done(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "t")
    table = create(spark, tmp_path / "t")

    def printed(*arguments: str, code: int = 0) -> str:
        assert main([*arguments]) == code
        return capsys.readouterr().out

    for ts in range(1, 4):
        upsert(spark, table, ts, **{"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"})
    assert printed("compact", path, "--if-due") == "nothing to do\n"
    (planned,) = json.loads(printed("compact", path, "--schedule", "--json"))
    assert planned["state"] == "REQUESTED"
    lines = dict(line.split(maxsplit=1) for line in printed("compact", path, "--run").splitlines() if line)
    assert (lines["timestamp"], lines["rows_written"]) == (planned["timestamp"], "2")
    upsert(spark, table, 4, **{"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"})
    (preview,) = json.loads(printed("clean", path, "--dry-run", "--retain-commits", "1", "--json"))
    (cleaned,) = json.loads(printed("clean", path, "--option", "hoodie.clean.commits.retained=1", "--json"))
    assert cleaned["total_files_deleted"] == len(preview["files"]) > 0
    (archived,) = json.loads(printed("archive", path, "--min-commits", "1", "--max-commits", "2", "--json"))
    assert archived["commits_remaining"] >= 1
    assert rows_of(table) == [("a", 4, "a4"), ("b", 4, "b4")]


def test_a_failed_command_returns_1_and_wrong_arguments_return_2(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create(spark, tmp_path / "it's", kind="COPY_ON_WRITE")
    assert main(["compact", str(tmp_path / "it's"), "--json", "--every", "1s"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == "COMPACTION_OF_COPY_ON_WRITE"
    assert "COMPACTION_OF_COPY_ON_WRITE" in err
    for wrong in (
        ["compact"],
        ["compact", "t", "--run", "--schedule"],
        ["compact", "t", "--every", "soon"],
        ["clean", "t", "--option", "novalue"],
        ["archive", "t", "--min-commits", "0"],
        ["nothing"],
    ):
        assert main(wrong) == 2, wrong
    capsys.readouterr()
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("compact", "clean", "archive"))


def test_a_command_with_every_repeats_after_failures_until_the_process_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    import io
    import threading

    from merganser.cli._run import Request, repeat

    rows = iter([[{"n": 1}], merganser.MerganserError("once", condition="LOCK_TIMEOUT"), [], [{"n": 2}]])
    end, out, err = threading.Event(), io.StringIO(), io.StringIO()

    def command(*_: object) -> list[dict[str, object]]:
        found = next(rows)
        if isinstance(found, Exception):
            raise found
        if found == [{"n": 2}]:
            end.set()
        return found

    repeat(spark, command, Request(json=True, every=0.01), out, err, end)
    shown = [json.loads(line) for line in out.getvalue().splitlines()]
    assert shown == [[{"n": 1}], {"error": "LOCK_TIMEOUT", "message": "once"}, [{"n": 2}]]
    assert err.getvalue() == "merganser: once\n"
