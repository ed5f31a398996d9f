"""One lock for our writers and Hudi's: the file of Hudi's FileSystemBasedLockProvider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine, HudiError
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError

SCHEMA = "id int, name string, ts bigint, part string"

OPTIONS = {
    "hoodie.table.name": "locked",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.metadata.enable": "false",
}


@contextmanager
def watched(lock: Path) -> Iterator[list[bytes]]:
    """Contents of the file, whenever it was there."""
    seen: list[bytes] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            with suppress(FileNotFoundError):
                seen.append(lock.read_bytes())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join(10)


def contents_during(lock: Path, content: bytes, write: Callable[[], object]) -> list[bytes]:
    """Contents of the file during a write, which is repeated while it was over too soon to be looked at."""
    for _ in range(10):
        with watched(lock) as seen:
            write()
        if any(content in each for each in seen):
            break
    return seen


@pytest.mark.sampled
@pytest.mark.parametrize("folder", ["", "locks"])
def test_both_engines_use_one_lock_file_and_wait_for_each_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, folder: str
) -> None:
    table = tmp_path / "locked"
    lock = (tmp_path / folder if folder else table / ".hoodie") / "lock"
    options = {**OPTIONS, **({"hoodie.write.lock.filesystem.path": str(tmp_path / folder)} if folder else {})}
    ours.upsert(table, SCHEMA, [[1, "a", 1, "x"]], **options)
    found = contents_during(lock, b"", lambda: hudi.upsert(table, SCHEMA, [[2, "b", 1, "y"]], **options))
    assert set(found) == {b""}, "Hudi's lock file bears no name: an empty one is to be taken for Hudi's"
    found = contents_during(lock, b"merganser", lambda: ours.upsert(table, SCHEMA, [[3, "c", 1, "x"]], **options))
    assert any(b"merganser" in each for each in found)

    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    brief = {
        "hoodie.write.lock.wait_time_ms": "300",
        "hoodie.write.lock.num_retries": "1",
        "hoodie.write.lock.client.num_retries": "1",
    }
    with pytest.raises(MerganserError, match=r"LOCK_TIMEOUT"):
        ours.upsert(table, SCHEMA, [[4, "d", 1, "x"]], **options, **brief)
    assert lock.exists()
    with pytest.raises(HudiError, match=r"(?i)lock"):
        hudi.upsert(table, SCHEMA, [[5, "e", 1, "y"]], **options, **brief)
    lock.unlink(missing_ok=True)
    ours.upsert(table, SCHEMA, [[6, "f", 1, "x"]], **options)
    rows = [[1, "a", 1, "x"], [2, "b", 1, "y"], [3, "c", 1, "x"], [6, "f", 1, "x"]]
    assert ours.read(table).business == rows
    assert hudi.read(table).business == rows


def test_concurrent_writes_of_both_engines_are_all_committed(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "locked"
    ours.upsert(table, SCHEMA, [[0, "z", 1, "x"], [100, "z", 1, "y"]], **OPTIONS)
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for i in range(1, 6):
                ours.upsert(table, SCHEMA, [[i, "ours", 1, "x"]], **OPTIONS)
        except BaseException as failure:
            failures.append(failure)

    writing = threading.Thread(target=write)
    writing.start()
    for i in range(101, 104):
        hudi.upsert(table, SCHEMA, [[i, "theirs", 1, "y"]], **OPTIONS)
    writing.join(120)
    assert not failures
    assert not writing.is_alive()
    rows = [[0, "z", 1, "x"], *([i, "ours", 1, "x"] for i in range(1, 6))]
    rows += [[100, "z", 1, "y"], *([i, "theirs", 1, "y"] for i in range(101, 104))]
    assert sorted(ours.read(table).business) == rows
    assert sorted(hudi.read(table).business) == rows
