"""Repaired tables in Hudi: it reads them, writes to them and runs its own services on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from frames import properties

import merganser
from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, name string, ts bigint, part string"
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
FULL = bool(os.environ.get("MERGANSER_FULL"))
#: Version and type of a table: each type, and both layouts of the timeline; with MERGANSER_FULL=1 all of them.
TABLES = [("6", MOR), ("9", COW)] + ([("6", COW), ("8", MOR), ("9", MOR)] if FULL else [])


@pytest.mark.parametrize(("version", "kind"), TABLES)
def test_hudi_reads_writes_and_cleans_a_table_whose_duplicates_were_repaired(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str, kind: str
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": f"repaired_{version}_{kind.lower()}",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": version,
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.metadata.enable": "false",
    }
    first = [[1, "a", 1, "p"], [2, "b", 5, "p"], [3, "c", 1, "q"]]
    hudi.write(path, SCHEMA, first, operation="insert", mode="overwrite", options=options)
    second = [[1, "A", 3, "p"], [2, "B", 2, "p"], [4, "d", 1, "q"]]
    hudi.write(path, SCHEMA, second, operation="insert", options=options)
    assert len(hudi.read(path).business) == 6
    table = Table.load(ours.spark, str(path))
    done = table.repairs.merge_duplicates()
    assert (done.keys, done.rows) == (2, 4)
    rows = [[1, "A", 3, "p"], [2, "b", 5, "p"], [3, "c", 1, "q"], [4, "d", 1, "q"]]
    assert hudi.read(path).business == ours.read(path).business == rows
    # An index that reads base files alone finds each key once.
    hudi.write(
        path, SCHEMA, [[1, "new", 7, "p"], [2, "new", 7, "p"]], options={**options, "hoodie.index.type": "SIMPLE"}
    )
    rows[0][1:3] = rows[1][1:3] = ["new", 7]
    assert hudi.read(path).business == ours.read(path).business == rows
    if kind == MOR:
        hudi.compact(path, **{"hoodie.compact.inline.max.delta.commits": "1"})
        assert hudi.read(path, "read_optimized").business == rows
    assert hudi.read(path).business == ours.read(path).business == rows


#: How Hudi stores keys of two buckets twice: the version, the type, and operation and buckets of its two writes.
DOUBLED = [
    ("9", MOR, ("bulk_insert", 2), ("bulk_insert", 2)),  # two file groups of each bucket: Hudi writes no more
    ("6", COW, ("upsert", 4), ("upsert", 2)),
    ("9", MOR, ("upsert", 2), ("upsert", 4)),
] + (
    [
        ("9", COW, ("insert", 2), ("insert", 2)),
        ("6", COW, ("bulk_insert", 2), ("bulk_insert", 2)),
        ("8", MOR, ("upsert", 4), ("upsert", 2)),
        ("6", MOR, ("bulk_insert", 2), ("bulk_insert", 2)),
    ]
    if FULL
    else []
)


@pytest.mark.sampled
@pytest.mark.parametrize(("version", "kind", "first", "second"), DOUBLED)
def test_hudi_writes_a_bucket_table_whose_duplicate_keys_were_repaired(
    ours: MerganserEngine,
    hudi: HudiEngine,
    tmp_path: Path,
    version: str,
    kind: str,
    first: tuple[str, int],
    second: tuple[str, int],
) -> None:
    path = tmp_path / "t"

    def options(buckets: int) -> dict[str, str]:
        return {
            "hoodie.table.name": "buckets",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.write.table.version": version,
            "hoodie.metadata.enable": "false",
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": str(buckets),
        }

    rows = [[i, "a", 5, "p"] for i in range(1, 8)]
    hudi.write(path, SCHEMA, rows, operation=first[0], mode="overwrite", options=options(first[1]))
    copies = [[i, "b", 9 if i % 2 else 1, "p"] for i in range(1, 7)]
    hudi.write(path, SCHEMA, copies, operation=second[0], options=options(second[1]))
    assert len(hudi.read(path).business) > 7
    table = Table.load(ours.spark, str(path))
    named = {key: value for key, value in options(2).items() if "index" in key}
    assert table.repairs.merge_duplicates(options=named).keys > 0
    expected = [[i, "b", 9, "p"] if i in (1, 3, 5) else [i, "a", 5, "p"] for i in range(1, 8)]
    assert hudi.read(path).business == ours.read(path).business == expected
    assert sorted(slice.file_id[:8] for slice in table.inspect.file_slices()) == ["00000000", "00000001"]
    assert table.repairs.merge_duplicates(options=named).keys == 0
    new = [[i, "c", 10, "p"] for i in range(1, 9)]
    hudi.write(path, SCHEMA, new, options=options(2))
    assert hudi.read(path).business == ours.read(path).business == new
    ours.upsert(path, SCHEMA, [[1, "d", 11, "p"]], **named)
    if kind == MOR:
        hudi.compact(path, **{"hoodie.compact.inline.max.delta.commits": "1"})
    assert hudi.read(path).business == ours.read(path).business == [[1, "d", 11, "p"], *new[1:]]


@pytest.mark.parametrize("version", ["6", "9"])
def test_hudi_reads_and_writes_a_table_whose_partitions_and_properties_were_repaired(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": f"mended_{version}",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.write.table.version": version,
        "hoodie.metadata.enable": "false",
    }
    rows = [[1, "a", 1, "p"], [2, "b", 1, "q"]]
    hudi.write(path, SCHEMA, rows, mode="overwrite", options=options)
    for file in [*path.glob("*/.hoodie_partition_metadata"), *path.glob("*/..hoodie_partition_metadata.crc")]:
        file.unlink()
    table = Table.load(ours.spark, str(path))
    assert [found.repaired for found in table.repairs.add_partition_metadata()] == [True, True]
    assert hudi.read(path).business == rows
    ours.spark.sql(f"CALL repair_migrate_partition_meta(path => '{path}', dry_run => false)").collect()
    assert hudi.read(path).business == ours.read(path).business == rows
    before = properties(path)
    for file in (path / ".hoodie").glob("*hoodie.properties*"):
        file.unlink()
    named = {key: before[key] for key in before if key.startswith("hoodie.table.") and key != "hoodie.table.checksum"}
    named = {key: value for key, value in named.items() if "format" not in key and "metadata" not in key}
    merganser.repair_properties(ours.spark, path, properties=named)
    rows = [[1, "a", 1, "p"], [2, "B", 2, "q"], [3, "c", 1, "r"]]
    hudi.write(path, SCHEMA, rows[1:], options=options)
    assert hudi.read(path).business == ours.read(path).business == rows
    assert table.repairs.remove_orphan_files() == []
