"""Eight writers in two processes, with two compactors and two readers, on each index and both types of tables.

One minute for all tables together; ten with `./dev test --full`, or `MERGANSER_SOAK_SECONDS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from places import TESTS
from pyspark.sql import SparkSession
from soak_driver import create
from soak_history import Verdict, judge, notes
from soak_tables import TABLES, Row, SoakTable

from merganser import Table

IS_FULL = bool(os.environ.get("MERGANSER_FULL"))
SECONDS = float(os.environ.get("MERGANSER_SOAK_SECONDS", "600" if IS_FULL else "60"))
SEED = int(os.environ.get("MERGANSER_SEED", "0"))
PROCESSES = 2
START_S = 180


def test_eight_writers_in_two_processes_lose_and_double_no_row_and_report_what_happened(
    spark: SparkSession, tmp_path: Path
) -> None:
    soak(spark, tmp_path)
    told = notes(tmp_path)
    verdicts = [judged(spark, tmp_path, table, [n for n in told if n["table"] == table.name]) for table in TABLES]
    counted: Counter[str] = sum((verdict.counted for verdict in verdicts), Counter())
    print(f"\nsoak of {SECONDS:.0f} s on {len(TABLES)} tables, seed {SEED}:")
    print("\n".join(f"  {what}: {count}" for what, count in sorted(counted.items())))
    wrong = [line for verdict in verdicts for line in verdict.wrong]
    assert not wrong, f"seed {SEED}, {len(wrong)}:\n" + "\n".join(wrong)
    for kind in ("upsert", "insert", "delete", "merge", "overwrite", "compaction", "read"):
        assert counted[f"{kind}: done"] > 0, f"no {kind} has succeeded"


def judged(spark: SparkSession, root: Path, table: SoakTable, told: list[dict[str, object]]) -> Verdict:
    opened = Table.load(spark, root / table.name)
    found = judge(table, root / table.name, told, rows(opened))
    pending = [e for e in opened.history() if e.state != "COMPLETED" and e.action != "compaction"]
    if pending:
        found.wrong.append(f"{table.name}: left pending: {pending}")
    if table.kind == "MERGE_ON_READ":
        before = rows(opened)
        opened.compact(options=table.settings)
        if rows(opened) != before:
            found.wrong.append(f"{table.name}: a compaction has changed rows")
    return found


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
