"""A stream's process is killed at the steps of its micro-batches: restarted, it loses nothing and writes nothing twice.

As for writers, the process is stopped every millisecond; if the names in the folders of its table and its checkpoint
have changed, both are copied, and it continues: a copy is what a kill at that moment leaves behind. In the end the
process is really killed, between a commit and its checkpoint. With MERGANSER_FULL=1 all copies are continued.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from feeds import Feed, finish, options_of, stream, timeline, writer
from frames import load, rows_of
from option_names import COW, MOR
from pyspark.sql import SparkSession
from stopped import Stopped, copied, names_in

FULL = os.environ.get("MERGANSER_FULL") == "1"
KINDS = [COW, MOR] if FULL else [COW]

#: Between two looks at a running process.
SLICE_S = 0.001


class Left(NamedTuple):
    """Table and checkpoint as a stream that was killed leaves them."""

    kind: str
    step: str
    folder: Path


def step_of(folder: Path) -> str:
    """What a stream was doing, by the files that it left."""
    checkpoint, table = folder / "checkpoint", folder / "t"
    numbers = [
        max((int(f.name) for f in (checkpoint / part).glob("[0-9]*")), default=-1) for part in ("offsets", "commits")
    ]
    commits = len(timeline(table)) if (table / ".hoodie").exists() else 0
    pending = list((table / ".hoodie" / "timeline").glob("*.inflight"))
    planned, done = numbers
    if planned == done:
        return "between two micro-batches"
    if commits == planned + 1:
        return "committed, and the checkpoint does not know it"
    return "writing" if pending else "planned"


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Feed:
    """Keys come again later, late, and in ties."""
    feed = Feed(tmp_path_factory.mktemp("feed"))
    for batch in range(3):
        feed.add(*((key, (batch * 7 + key * 3) % 5, f"{key} in {batch}") for key in range(batch, batch + 6)))
    return feed


@pytest.fixture(scope="module")
def left_behind(feed: Feed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Left]]:
    """Tables and checkpoints as stopped and killed streams left them."""
    folder = tmp_path_factory.mktemp("streams")
    found: list[Left] = []
    process = Stopped(folder / "process", "stream_process.py")
    try:
        for kind in KINDS:
            running = folder / kind / "running"
            running.mkdir(parents=True)
            paths = (feed.folder, running / "t", running / "checkpoint")
            copies = copied(process, running, ("fill", kind, *map(str, paths)), SLICE_S)
            found += [Left(kind, step_of(copy), copy) for copy in copies]
        running = folder / "killed"
        running.mkdir()
        process.ask("fill", COW, str(feed.folder), str(running / "t"), str(running / "checkpoint"))
        end = time.monotonic() + 120
        while not ((running / "t" / ".hoodie").exists() and len(timeline(running / "t")) == 2):
            assert time.monotonic() < end
        process.kill()
        found.append(Left(COW, "killed", running))
    finally:
        process.kill()
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_a_stream_into_a_table_that_was_killed_at_any_step_loses_nothing_and_writes_nothing_twice(
    spark: SparkSession, feed: Feed, left_behind: list[Left]
) -> None:
    steps = {left.step for left in left_behind}
    assert {"planned", "writing", "committed, and the checkpoint does not know it", "killed"} <= steps
    for left in some_of_each_step(left_behind):
        path = left.folder / "t"
        inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
        # An insert stores a row that comes twice two times, an upsert would hide it.
        finish(
            writer(stream(spark, feed.folder), left.folder / "checkpoint", options_of(left.kind, **inline)).start(
                str(path)
            )
        )
        assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded(), left
        writes = [name for name in timeline(path) if left.kind == COW or name.endswith("deltacommit")]
        assert len(writes) == len(feed.batches), left


def some_of_each_step(left_behind: list[Left]) -> list[Left]:
    """All, or by default the middle one of each step."""
    if FULL:
        return left_behind
    steps = sorted({left.step for left in left_behind})
    each = [[left for left in left_behind if left.step == step] for step in steps]
    return [found[len(found) // 2] for found in each]


def test_names_of_files_that_vanish_meanwhile_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert names_in(tmp_path) == frozenset({str(tmp_path / "a")})
