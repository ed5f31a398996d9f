"""Rows of some columns in logs: ours read by the real Hudi and by hudi-rs, and those of Hudi's MERGE INTO by ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_interop import MOR, assert_all_read, settings

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

pytestmark = pytest.mark.e2e

WIDE = "id int, a string, b string, ts bigint"
KEEP = {"spark.merganser.write.missingColumns": "keep"}
UPDATE_A = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a, ts = s.ts"
INDEXES = {
    "SIMPLE": {"hoodie.index.type": "SIMPLE"},
    "BUCKET": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"},
}
MODES = {"event time": {}, "commit time": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}}


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("mode", MODES)
def test_each_engine_reads_and_compacts_the_partial_rows_of_the_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, index: str, mode: str
) -> None:
    table = tmp_path / "shared"
    options = settings("shared", MOR, "id", ordering="ts", **INDEXES[index], **MODES[mode])
    ours.upsert(table, WIDE, [[i, f"a{i}", f"b{i}", 10] for i in range(1, 6)], **options)
    ours.upsert(table, "id int, a string, ts bigint", [[1, "new", 11], [2, None, 11]], **options, **KEEP)
    ours.upsert(table, "id int, b string, ts bigint", [[1, "newer", 12], [3, "b3+", 10]], **options, **KEEP)
    one, two, three = [1, "new", "newer", 12], [2, None, "b2", 11], [3, "a3", "b3+", 10]
    rest = [[4, "a4", "b4", 10], [5, "a5", "b5", 10]]
    assert_all_read(ours, hudi, table, [one, two, three, *rest])

    hudi.merge(table, "id int, a string, ts bigint", [[2, "by hudi", 13], [4, "by hudi", 13]], UPDATE_A)
    ours.upsert(table, "id int, b string, ts bigint", [[4, "ours", 14]], **options, **KEEP)
    rows = [one, [2, "by hudi", "b2", 13], three, [4, "by hudi", "ours", 14], rest[1]]
    assert_all_read(ours, hudi, table, rows)

    hudi.compact(table, **{"hoodie.datasource.write.recordkey.field": "id"})
    assert_all_read(ours, hudi, table, rows)
    assert hudi.read(table, "read_optimized").business == rows
    ours.upsert(table, "id int, a string, ts bigint", [[5, "last", 15]], **options, **KEEP)
    ours.compact(table)
    assert_all_read(ours, hudi, table, [*rows[:4], [5, "last", "b5", 15]])


def test_hudi_reads_partial_rows_of_new_and_deleted_keys_as_whole_rows(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "fresh"
    options = settings("fresh", MOR, "id", ordering="ts", **INDEXES["BUCKET"])
    ours.upsert(table, WIDE, [[1, "a1", "b1", 10], [2, "a2", "b2", 10]], **options)
    ours.delete(table, "id int", [[1]], **options)
    part = [[1, "again", 11], [3, "fresh", 11], [2, "new", 11], [3, "fresher", 12]]
    ours.upsert(table, "id int, a string, ts bigint", part, **options, **KEEP)
    assert_all_read(ours, hudi, table, [[1, "again", None, 11], [2, "new", "b2", 11], [3, "fresher", None, 12]])


def test_rows_without_the_ordering_field_are_logged_with_the_stored_value_for_hudi(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "unordered"
    options = settings("unordered", MOR, "id", ordering="ts")
    ours.upsert(table, WIDE, [[1, "a1", "b1", 10], [2, "a2", "b2", 10]], **options)
    ours.upsert(table, "id int, a string", [[1, "new"]], **options, **KEEP)
    ours.upsert(table, WIDE, [[2, "a2+", "b2+", 12]], **options)
    ours.upsert(table, "id int, b string", [[2, "newer"], [2, "newest"]], **options, **KEEP)
    rows = [[1, "new", "b1", 10], [2, "a2+", "newest", 12]]
    assert_all_read(ours, hudi, table, rows)
    hudi.compact(table)
    assert_all_read(ours, hudi, table, rows)
    ours.upsert(table, WIDE, [[1, "late", "late", 9], [2, "late", "late", 11]], **options)
    assert_all_read(ours, hudi, table, rows)
