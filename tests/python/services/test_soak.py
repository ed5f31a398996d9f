"""Eight writers in two processes, with two threads of services and two readers, on each index and both types of tables.

One minute for all tables together; ten with `./dev test --full`, or `MERGANSER_SOAK_SECONDS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from pyspark.sql import SparkSession
from soak_driver import create, digest
from soak_history import Archived, Verdict, judge, notes
from soak_tables import TABLES, Row, SoakTable, first_rows, group_rows

from merganser import Table

pytestmark = pytest.mark.extensive

IS_FULL = bool(os.environ.get("MERGANSER_FULL"))
SECONDS = float(os.environ.get("MERGANSER_SOAK_SECONDS", "600" if IS_FULL else "60"))
SEED = int(os.environ.get("MERGANSER_SEED", "0"))
PROCESSES = 2
#: What may be left to be run.
PLANS = ("compaction", "logcompaction", "clustering", "replacecommit")
START_S = 180
LONG_S = 300


# Guarantee (Concurrent writers): With eight writers in two processes, beside compactions, the table has exactly the
#   writes that reported success, in commit order, and every read is the table after some commit. Also:
#   test_the_judge_detects_lost_and_duplicate_rows_partial_commits_and_false_outcomes
def test_eight_writers_in_two_processes_lose_and_duplicate_no_row_and_report_true_outcomes(
    spark: SparkSession, tmp_path: Path
) -> None:
    soak(spark, tmp_path)
    entries = notes(tmp_path)
    verdicts = [judged(spark, tmp_path, table, [n for n in entries if n["table"] == table.name]) for table in TABLES]
    counted: Counter[str] = sum((verdict.counted for verdict in verdicts), Counter())
    print(f"\nsoak of {SECONDS:.0f} s on {len(TABLES)} tables, seed {SEED}:")
    print("\n".join(f"  {what}: {count}" for what, count in sorted(counted.items())))
    wrong = [line for verdict in verdicts for line in verdict.wrong]
    assert not wrong, f"seed {SEED}, {len(wrong)}:\n" + "\n".join(wrong)
    # A short run on a busy machine has too few operations for each kind to succeed.
    kinds = (
        ("upsert", "insert", "delete", "merge", "overwrite", "clustering", "log compaction", "archiving", "restore")
        if SECONDS >= LONG_S
        else ()
    )
    for kind in ("read", "compaction", *kinds):
        assert counted[f"{kind}: done"] > 0, f"no {kind} has succeeded"
    assert counted["counts"] + counted["merge: done"] > len(TABLES), "too few writes have succeeded"


def judged(spark: SparkSession, root: Path, table: SoakTable, entries: list[dict[str, object]]) -> Verdict:
    opened = Table.load(spark, root / table.name)
    found = judge(table, root / table.name, entries, rows(opened), archived(spark, root / table.name))
    pending = [e for e in opened.history() if e.state != "COMPLETED" and e.action not in PLANS]
    if pending:
        found.wrong.append(f"{table.name}: left pending: {pending}")
    if table.kind == "MERGE_ON_READ":
        before = rows(opened)
        opened.compact(options=table.settings)
        if rows(opened) != before:
            found.wrong.append(f"{table.name}: a compaction has changed rows")
    return found


def archived(spark: SparkSession, folder: Path) -> list[Archived]:
    """The instants in the files of the history, also of files that later ones replace."""
    files = [str(file) for file in (folder / ".hoodie" / "timeline" / "history").glob("*.parquet")]
    if not files:
        return []
    frame = spark.read.parquet(*files).select("instantTime", "completionTime", "action", "metadata")
    return [(row[0], row[1], row[2], bytes(row[3] or b"")) for row in frame.collect()]


def rows(table: Table) -> list[Row]:
    return sorted(tuple(row) for row in table.df().select("id", "part", "ts", "v", "op").collect())


def soak(spark: SparkSession, root: Path) -> None:
    """Run the processes until they have ended by themselves; the tables are created while they start."""
    helpers = TESTS / "python" / "helpers"
    variables = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    drivers = []
    for number in range(PROCESSES):
        command = [sys.executable, str(helpers / "soak_driver.py"), str(root), str(number), str(SECONDS), str(SEED)]
        with (root / f"driver-{number}.log").open("wb") as out:
            drivers.append(
                subprocess.Popen(command, cwd=root, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            )
    try:
        for table in TABLES:
            create(spark, root, table)
        end = time.monotonic() + START_S
        while not all((root / f"ready-{number}").exists() for number in range(PROCESSES)):
            assert all(driver.poll() is None for driver in drivers), logs(root)
            assert time.monotonic() < end, "the drivers have not started: " + logs(root)
            time.sleep(0.1)
        (root / "go.tmp").write_text(str(time.time() + 0.5))
        (root / "go.tmp").rename(root / "go")
        for driver in drivers:
            assert driver.wait(SECONDS + START_S) == 0, logs(root)
    finally:
        for driver in drivers:
            if driver.poll() is None:
                driver.kill()


def logs(root: Path) -> str:
    return "\n".join(file.read_text(errors="replace")[-4000:] for file in sorted(root.glob("driver-*.log")))


class Story:
    """A table's timeline and the notes of its writers and readers, for tests of the judge."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.timeline = folder / ".hoodie" / "timeline"
        self.timeline.mkdir(parents=True)
        self.entries: list[dict[str, Any]] = []
        self.commit(10, 11, "first")
        self.commit(20, 25, "<00-1>")
        self.commit(22, 28, "<01-1>")
        self.write("00-1", "20", ts=5)
        self.write("01-1", "22", ts=4)
        self.final = [*first_rows(), *group_rows("00-1", 0, 5)]

    def commit(self, requested: int, completed: int, content: str) -> None:
        (self.timeline / f"{requested}_{completed}.deltacommit").write_text(content)

    def write(self, op: str, instant: str, ts: int, **other: Any) -> None:
        counts = {"inserted": 0, "updated": 0, "late": 0, "deleted": 0, "appended": 4, "retries": 0}
        note = {"op": op, "kind": "upsert", "rows": group_rows(op, 0, ts), "outcome": "done", "instant": instant}
        self.entries.append({**note, "counts": counts, "begun": 1.0, "ended": 2.0, **other})

    def read(self, rows: list[Row], begun: float) -> None:
        note = {"op": "", "kind": "read", "outcome": "done", "begun": begun, "ended": begun}
        self.entries.append({**note, "digest": digest(rows)})

    def restore(self, target: str, taken: str) -> None:
        aside = self.root.parent / f"taken-{self.root.name}"
        aside.mkdir()
        (self.timeline / taken).rename(aside / taken)
        (self.timeline / "40_41.restore").touch()
        note = {"op": "", "kind": "restore", "outcome": "done", "target": target, "instant": "40"}
        self.entries.append({**note, "begun": 3.0, "ended": 4.0})

    def wrong(self) -> str:
        return "\n".join(judge(TABLES[1], self.root, self.entries, self.final).wrong)


def test_the_judge_detects_lost_and_duplicate_rows_partial_commits_and_false_outcomes(
    tmp_path: Path,
) -> None:
    def story() -> Story:
        return Story(tmp_path / str(len(list(tmp_path.iterdir()))))

    good = story()
    good.read(good.final, 3.0)
    assert good.wrong() == ""
    lost = story()
    lost.final.pop()
    assert "lost [('g0-3'" in lost.wrong()
    older = story()
    older.final = [*first_rows(), *group_rows("01-1", 0, 4)]
    assert "lost [('g0-0'" in older.wrong()
    doubled = story()
    doubled.final.append(doubled.final[-1])
    assert "stored twice" in doubled.wrong()
    half = story()
    half.read(half.final[:-1], 3.0)
    assert "the state after no commit" in half.wrong()
    stale = story()
    stale.read(first_rows(), 3.0)
    assert "older than commit" in stale.wrong()
    unreported = story()
    unreported.entries[1] |= {"outcome": "refused", "condition": "COMMIT_CONFLICT", "message": "a conflict"}
    assert "committed: True" in unreported.wrong()
    missing = story()
    missing.write("02-1", "30", ts=1)
    assert "was reported as done and is not committed" in missing.wrong()
    restored = story()
    restored.restore("20", taken="22_28.deltacommit")
    restored.read(restored.final, 5.0)
    assert restored.wrong() == ""
    restored.entries[-2]["target"] = "10"
    assert "too many or old" in restored.wrong()
    kept = story()
    kept.commit(18, 29, "<02-1>")  # requested before the target, completed after it
    kept.write("02-1", "18", ts=6)
    kept.restore("20", taken="22_28.deltacommit")
    kept.final = [*first_rows(), *group_rows("02-1", 0, 6)]
    assert kept.wrong() == ""
    twice = story()
    twice.commit(31, 32, "<00-1>")
    assert "is committed 2 times" in twice.wrong()
    miscounted = story()
    miscounted.entries[0]["counts"]["appended"] = 3
    assert "reports" in miscounted.wrong()
