"""The demo itself: it runs, its tables are right, and the engine counts what became of each message as pandas does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession

import merganser

FLIGHTS = ROOT / "examples" / "flights"
sys.path.insert(0, str(FLIGHTS))

import feed  # noqa: E402
import truth  # noqa: E402

pytestmark = pytest.mark.extensive


def test_the_demo_finds_no_difference_and_its_report_shows_both_tables(tmp_path: Path) -> None:
    package = str(Path(merganser.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(FLIGHTS / "demo.py"), "--out", str(tmp_path), "--flights", "3000", "--master", "local[2]"],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differences" in done.stdout
    assert done.stdout.count("columns are right") == 2
    assert done.stdout.count("batch 12") == 2
    assert done.stdout.count("compaction") == 1
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "equals the truth" in page
    for shown in ("copy-on-write", "merge-on-read", "before the compaction", "at the end"):
        assert shown in page


def test_the_counts_of_each_copy_on_write_commit_match_pandas(spark: SparkSession, tmp_path: Path) -> None:
    messages = feed.make_messages(feed.load_flights(1_000))
    messages = messages[messages["batch"] < 5]
    files = feed.write_batches(messages, tmp_path / "feed")
    batches = [batch for _, batch in messages.groupby("batch")]
    assert len(batches) == 4
    outcomes = truth.replay(batches, key=feed.KEY, ordering=feed.ORDERING, deleted=feed.DELETED)[1]
    assert sum(one.late for one in outcomes) > 0
    assert sum(one.deleted for one in outcomes) > 0
    frames = [spark.read.parquet(file.as_uri()).drop(feed.RECEIVED) for file in files]
    table = merganser.Table.create(
        spark,
        (tmp_path / "flights").as_uri(),
        frames[0].schema,
        record_key=feed.KEY,
        partition_by=feed.PARTITION,
        ordering_by=feed.ORDERING,
    )
    for frame, batch, outcome in zip(frames, batches, outcomes):
        result = table.upsert(frame)
        known = result.inserted + result.updated + result.late + result.deleted + result.duplicates + result.appended
        assert outcome == truth.BatchOutcome(
            batch=outcome.batch,
            inserted=result.inserted,
            updated=result.updated,
            late=result.late,
            deleted=result.deleted,
            duplicates=result.duplicates,
            void=len(batch) - known,
        )
