"""Tables in which Hudi rolled back failed writes and archived: read, as of earlier times too, written and archived."""

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
    "hoodie.clean.commits.retained": "1",
    "hoodie.parquet.small.file.limit": "0",
    # The markers of the failed writes are gone, as these are completed ones that lose their last file.
    "hoodie.rollback.using.markers": "false",
}
STEPS = 12
FAILED = (2, 4, 7)

#: Type and version of a table; all of them with MERGANSER_FULL=1. Version 9 has the archive that is read in
#: test_archived_timelines and written in test_archiving_with_hudi.
TABLES = [(MOR, 6)] + ([(MOR, 9), (COW, 6), (COW, 9)] if os.environ.get("MERGANSER_FULL") else [])


@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_reads_omit_rows_of_writes_whose_rollbacks_hudi_has_archived(
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

    def named(*suffixes: str) -> list[Path]:
        return sorted(f for f in folder.iterdir() if f.name.endswith(suffixes))

    def expected(step: int) -> list[list[object]]:
        return sort_rows([[0, f"step {step}", step], *([i, "new", i] for i in range(1, step + 1))])

    seen: dict[str, int] = {}
    lost: set[str] = set()
    for step in range(1, STEPS):
        hudi.upsert(path, SCHEMA, [[step, "new", step], [0, f"step {step}", step]], **options)
        newest = named("commit")[-1]
        seen[newest.name.replace("_", ".").split(".")[0]] = step
        assert ours.read(path).business == expected(step), step
        if step in FAILED:
            # A write that dies before its last step; Hudi's next one rolls it back.
            hudi.upsert(path, SCHEMA, [[90, "lost", 90], [0, "lost", 90]], **options)
            failed = named("commit")[-1]
            lost.add(failed.name.replace("_", ".").split(".")[0])
            failed.unlink()
            (folder / f".{failed.name}.crc").unlink(missing_ok=True)
            assert ours.read(path).business == expected(step), step
    start = named("commit")[0].name
    assert sum(instant < start for instant in lost) >= 2, "no failed write is older than the timeline"

    def check(step: int) -> None:
        assert ours.read(path).business == hudi.read(path).business == expected(step)
        archived = {
            row.commit_time
            for row in ours.spark.sql(f"CALL show_archived_commits(path => '{path}', limit => 1000)").collect()
        }
        assert archived
        assert archived.isdisjoint(lost)
        for instant, at in seen.items():
            # The last step before a rolled-back write too.
            assert ours.read(path, **{"as.of.instant": instant}).business == expected(at), (instant, at)

    check(STEPS - 1)
    before = {f.name for f in named("commit")}
    for step in range(STEPS, STEPS + 4):
        ours.upsert(path, SCHEMA, [[step, "new", step], [0, f"step {step}", step]], **options)
    assert before - {f.name for f in named("commit")}, "we archived none of Hudi's"
    check(STEPS + 3)
    hudi.upsert(path, SCHEMA, [[STEPS + 4, "new", STEPS + 4], [0, f"step {STEPS + 4}", STEPS + 4]], **options)
    check(STEPS + 4)
