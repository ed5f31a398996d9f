"""A writer's process is killed: readers see the rows of before or after, and the next writer, ours or Hudi's, goes on.

To start a Java process for each kill takes too long. So a writer is stopped every millisecond; if the names in its
table's folder have changed, the folder is copied, and the writer continues: the copy is what a kill at that moment
leaves behind. In the end the writer is really killed, in the middle of an action. With MERGANSER_FULL=1 all copies are
checked, and a writer is killed in each action.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from frames import commit_metadata, load, rows_of
from killed_writer import ACTIONS, VERSION, save
from option_names import COW, TYPE
from pyspark.sql import SparkSession
from stopped import Stopped, copied, let_lease_pass, names_in

from interop.hudi_engine import HudiEngine

pytestmark = pytest.mark.extensive

FULL = os.environ.get("MERGANSER_FULL") == "1"

#: Copies of each action that are checked, and of those the ones that Hudi reads and writes.
COPIES = 1000 if FULL else 2
OF_HUDI = 12 if FULL else 4

#: Where a writer is really killed: when a file of this name appears.
KILLS = {
    "upsert with clustering": r".*\.clustering\.inflight",
    "upsert, copy on write": r".*\.parquet",
    "compaction": r".*\.compaction\.inflight",
    "first write": r".*\.inflight",
    "upsert, merge on read": r".*\.log\..*",
    "overwrite of partitions": r".*\.replacecommit\.inflight",
    "overwrite of the table": r".*\.marker\..*",
    "upsert with compaction": r".*\.compaction\.requested",
    "delete": r".*\.commit\.requested",
    "ALTER TABLE of columns": r"unpublished-.*",
    "ALTER TABLE of properties": r"hoodie\.properties\.backup|unpublished-.*",
    "upgrade from version 6": r"\d{17}_\d{17}\.deltacommit",
    "upgrade from version 8": r"hoodie\.properties\.backup|unpublished-.*",
}
KILLED = list(KILLS) if FULL else list(KILLS)[:1]

#: How long a writer runs between two stops.
SLICE_S = 0.001


class State(NamedTuple):
    """What a reader sees: None where there is no table, or one without a commit."""

    columns: list[str] | None
    rows: list[tuple[Any, ...]]


class Left(NamedTuple):
    """A table as a writer left it, and what a reader may see in it."""

    action: str
    path: Path
    files: frozenset[str]
    old: State
    new: State


def read(spark: SparkSession, path: Path) -> State:
    if not any((path / ".hoodie" / f"hoodie.properties{suffix}").exists() for suffix in ("", ".backup")):
        return State(None, [])
    frame = load(spark.newSession(), path)
    columns = [name for name in frame.columns if not name.startswith("_hoodie_")]
    return State(columns, rows_of(frame.select(*columns))) if columns else State(None, [])


def copies_of(writer: Stopped, spark: SparkSession, name: str, folder: Path) -> list[Left]:
    """Run an action; copies of its table, one for each change of the names in its folder, and one of what it left."""
    path = folder / "running"
    path.mkdir(parents=True)
    writer.do("prepare", name, str(path))
    old = read(spark, path)
    copies = copied(writer, path, ("run", name, str(path)), SLICE_S)
    copies.append(folder / str(len(copies)))
    shutil.copytree(path, copies[-1])
    new = read(spark, path)
    return [Left(name, copy, files_of(copy), old, new) for copy in copies]


def files_of(path: Path) -> frozenset[str]:
    """Paths in the folder."""
    return frozenset(str(Path(file).relative_to(path)) for file in names_in(path))


def killed_in(writer: Stopped, spark: SparkSession, name: str, folder: Path) -> Left:
    """The table whose writer is killed when a file appears that the action writes."""
    path, whole = folder / "killed", folder / "whole"
    for each in (path, whole):
        each.mkdir(parents=True)
        writer.do("prepare", name, str(each))
    old = read(spark, path)
    writer.do("run", name, str(whole))
    before = names_in(path)
    writer.request("run", name, str(path))
    while not any(re.fullmatch(KILLS[name], Path(file).name) for file in names_in(path) - before):
        if writer.is_done():
            break
    writer.kill()
    return Left(name, path, files_of(path), old, read(spark, whole))


def stored(path: Path) -> dict[str, str]:
    """The table's properties, from their backup while they are being replaced."""
    files = [path / ".hoodie" / f"hoodie.properties{suffix}" for suffix in ("", ".backup")]
    text = next(file for file in files if file.exists()).read_text()
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def unfinished(left: Left) -> frozenset[str]:
    """Files of a table that its writer had not finished with."""
    return frozenset(f for f in left.files if re.search(r"\.temp/.+|lock$|backup$|\.heartbeat/.+", f))


def chosen(copies: list[Left]) -> list[Left]:
    """Some of the copies from all of the action, those with files that a writer had not finished with first."""
    dirty = [left for left in copies if unfinished(left)] or copies
    step = max(1, len(dirty) // COPIES)
    return dirty[step // 2 :: step][:COPIES]


def grown_old(path: Path) -> None:
    """Time passes: temporary files, heartbeats and locks of a dead process become old."""
    past = time.time() - 7200
    for folder in (path / ".hoodie" / ".temp", path / ".hoodie" / ".heartbeat"):
        for file in folder.glob("*") if folder.is_dir() else ():
            if file.is_file():
                os.utime(file, (past, past))
    for file in clusterings(path):
        os.utime(file, (past, past))
    let_lease_pass(path)


def clusterings(path: Path) -> list[Path]:
    """The plans of clusterings that have not completed."""
    timeline = path / ".hoodie" / "timeline"
    done = {file.name[:17] for file in timeline.glob("*.replacecommit")}
    return [file for file in timeline.glob("*.clustering.requested") if file.name[:17] not in done]


def leftovers(spark: SparkSession, path: Path) -> list[str]:
    """Files of a table of ours that belong to no commit."""
    meta = path / ".hoodie"
    modern = stored(path).get("hoodie.timeline.layout.version") == "2"
    timeline = meta / "timeline" if modern else meta
    instants = [file.name for file in timeline.iterdir() if re.match(r"\d{17}", file.name)]
    completed = [name for name in instants if not name.endswith((".requested", ".inflight"))]
    requested = {name[:17] for name in completed}
    found = [name for name in instants if name[:17] not in requested]
    committed = {
        stat["path"]
        for name in completed
        for stats in (commit_metadata(spark, timeline / name).get("partitionToWriteStats") or {}).values()
        for stat in stats
    }
    data = [str(f.relative_to(path)) for f in path.rglob("*") if f.is_file() and re.search(r"\d{17}", f.name)]
    found += [file for file in data if not file.startswith(".hoodie") and file not in committed and ".crc" not in file]
    if modern:
        found += [file.name for file in meta.iterdir() if re.match(r"\d{17}", file.name)]
    elif (meta / "timeline").exists():
        found += [file.name for file in (meta / "timeline").iterdir() if file.is_file()]
    for folder in (meta / ".temp", meta / ".heartbeat", meta / ".schema"):
        names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        found += [name for name in names if name[:17] not in requested or folder.name != ".schema"]
    return found + [name for name in ("lock", "hoodie.properties.backup") if (meta / name).exists()]


COLUMNS = ["id", "name", "ts", "part"]
NEXT = [(3, "next", 30, "p2"), (9, "next", 30, "p2")]


def next_rows(columns: list[str]) -> list[tuple[Any, ...]]:
    """The next rows with these columns, null where they have no value."""
    named = [dict(zip(COLUMNS, row, strict=True)) for row in NEXT]
    return [tuple(row.get(name) for name in columns) for row in named]


def with_next(state: State) -> list[tuple[Any, ...]]:
    ids = {row[0] for row in NEXT}
    rows = [row for row in state.rows if row[0] not in ids]
    return sorted(rows + next_rows(state.columns or COLUMNS), key=repr)


def write_next(spark: SparkSession, left: Left, path: Path) -> None:
    options = {key: value for key, value in ACTIONS[left.action].options.items() if key != VERSION}
    options["spark.merganser.write.missingColumns"] = "null"
    save(spark, str(path), ", ".join(map(str, NEXT)), options)


def assert_repaired_by_us(spark: SparkSession, left: Left) -> None:
    context = (left.action, left.path, sorted(unfinished(left)))
    seen = read(spark, left.path)
    assert seen in (left.old, left.new), context
    grown_old(left.path)
    write_next(spark, left, left.path)
    assert read(spark, left.path).rows == with_next(seen), context
    if ACTIONS[left.action].options[TYPE] != COW:
        call = "upgrade_table(" if left.action.startswith("upgrade") else "run_compaction(op => 'scheduleandexecute', "
        grown_old(left.path)
        spark.sql(f"CALL {call}path => '{left.path}')").collect()
        assert read(spark, left.path).rows == with_next(seen), context
    assert not leftovers(spark, left.path), context


def assert_continued_by_hudi(spark: SparkSession, hudi: HudiEngine, left: Left) -> None:
    context = (left.action, left.path, sorted(unfinished(left)))
    seen = read(spark, left.path)
    columns = seen.columns or []
    assert sorted(map(tuple, hudi.read(left.path).select(columns)), key=repr) == seen.rows, context
    rows = [list(row) for row in next_rows(columns)]
    types = {"id": "int", "ts": "bigint"}
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in columns)
    options = {key: value for key, value in ACTIONS[left.action].options.items() if key != VERSION}
    written = {"hoodie.write.auto.upgrade": "false"}
    written["hoodie.write.table.version"] = stored(left.path)["hoodie.table.version"]
    hudi.upsert(left.path, schema, rows, **{**options, **written})
    expected = with_next(seen)
    assert sorted(map(tuple, hudi.read(left.path).select(columns)), key=repr) == expected, context
    assert read(spark, left.path).rows == expected, context


@pytest.fixture(scope="module")
def left_behind(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Left]]:
    """Tables as stopped and killed writers left them."""
    folder = tmp_path_factory.mktemp("killed")
    found: list[Left] = []
    writer = Stopped(folder / "writer", "killed_writer.py")
    try:
        for number, name in enumerate(ACTIONS):
            copies = copies_of(writer, spark, name, folder / f"action-{number}")
            found += chosen(copies)
        for number, name in enumerate(KILLED):
            if number > 0:
                writer = Stopped(folder / f"writer-{number}", "killed_writer.py")
            found.append(killed_in(writer, spark, name, folder / f"kill-{number}"))
    finally:
        writer.kill()
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_hudi_reads_and_continues_a_table_whose_writer_was_killed(
    spark: SparkSession, hudi: HudiEngine, left_behind: list[Left], tmp_path: Path
) -> None:
    dirty = [left for left in left_behind if left.old.columns is not None and unfinished(left)]
    # Hudi refuses writes to the file groups of a clustering that died, until that is run or removed.
    tables = [left for left in dirty if not clusterings(left.path)]
    step = max(1, len(tables) // OF_HUDI)
    some = tables[::step][:OF_HUDI]
    assert some
    for number, left in enumerate(some):
        path = tmp_path / str(number)
        shutil.copytree(left.path, path)
        assert_continued_by_hudi(spark, hudi, left._replace(path=path))
    print(f"{len(some)} tables of killed writers continued by Hudi")


# Guarantee (Failures): If the writer's process is killed, readers see the old rows or the new ones, and the next
#   writer, Hudi too, repairs the table. Also: test_hudi_reads_and_continues_a_table_whose_writer_was_killed
def test_readers_of_a_killed_writers_table_see_old_or_new_rows_and_the_next_write_repairs_it(
    spark: SparkSession, left_behind: list[Left]
) -> None:
    for left in left_behind:
        assert_repaired_by_us(spark, left)
    assert {left.action for left in left_behind} == set(ACTIONS)
    print(f"{len(left_behind)} tables, {len(KILLED)} of them of writers that were really killed")
