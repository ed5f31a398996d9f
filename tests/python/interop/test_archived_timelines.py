"""Tables of which Hudi archived most commits: time travel to them, and writes that follow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows
from merganser import MerganserError

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, name string, ts bigint"
ARCHIVING = {
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
}
STEPS = 6


#: Type and version of a table; all of them with MERGANSER_FULL=1.
TABLES = [(COW, 9), (MOR, 6)] + ([(COW, 6), (MOR, 9)] if os.environ.get("MERGANSER_FULL") else [])


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_time_travel_and_history_find_instants_that_hudi_archived(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(version),
        "hoodie.parquet.small.file.limit": "0",
        **ARCHIVING,
    }
    for step in range(STEPS):
        hudi.upsert(path, SCHEMA, [[step, "new", step], [0, f"step {step}", step]], **options)
    written = sorted({time for (time,) in hudi.read(path).select(["_hoodie_commit_time"])})
    folder = path / ".hoodie" / ("timeline" if version > 6 else "")
    active = {file.name.split(".")[0].split("_")[0] for file in folder.iterdir() if "commit" in file.name}
    archived = sorted(
        row.commit_time
        for row in ours.spark.sql(f"CALL show_archived_commits(path => '{path}', limit => 100)").collect()
    )
    assert archived
    assert active.isdisjoint(archived)
    # Each step but the first has a row of its own that no later one changed.
    assert set(written) <= active | set(archived)

    def as_of(step: int) -> list[list[object]]:
        return sort_rows([[0, f"step {step}", step], *([i, "new", i] for i in range(1, step + 1))])

    for step in range(1, STEPS):
        instant = written[step - STEPS]
        assert ours.read(path, **{"as.of.instant": instant}).business == as_of(step), step
    with pytest.raises(MerganserError, match="AS_OF_TOO_EARLY"):
        ours.read(path, **{"as.of.instant": "20200101000000000"})

    ours.upsert(path, SCHEMA, [[i, "ours", 50] for i in range(STEPS + 1)])
    hudi.upsert(path, SCHEMA, [[1, "hudi", 51], [STEPS + 1, "hudi", 51]], **options)
    expected = [[i, "ours", 50] for i in range(STEPS + 1) if i != 1] + [[1, "hudi", 51], [STEPS + 1, "hudi", 51]]
    assert ours.read(path).business == hudi.read(path).business == sort_rows(expected)
    assert ours.read(path, **{"as.of.instant": written[-1]}).business == as_of(STEPS - 1)

    # A clean removes what the archived instants need.
    hudi.upsert(path, SCHEMA, [[1, "cleaned", 52]], **options, **{"hoodie.clean.automatic": "true"})
    if kind == COW:
        with pytest.raises(MerganserError, match="AS_OF_TOO_EARLY"):
            ours.read(path, **{"as.of.instant": written[1 - STEPS]})
