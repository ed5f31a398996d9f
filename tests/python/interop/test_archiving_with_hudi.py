"""Hudi reads tables whose instants we archived, archives on, and we archive after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, name string, ts bigint"
LIMITS = {
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.automatic": "false",
    # Hudi keeps two instants more than its cleaner would retain.
    "hoodie.clean.commits.retained": "1",
    "hoodie.timeline.compaction.batch.size": "2",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.parquet.small.file.limit": "0",
}

#: Type and version of a table: each type, and both forms of the archive; all of them with MERGANSER_FULL=1.
TABLES = [(MOR, 8), (COW, 6)]
if os.environ.get("MERGANSER_FULL"):
    TABLES += [(MOR, 9), (COW, 9), (COW, 8), (MOR, 6)]


# Guarantee (Services): Hudi reads what Merganser archived, in versions 6, 8 and 9, and each continues the other's
#   history.
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_both_engines_find_every_commit_of_a_table_they_archive_in_turns(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(version),
        **LIMITS,
    }
    folder = path / ".hoodie" / ("timeline" if version > 6 else "")
    seen: dict[str, int] = {}

    def active() -> list[str]:
        names = [f.name for f in folder.iterdir() if f.is_file() and f.name.split(".")[-1].endswith("commit")]
        return sorted({name.split(".")[0].split("_")[0] for name in names})

    name = f"archived_{kind}_{version}"

    def archived(engine: MerganserEngine | HudiEngine) -> list[str]:
        if isinstance(engine, MerganserEngine):
            rows = engine.spark.sql(f"CALL show_archived_commits(path => '{path}', limit => 1000)").collect()
        else:
            register = f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{path}'"
            # Without times, those of the last day are left out.
            times = "start_ts => '20000101000000000', end_ts => '29990101000000000'"
            rows = engine.sql(register, f"CALL show_archived_commits(table => '{name}', limit => 1000, {times})")
        return sorted({row[0] for row in rows})

    def check(step: int) -> None:
        for instant in set(active()) - seen.keys():
            seen[instant] = step
        expected = sort_rows([[0, f"step {step}", step], *([i, "new", i] for i in range(1, step + 1))])
        assert ours.read(path).business == hudi.read(path).business == expected, step
        assert set(archived(ours)) | set(active()) == seen.keys(), step
        assert set(archived(ours)).isdisjoint(active()), step

    def write(engine: MerganserEngine | HudiEngine, step: int) -> None:
        engine.upsert(path, SCHEMA, [[step, "new", step], [0, f"step {step}", step]], **options)
        check(step)

    for step in range(1, 9):
        write(ours, step)
    mine = archived(ours)
    assert len(mine) >= 4
    assert archived(hudi) == mine
    for step in range(9, 13):
        write(hudi, step)
    assert len(archived(hudi)) > len(mine)
    for step in range(13, 17):
        write(ours, step)
    assert archived(hudi) == archived(ours)
    assert len(active()) <= 4
    # As of a commit that was archived: Hudi and we find its files.
    first = min(instant for instant, step in seen.items() if step == 3)
    past = sort_rows([[0, "step 3", 3], [1, "new", 1], [2, "new", 2], [3, "new", 3]])
    assert ours.read(path, **{"as.of.instant": first}).business == past
    if kind == COW:
        assert hudi.read(path, **{"as.of.instant": first}).business == past


def test_hudi_with_a_metadata_table_works_on_after_our_rollback_of_its_failed_write(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    """No rollback instant is needed: decision 47."""
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": COW,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.metadata.enable": "true",
    }
    timeline = path / ".hoodie" / "timeline"

    def completed() -> list[Path]:
        return sorted(f for f in timeline.iterdir() if f.name.endswith(".commit"))

    for step in (1, 2):
        hudi.upsert(path, SCHEMA, [[step, "hudi", step], [0, f"step {step}", step]], **options)
    # A write that dies before its last step: its files are there, and its metadata table has them.
    hudi.upsert(path, SCHEMA, [[9, "lost", 9], [0, "lost", 9]], **options)
    lost = completed()[-1]
    instant = lost.name.split("_")[0]
    lost.unlink()
    (path / ".hoodie" / "timeline" / f".{lost.name}.crc").unlink(missing_ok=True)
    assert list(path.glob(f"*_{instant}.parquet"))
    assert (path / ".hoodie" / "metadata").is_dir()

    ours.spark.sql(f"CALL rollback_failed_writes(path => '{path}')").collect()
    assert not [f for f in timeline.iterdir() if instant in f.name]
    assert not list(path.glob(f"*_{instant}.parquet"))
    assert (path / ".hoodie" / "metadata").is_dir()
    expected = sort_rows([[0, "step 2", 2], [1, "hudi", 1], [2, "hudi", 2]])
    assert ours.read(path).business == expected
    assert hudi.read(path, **{"hoodie.metadata.enable": "true"}).business == expected
    # Enough writes that Hudi compacts its metadata table, and that the lost instant is older than the timeline.
    limits = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    limits |= {"hoodie.archive.automatic": "true", "hoodie.metadata.compact.max.delta.commits": "2"}
    for step in range(3, 10):
        hudi.upsert(path, SCHEMA, [[step, "hudi", step], [0, f"step {step}", step]], **{**options, **limits})
        expected = sort_rows([[0, f"step {step}", step], *([i, "hudi", i] for i in range(1, step + 1))])
        assert hudi.read(path, **{"hoodie.metadata.enable": "true"}).business == expected, step
    assert ours.read(path).business == expected
    assert min(completed()).name > lost.name
