"""Base files with copied columns and row groups: Hudi reads them, finds their keys and rewrites them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

SCHEMA = "id string, ts bigint, word string, note string, part string"
OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.index.type": "BLOOM",
    "hoodie.parquet.block.size": "400000",
    "hoodie.parquet.compression.codec": "snappy",
}
ROWS = 9000


def row(i: int, ts: int, word: str) -> list[object]:
    note = " ".join(f"{(i + 1) * salt % 1_000_003:x}" for salt in range(7919, 8119, 7))
    return [f"k{i:06d}", ts, word, note, "p"]


def test_hudi_reads_and_rewrites_files_with_copied_columns_and_we_copy_out_of_no_file_of_hudi(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    expected = {f"k{i:06d}": row(i, 1, "a") for i in range(ROWS)}

    def upsert(engine: MerganserEngine | HudiEngine, rows: list[list[object]]) -> None:
        engine.upsert(path, SCHEMA, rows, **OPTIONS)
        expected.update((str(r[0]), r) for r in rows)
        found = sorted(expected.values(), key=str)
        assert sorted(ours.read(path).business, key=str) == found
        assert sorted(hudi.read(path).business, key=str) == found

    upsert(ours, list(expected.values()))
    upsert(ours, [row(i, 2, "b") for i in range(100, 4000, 50)])
    upsert(ours, [row(i, 3, "c") for i in (*range(20, 40), *range(ROWS, ROWS + 20))])
    newest = max((path / "p").glob("*.parquet"), key=lambda file: file.stem.split("_")[-1])
    assert pq.read_metadata(newest).num_row_groups > 2
    upsert(hudi, [row(i, 4, "d") for i in (5, ROWS + 5, ROWS + 30)])
    upsert(ours, [row(i, 5, "e") for i in (6, ROWS + 6, ROWS + 31)])
