"""Tables whose columns are merged by functions, before the real Hudi, which does not know these rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_interop import COW, MOR, settings

from interop.hudi_engine import HudiEngine, HudiError
from interop.merganser_engine import MerganserEngine

pytestmark = pytest.mark.e2e

ITEM = "id int, name string, qty bigint, ts bigint"
RULE = {"merganser.rule.column.qty": "sum"}


# Guarantee (Merge rules): Hudi fails where it would have to merge by a column rule, and reads compacted tables
#   correctly.
@pytest.mark.parametrize("kind", [COW, MOR])
def test_hudi_reads_compacted_rows_of_a_column_rule_and_fails_to_merge_by_it(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table = tmp_path / "summed"
    ours.upsert(
        table, ITEM, [[1, "a", 10, 5], [2, "a", 10, 5]], **settings("summed", kind, "id", ordering="ts", **RULE)
    )
    ours.upsert(table, ITEM, [[1, "b", 1, 6], [2, "late", 1, 4]])
    expected = [[1, "b", 11, 6], [2, "a", 11, 5]]
    assert ours.read(table).business == expected
    if kind == MOR:
        with pytest.raises(HudiError, match="merger"):
            hudi.read(table)
        assert hudi.read(table, "read_optimized").business == [[1, "a", 10, 5], [2, "a", 10, 5]]
        ours.compact(table)
    assert hudi.read(table, "read_optimized").business == expected
    assert hudi.read(table).business == expected


def test_hudi_reads_resets_and_retractions_only_after_compaction(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "reset"
    columns = "id int, name string, qty bigint, ts bigint, op string, _hoodie_is_deleted boolean"
    rule = {**RULE, "merganser.rule.delete": "reset_group", "merganser.rule.retract.column": "op"}
    rows = [[1, "a", 10, 5, "+I", None], [2, "a", 10, 5, "+I", None], [3, "x", 4, 9, "-U", None]]
    ours.upsert(table, columns, rows, **settings("reset", MOR, "id", ordering="ts", **rule))
    ours.upsert(table, columns, [[1, None, None, 6, "-D", True], [2, "x", 4, 9, "-U", None]])
    expected = [[1, None, None, 6, None, None], [2, "a", 6, 5, "+I", None], [3, None, -4, None, None, None]]
    assert ours.read(table).business == expected
    with pytest.raises(HudiError, match="merger"):
        hudi.read(table)
    ours.compact(table)
    assert ours.read(table).business == expected
    assert hudi.read(table).business == expected
