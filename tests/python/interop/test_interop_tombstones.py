"""Tables that retain deletes, before the real Hudi and hudi-rs, which do not know of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_interop import COW, MOR, assert_all_read, settings

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

SCHEMA = "id int, name string, ts bigint, _hoodie_is_deleted boolean"
RETAINED = {"merganser.tombstones.retained.hours": "24"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}


def row(key: int, ts: int, *, deleted: bool = False) -> list[object]:
    return [key, f"v{ts}", ts, deleted]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_other_engines_read_the_rows_of_a_table_with_retained_deletes(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table = tmp_path / "retained"
    index = BUCKETS if kind == MOR else {}
    ours.upsert(
        table,
        SCHEMA,
        [row(key, 1) for key in (1, 2, 3, 4)],
        **settings("retained", kind, "id", ordering="ts", **RETAINED, **index),
    )
    ours.upsert(table, SCHEMA, [row(1, 5, deleted=True), row(2, 5, deleted=True), row(5, 5, deleted=True)])
    if kind == MOR:
        ours.compact(table)
    assert_all_read(ours, hudi, table, [row(3, 1), row(4, 1)])
    ours.upsert(table, SCHEMA, [row(1, 3), row(2, 7), row(5, 4), row(4, 2)])
    wanted = [row(2, 7), row(3, 1), row(4, 2)]
    assert_all_read(ours, hudi, table, wanted)
    if kind == MOR:
        ours.compact(table)
        assert_all_read(ours, hudi, table, wanted)
    hudi.upsert(table, SCHEMA, [row(2, 9), row(3, 0)])
    assert_all_read(ours, hudi, table, [row(2, 9), row(3, 1), row(4, 2)])
