"""IGNORE_DEFAULTS on tables whose schema has defaults other than null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

COLUMNS = (
    "id int not null, ts bigint not null, n int not null, big bigint not null, s string not null, b boolean not null, "
    "nul string"
)
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "ts", "type": "long"},
    {"name": "n", "type": "int", "default": 5},
    {"name": "big", "type": "long", "default": 100000},
    {"name": "s", "type": "string", "default": "x"},
    {"name": "b", "type": "boolean", "default": True},
    {"name": "nul", "type": ["null", "string"], "default": None},
]
SCHEMA = {"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": FIELDS}


def options(kind: str, payload: str) -> dict[str, Any]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}",
        "hoodie.write.schema": json.dumps(SCHEMA),
    }


# Guarantee (Merge rules): Under a partial update mode, the values that Hudi takes for missing are missing, schema
#   defaults too.
@pytest.mark.sampled
@pytest.mark.parametrize("payload", ["PartialUpdateAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload"])
def test_default_values_count_as_missing_wherever_hudi_ignores_them(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, payload: str
) -> None:
    tables = {kind: tmp_path / kind for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")}
    for kind, table in tables.items():
        for rows in ([[1, 1, 1, 1, "a", False, "q"], [2, 1, 1, 1, "a", False, "q"]],
                     [[1, 2, 5, 100000, "x", True, None]]):  # fmt: skip
            hudi.upsert(table, COLUMNS, rows, **options(kind, payload))
    cow, mor = tables.values()
    expected = hudi.read(cow).business
    assert expected == [[1, 2, 1, 100000, "x", False, "q"], [2, 1, 1, 1, "a", False, "q"]]
    assert hudi.read(mor).business == ours.read(mor).business == ours.read(cow).business == expected

    for table in tables.values():  # the defaults are still the table's
        ours.upsert(table, COLUMNS, [[2, 3, 5, 7, "y", True, None]])
    expected = [expected[0], [2, 3, 1, 7, "y", False, "q"]]
    assert ours.read(cow).business == ours.read(mor).business == expected
    assert hudi.read(cow).business == hudi.read(mor).business == expected
    ours.compact(mor)
    assert hudi.read(mor).business == ours.read(mor).business == expected
