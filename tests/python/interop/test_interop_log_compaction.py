"""Log compactions of both engines on one table: each reads, compacts and goes on after the other's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, name string, ts bigint, _hoodie_is_deleted boolean, part string"
FULL = bool(os.environ.get("MERGANSER_FULL"))
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
INLINE = {"hoodie.log.compaction.inline": "true", "hoodie.log.compaction.blocks.threshold": "2"}
EVENT, COMMIT = "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"
#: Version and mode of the tables whose logs Hudi compacts, or we: each version and each mode once, and with
#: MERGANSER_FULL=1 all pairs.
BY_HUDI_ON = [("6", EVENT), ("9", COMMIT)]
BY_US_ON = [("6", COMMIT), ("9", EVENT)]
if FULL:
    BY_HUDI_ON = BY_US_ON = [(version, mode) for version in ("6", "8", "9") for mode in (EVENT, COMMIT)]
BY_HUDI = {**INLINE, "hoodie.log.compaction.enable": "true"}


def options_of(version: str, mode: str) -> dict[str, str]:
    return {
        "hoodie.table.name": f"logs_{version}_{mode.lower()}",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.write.record.merge.mode": mode,
        "hoodie.write.table.version": version,
        **OFF,
    }


def row(key: int, ts: int, *, deleted: bool = False) -> list[object]:
    return [key, f"v{ts}", ts, deleted, "a"]


#: One commit each: updates, a row that arrives late, deletes by mark, a row that follows its delete, a late delete.
BATCHES = [
    [row(key, 10) for key in range(1, 7)],
    [row(1, 20), row(2, 5)],
    [row(1, 15), row(3, 20, deleted=True)],
    [row(3, 30), row(4, 20, deleted=True)],
    [row(4, 15), row(5, 5, deleted=True)],
    [row(2, 40), row(6, 11)],
]


def expected(mode: str, count: int) -> list[list[object]]:
    """The fold of the first batches, with a tombstone for each delete: they are all in logs."""
    state: dict[object, list[object]] = {}
    for batch in BATCHES[:count]:
        for new in batch:
            old = state.get(new[0])
            if old is None or mode == "COMMIT_TIME_ORDERING" or int(str(new[2])) >= int(str(old[2])):
                state[new[0]] = new
    return [state[key] for key in sorted(state, key=str) if not state[key][3]]


def plans(path: Path, state: str = ".requested") -> list[str]:
    return sorted(file.name for file in (path / ".hoodie").rglob(f"*.logcompaction{state}") if file.suffix != ".crc")


@pytest.mark.sampled
@pytest.mark.parametrize(("version", "mode"), BY_HUDI_ON)
def test_we_read_write_and_compact_tables_whose_logs_hudi_compacts(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str, mode: str
) -> None:
    path = tmp_path / "t"
    options = options_of(version, mode)
    for count, batch in enumerate(BATCHES[:-1], 1):
        hudi.upsert(path, SCHEMA, batch, **options, **(BY_HUDI if count > 2 else {}))
        assert ours.read(path).business == expected(mode, count), count
        assert hudi.read(path).business == expected(mode, count), count
    assert plans(path)
    ours.upsert(path, SCHEMA, BATCHES[-1], **OFF)
    assert ours.read(path).business == hudi.read(path).business == expected(mode, len(BATCHES))
    ours.compact(path)
    assert ours.read(path, "read_optimized").business == expected(mode, len(BATCHES))
    assert hudi.read(path).business == expected(mode, len(BATCHES))


@pytest.mark.sampled
@pytest.mark.parametrize(("version", "mode"), BY_US_ON)
def test_hudi_reads_writes_and_compacts_tables_whose_logs_we_compact(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str, mode: str
) -> None:
    path = tmp_path / "t"
    options = options_of(version, mode)
    for count, batch in enumerate(BATCHES[:4], 1):
        ours.upsert(path, SCHEMA, batch, **options, **(INLINE if count > 2 else {}))
        assert hudi.read(path).business == ours.read(path).business == expected(mode, count), count
    assert len(plans(path)) == 2
    # Hudi merges our merged log with the next one, and we the next of its.
    # It compacts logs only if as many commits as blocks are wanted have followed the last log compaction.
    hudi.upsert(path, SCHEMA, BATCHES[4], **options, **{**BY_HUDI, "hoodie.log.compaction.blocks.threshold": "1"})
    assert len(plans(path)) == 3
    assert hudi.read(path).business == ours.read(path).business == expected(mode, 5)
    ours.upsert(path, SCHEMA, BATCHES[5], **OFF, **INLINE)
    assert len(plans(path)) == 4
    assert hudi.read(path).business == ours.read(path).business == expected(mode, 6)
    hudi.compact(path)
    assert hudi.read(path, "read_optimized").business == ours.read(path).business == expected(mode, 6)


def test_each_engine_runs_a_log_compaction_planned_by_the_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    mode = "EVENT_TIME_ORDERING"
    options = options_of("9", mode)
    for batch in BATCHES[:3]:
        ours.upsert(path, SCHEMA, batch, **options)
    table = Table.load(ours.spark, str(path))
    planned = table.services.compact_logs(schedule_only=True, options=INLINE)
    assert planned is not None
    hudi.upsert(path, SCHEMA, BATCHES[3], **options, **BY_HUDI)
    done = [step for step in table.history() if step.instant == planned.instant]
    assert [step.state for step in done] == ["COMPLETED"]
    assert hudi.read(path).business == ours.read(path).business == expected(mode, 4)
