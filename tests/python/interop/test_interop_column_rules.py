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


@pytest.mark.parametrize("kind", [COW, MOR])
def test_hudi_fails_where_it_would_have_to_merge_by_a_column_rule_and_reads_what_is_compacted(
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
