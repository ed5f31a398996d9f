"""Incremental queries of tables that Hudi and we wrote in turns return the rows of Hudi's own query of the window."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, name string, ts bigint"
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"


def completions(path: Path) -> list[str]:
    """Completion times of the writes; in version 6 their instants."""
    folder = path / ".hoodie" / "timeline"
    names = (folder if folder.exists() else path / ".hoodie").iterdir()
    done = [f.name for f in names if f.is_file() and f.name.split(".")[-1].endswith("commit")]
    return sorted(name.split(".")[0].split("_")[-1] for name in done)


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), [(COW, 9), (MOR, 9), (MOR, 8), (COW, 6)])
def test_windows_of_a_table_written_by_both_engines_return_hudis_rows(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.compact.inline": "false",
    }
    hudi.upsert(path, SCHEMA, [[i, "first", 1] for i in range(6)], **options)
    ours.upsert(path, SCHEMA, [[0, "ours", 2], [6, "ours", 2]], **options)
    hudi.upsert(path, SCHEMA, [[1, "hudi", 3], [7, "hudi", 3]], **options)
    ours.delete(path, SCHEMA, [[2, None, 4]], **options)
    hudi.upsert(path, SCHEMA, [[0, "hudi", 5], [3, "hudi", 5]], **options)
    times = completions(path)
    assert len(times) == 5

    def window(engine: MerganserEngine | HudiEngine, begin: str, end: str | None) -> list[list[object]]:
        return engine.read(path, "incremental", **{BEGIN: begin}, **({END: end} if end else {})).business

    def compare(what: str) -> None:
        for begin, end in [*combinations(["000", *times], 2), *((t, None) for t in times)]:
            mine = window(ours, begin, end)
            assert mine == window(hudi, begin, end), (what, begin, end)

    compare("logs or base files")
    assert window(ours, times[3], None) == [[0, "hudi", 5], [3, "hudi", 5]]
    # A late change: whoever wrote it, the stored row won, and has not changed. In a log, Hudi's query finds it.
    ours.upsert(path, SCHEMA, [[1, "late", 1]], **options)
    late = completions(path)[-1]
    assert window(ours, times[-1], late) == []
    if kind == MOR:
        assert window(hudi, times[-1], late) != []
    if kind == MOR and version > 6:
        ours.compact(path)
        hudi.upsert(path, SCHEMA, [[5, "after", 9]], **options)
        assert window(ours, late, None) == window(hudi, late, None) == [[5, "after", 9]]
        assert window(ours, times[3], None) == [[0, "hudi", 5], [3, "hudi", 5], [5, "after", 9]]


def test_a_window_returns_all_rows_that_hudi_moved_to_another_bucket_count(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "rescaled",
        "hoodie.datasource.write.table.type": MOR,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": "9",
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "2",
    }
    schema = "id int, name string, ts bigint, part string"
    hudi.upsert(path, schema, [[i, "a", 1, "p"] for i in range(6)] + [[7, "a", 1, "q"]], **options)
    hudi.upsert(path, schema, [[0, "b", 2, "p"], [7, "b", 2, "q"]], **options)
    hudi.sql(f"CREATE TABLE rescaled USING hudi LOCATION '{path}'")
    move = "CALL partition_bucket_index_manager(table => 'rescaled', overwrite => 'p,4', bucket_number => 2)"
    hudi.sql(move.replace("2)", "2, dry_run => false)"))
    hudi.sql("DROP TABLE rescaled")
    first, second, moved = completions(path)
    rows = [[0, "b", 2, "p"], *([i, "a", 1, "p"] for i in range(1, 6)), [7, "b", 2, "q"]]
    windows: dict[tuple[str, str | None], list[list[object]]] = {
        ("000", None): rows,
        (first, None): rows,
        (first, second): [rows[0], rows[-1]],
        (second, None): rows[:-1],
        (moved, None): [],
    }
    for (begin, end), expected in windows.items():
        bounds = {BEGIN: begin, **({END: end} if end else {})}
        assert ours.read(path, "incremental", **bounds).business == expected, (begin, end)
        assert hudi.read(path, "incremental", **bounds).business == expected, (begin, end)
