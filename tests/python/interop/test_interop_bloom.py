"""Bloom filters in base files: Hudi's are used by our BLOOM index, and ours by Hudi's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

SCHEMA = "id string, ts bigint, part string"
FILTER = b"org.apache.hudi.bloomfilter"


def options(name: str, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.index.type": "BLOOM",
        "hoodie.index.bloom.num_entries": "20",
        "hoodie.bloom.index.filter.dynamic.max.entries": "100",
        "hoodie.parquet.small.file.limit": "0",
        **more,
    }


@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
def test_each_engine_finds_the_others_rows_by_bloom_filters(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    settings = options("t", **{"hoodie.bloom.index.filter.type": kind})
    rows = [[f"key-{i}", 1, "p"] for i in range(0, 120, 2)]
    hudi.upsert(path, SCHEMA, rows, **settings)
    (base,) = (path / "p").glob("*.parquet")
    decoded = filter_of(ours, base)
    assert all(decoded.mayContain(bytearray(key.encode())) for key, _, _ in rows)
    assert sum(decoded.mayContain(bytearray(f"other-{i}".encode())) for i in range(200)) < 20

    ours.upsert(path, SCHEMA, [["key-4", 2, "p"], ["key-5", 2, "p"], ["key-0", 0, "p"]], **settings)
    hudi.upsert(path, SCHEMA, [["key-5", 3, "p"], ["key-6", 3, "p"], ["key-7", 3, "p"]], **settings)
    ours.upsert(path, SCHEMA, [["key-7", 4, "p"]], **settings)
    stored = {key: ts for key, ts, _ in rows} | {"key-4": 2, "key-5": 3, "key-6": 3, "key-7": 4}
    expected = sorted([key, ts, "p"] for key, ts in stored.items())
    assert sorted(ours.read(path).business) == expected
    assert sorted(hudi.read(path).business) == expected


def filter_of(ours: MerganserEngine, base: Path) -> Any:
    metadata = pq.read_metadata(base).metadata
    jvm: Any = ours.spark._jvm
    return jvm.io.merganser.table.index.StoredBloomFilter.decode(metadata[FILTER].decode()).get()
