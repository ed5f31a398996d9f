"""Change data: the real Hudi reads the changes of our tables, and we read those of its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_interop import COW, MOR, settings

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, v string, ts bigint"
RECORDED = {"hoodie.table.cdc.enabled": "true"}
EXPECTED = [
    ("d", 3, None),
    ("i", None, 1),
    ("i", None, 2),
    ("i", None, 3),
    ("i", None, 4),
    ("u", 1, 1),
]


def written(engine: HudiEngine | MerganserEngine, table: Path, **options: str) -> None:
    engine.upsert(table, SCHEMA, [[1, "a", 1], [2, "b", 5], [3, "c", 1]], **options)
    engine.upsert(table, SCHEMA, [[1, "a+", 2], [2, "late", 4], [4, "d", 1]], **options)
    engine.delete(table, SCHEMA, [[3, "c", 2]], **options)


def by_hudi(hudi: HudiEngine, table: Path) -> list[tuple[Any, ...]]:
    rows = hudi.sql(f"SELECT op, before, after FROM hudi_table_changes('{table}', 'cdc', 'earliest')")
    return sorted((image(row) for row in rows), key=str)


def image(row: Any) -> tuple[Any, ...]:
    """Operation and keys; Hudi prints an image of a change file that is not there as ``null``."""
    op, *images = row
    return op, *((json.loads(text or "null") or {}).get("id") for text in images)


def by_us(ours: MerganserEngine, table: Path) -> list[tuple[Any, ...]]:
    found = Table.load(ours.spark, str(table)).change_data(since="earliest", json=True).select("op", "before", "after")
    return sorted((image(row) for row in found.collect()), key=str)


# Guarantee (Change data): Hudi reads the change data of our tables, and we read Hudi's.
@pytest.mark.parametrize(
    ("kind", "mode"),
    # A log of a merge-on-read table has no change file, whatever the mode.
    [(COW, "DATA_BEFORE_AFTER"), (COW, "DATA_BEFORE"), (COW, "OP_KEY_ONLY"), (MOR, "DATA_BEFORE_AFTER")],
)
def test_both_engines_read_the_same_change_data_of_both_engines_tables(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, mode: str
) -> None:
    logging = {**RECORDED, "hoodie.table.cdc.supplemental.logging.mode": mode}
    tables = {"ours": ours, "hudis": hudi}
    for name, engine in tables.items():
        table = tmp_path / name
        written(engine, table, **settings(name, kind, "id", ordering="ts", **logging))
        assert by_us(ours, table) == EXPECTED, name
        assert by_hudi(hudi, table) == EXPECTED, name
