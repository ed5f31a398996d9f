"""The same changes give the same table, whatever path they take.

Fifty random histories, each a handful of keys, live side by side in one table a path. The oracle is a fold over the
versions of a key, written here and sharing nothing with what it checks.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from frames import COW, KEY, MOR, OPERATION, ORDERING, TYPE, frame, load, save
from pyspark.sql import SparkSession

from merganser import Table

pytestmark = pytest.mark.e2e

SEEDS = range(50)
BATCHES = 4
COLUMNS = "id string, ts int, seq string, v long, _hoodie_is_deleted boolean"
EVENT = {ORDERING: "ts,seq"}
COMMIT = {**EVENT, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}


@dataclass(frozen=True)
class Version:
    """One change: a row, a delete with an ordering value, or (`erases`) a delete without."""

    key: str
    ts: int | None
    seq: str | None
    value: int
    deletes: bool = False
    erases: bool = False

    @property
    def row(self) -> tuple[Any, ...]:
        return (self.key, self.ts, self.seq, self.value, self.deletes)


def history(seed: int, *, erasing: bool) -> list[list[Version]]:
    """Batches of changes; the first holds every key, so that later ones find it stored."""
    rng = random.Random(seed)
    keys = [f"{seed}-{i}" for i in range(rng.randint(2, 6))]
    numbers = iter(range(1_000_000))

    def change(key: str, *, row: bool = False, erases: bool = False) -> Version:
        ts = None if rng.random() < 0.1 else rng.randint(-2, 4)
        seq = None if rng.random() < 0.1 else rng.choice("abB")
        return Version(key, ts, seq, seed * 1000 + next(numbers), deletes=not row and rng.random() < 0.3, erases=erases)

    batches = [[change(key, row=True) for key in keys]]
    for _ in range(BATCHES - 1):
        if erasing and rng.random() < 0.3:
            batches.append([change(key, row=True, erases=True) for key in rng.sample(keys, rng.randint(1, len(keys)))])
        else:
            batches.append([change(rng.choice(keys)) for _ in range(rng.randint(0, len(keys) + 2))])
    return batches


def order(version: Version) -> tuple[Any, ...]:
    """Null is the smallest; text compares by its bytes."""
    return tuple((value is not None, value if value is not None else 0) for value in (version.ts, version.seq))


def oracle(batches: Sequence[Sequence[Version]], *, by_event: bool, tombstones: bool) -> dict[str, int]:
    """Fold the versions of each key from the oldest to the newest.

    Args:
        by_event: Later versions lose to larger ordering values; else the newest wins.
        tombstones: A delete with an ordering value is remembered beyond its batch.
    """
    held: dict[str, Version | None] = {}
    for batch in batches:
        for version in batch:
            stored = held.get(version.key)
            if version.erases:
                held[version.key] = None
            elif stored is None or not by_event or order(version) >= order(stored):
                held[version.key] = version
        if not tombstones:
            held = {key: None if version is None or version.deletes else version for key, version in held.items()}
    return {key: version.value for key, version in held.items() if version is not None and not version.deletes}


def together(histories: Sequence[list[list[Version]]]) -> list[list[Version]]:
    """The histories side by side: their first batches as one, and so on."""
    return [[version for batches in histories for version in batches[i]] for i in range(BATCHES)]


def one_version_a_batch(batches: Sequence[Sequence[Version]]) -> list[list[Version]]:
    by_key: dict[str, list[Version]] = defaultdict(list)
    for batch in batches:
        for version in batch:
            by_key[version.key].append(version)
    longest = max(len(versions) for versions in by_key.values())
    return [[versions[i] for versions in by_key.values() if i < len(versions)] for i in range(longest)]


def result(
    spark: SparkSession,
    path: Path,
    batches: Sequence[Sequence[Version]],
    settings: dict[str, str],
    table_type: str,
    *,
    compacting: bool = False,
) -> dict[str, int]:
    """Write the batches, one commit each, and read the table."""
    options = {KEY: "id", TYPE: table_type, **settings}
    for batch in batches:
        upserts, erasures = [v.row for v in batch if not v.erases], [v.row for v in batch if v.erases]
        if upserts:
            save(frame(spark, upserts, COLUMNS), path, options)
        if erasures:
            save(frame(spark, erasures, COLUMNS), path, {**options, OPERATION: "delete"})
        if compacting:
            Table.load(spark, str(path)).compact()
    return read(spark, path)


def read(spark: SparkSession, path: Path) -> dict[str, int]:
    found = [(row.id, row.v) for row in load(spark, path).select("id", "v").collect()]
    assert len(dict(found)) == len(found), "a key comes twice"
    return dict(found)


def agree(found: dict[str, int], expected: dict[str, int], path: str) -> None:
    wrong = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    seeds = sorted({int(key.split("-")[0]) for key in wrong})
    shown = {key: (found.get(key), expected.get(key)) for key in wrong[:5]}
    assert not wrong, f"{path}: seeds {seeds}; key: (found, expected) {shown}"


@pytest.mark.parametrize(("settings", "by_event"), [(EVENT, True), (COMMIT, False)], ids=["event time", "commit time"])
def test_every_path_gives_what_the_fold_gives(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str], by_event: bool
) -> None:
    batches = together([history(seed, erasing=False) for seed in SEEDS])
    whole = [[version for batch in batches for version in batch]]
    single = one_version_a_batch(batches)
    # Tombstones are what the paths differ in, as documented: a log keeps them, a base file does not.
    kept = oracle(batches, by_event=by_event, tombstones=True)
    assert (
        kept == oracle(whole, by_event=by_event, tombstones=False) == oracle(single, by_event=by_event, tombstones=True)
    )
    agree(result(spark, tmp_path / "one", whole, settings, COW), kept, "combined in one batch")
    agree(result(spark, tmp_path / "read", batches, settings, MOR), kept, "merged at read")
    agree(result(spark, tmp_path / "single", single, settings, MOR), kept, "one version a batch, merged at read")
    forgotten = oracle(batches, by_event=by_event, tombstones=False)
    agree(result(spark, tmp_path / "cow", batches, settings, COW), forgotten, "merged at write")
    agree(
        result(spark, tmp_path / "compacted", batches, settings, MOR, compacting=True),
        forgotten,
        "compacted after each batch",
    )


def test_compaction_changes_no_row_whatever_lies_in_the_logs(spark: SparkSession, tmp_path: Path) -> None:
    batches = together([history(seed, erasing=True) for seed in SEEDS])
    expected = oracle(batches, by_event=True, tombstones=True)
    agree(result(spark, tmp_path / "t", batches, EVENT, MOR), expected, "merged at read")
    Table.load(spark, str(tmp_path / "t")).compact()
    agree(read(spark, tmp_path / "t"), expected, "compacted")


def test_deletes_without_ordering_value_end_a_history_on_every_path(spark: SparkSession, tmp_path: Path) -> None:
    histories = [history(seed, erasing=True) for seed in SEEDS]
    batches = together([[[v for v in batch if v.erases or not v.deletes] for batch in one] for one in histories])
    expected = oracle(batches, by_event=True, tombstones=True)
    assert expected == oracle(batches, by_event=True, tombstones=False)
    agree(result(spark, tmp_path / "cow", batches, EVENT, COW), expected, "merged at write")
    agree(result(spark, tmp_path / "mor", batches, EVENT, MOR), expected, "merged at read")


def test_the_histories_hold_what_the_paths_could_differ_in() -> None:
    batches = together([history(seed, erasing=False) for seed in SEEDS])
    kept = oracle(batches, by_event=True, tombstones=True)
    assert kept != oracle(batches, by_event=True, tombstones=False)
    assert kept != oracle(batches, by_event=False, tombstones=True)
    versions = [v for seed in SEEDS for batch in history(seed, erasing=True) for v in batch]
    assert any(v.erases for v in versions)
    assert any(v.deletes for v in versions)
    assert any(v.ts is None for v in versions)
