"""Base files with copied columns and row groups: Hudi and hudi-rs read them, and Hudi rewrites them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from interop import hudi_rs
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


class Shared:
    """A table that is compared as both engines and hudi-rs read it after each step."""

    def __init__(self, ours: MerganserEngine, hudi: HudiEngine, path: Path, **options: str) -> None:
        self.spark = ours.spark
        self.engines: dict[str, MerganserEngine | HudiEngine] = {"ours": ours, "hudi": hudi}
        self.path = path
        self.options = {**OPTIONS, **options}
        self.expected: dict[str, list[object]] = {}

    def upsert(self, engine: str, rows: list[list[object]]) -> None:
        self.engines[engine].upsert(self.path, SCHEMA, rows, **self.options)
        self.expected.update((str(r[0]), r) for r in rows)
        self.check()

    def check(self) -> None:
        found = sorted(self.expected.values(), key=str)
        assert sorted(self.engines["ours"].read(self.path).business, key=str) == found
        assert sorted(self.engines["hudi"].read(self.path).business, key=str) == found
        assert sorted(hudi_rs.read(self.path).business, key=str) == found

    def service(self, words: str) -> None:
        """Run a service of ours with the size of row groups that writes have."""
        options = f"hoodie.parquet.block.size={OPTIONS['hoodie.parquet.block.size']}"
        self.spark.sql(f"CALL {words}, path => '{self.path}', options => '{options}')").collect()
        self.check()

    def row_groups(self) -> int:
        """Of the newest file."""
        newest = max((self.path / "p").glob("*.parquet"), key=lambda file: file.stem.split("_")[-1])
        return int(pq.read_metadata(newest).num_row_groups)


def test_hudi_reads_and_rewrites_files_with_copied_columns_and_we_copy_out_of_no_file_of_hudi(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = Shared(ours, hudi, tmp_path / "t")
    table.upsert("ours", [row(i, 1, "a") for i in range(ROWS)])
    table.upsert("ours", [row(i, 2, "b") for i in range(100, 4000, 50)])
    table.upsert("ours", [row(i, 3, "c") for i in (*range(20, 40), *range(ROWS, ROWS + 20))])
    assert table.row_groups() > 2
    table.upsert("hudi", [row(i, 4, "d") for i in (5, ROWS + 5, ROWS + 30)])
    table.upsert("ours", [row(i, 5, "e") for i in (6, ROWS + 6, ROWS + 31)])


def test_hudi_reads_and_compacts_files_that_compactions_and_clusterings_copied(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = Shared(
        ours,
        hudi,
        tmp_path / "t",
        **{
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.compact.inline": "false",
        },
    )
    table.upsert("ours", [row(i, 1, "a") for i in range(ROWS)])
    table.upsert("ours", [row(i, 2, "b") for i in range(1000, 1040)])
    table.service("run_compaction(op => 'scheduleAndExecute'")
    assert table.row_groups() > 2
    table.upsert("ours", [row(i, 1, "a") for i in range(ROWS, 2 * ROWS)])
    before = table.row_groups()
    table.service("run_clustering(op => 'scheduleAndExecute'")
    assert table.row_groups() >= before * 2
    table.upsert("ours", [row(i, 3, "c") for i in (*range(50, 60), *range(ROWS, ROWS + 20))])
    table.service("run_compaction(op => 'scheduleAndExecute'")
    table.upsert("hudi", [row(i, 4, "d") for i in (7, ROWS + 5, 2 * ROWS + 30)])
    hudi.compact(table.path)
    table.check()
