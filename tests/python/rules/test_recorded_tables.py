"""Tables that were written once, under rules of columns and with retained deletes: read, compacted, written on."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from frames import frame
from places import TESTS
from pyspark.sql import SparkSession

from merganser import Table

RECORDED = TESTS / "recorded" / "tables"
NAMES = ("items", "orders", "visits")


def rows(table: Table) -> list[dict[str, Any]]:
    """The rows by their columns, without those that are null."""
    return [json.loads(row) for row in table.df().orderBy("id").toJSON().collect()]


@pytest.fixture
def recorded(spark: SparkSession, tmp_path: Path) -> Any:
    spark.conf.set("spark.sql.session.timeZone", "UTC")

    def copied(name: str) -> Table:
        shutil.copytree(RECORDED / name / "table", tmp_path / name)
        return Table.load(spark, tmp_path / name)

    return copied


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_table_returns_its_rows_before_and_after_compaction(recorded: Any, name: str) -> None:
    expected = json.loads((RECORDED / name / "rows.json").read_text())
    table = recorded(name)
    assert rows(table) == expected
    assert table.inspect.verify().ok, table.inspect.verify().to_string()
    table.compact()
    assert rows(table) == expected
    assert {path.name for path in RECORDED.iterdir() if path.is_dir()} == set(NAMES)


def test_a_recorded_tables_rule_merges_new_rows(spark: SparkSession, recorded: Any) -> None:
    items = recorded("items")
    seven = datetime(2026, 1, 1, 7, tzinfo=timezone.utc)
    late = [(1, None, None, seven, 5, 1, ["z"], None, None)]
    items.upsert(frame(spark, late, items.schema))
    found = rows(items)[0]
    assert (found["stock"], found["counted_at"], found["tags"]) == (15, 6, ["x", "y", "z"])
    orders = recorded("orders")
    orders.upsert(spark.sql("SELECT 1 id, 0L ts, '' name, 2.5BD amount, 1 orders, 'delete' op"))
    assert (rows(orders)[0]["amount"], rows(orders)[0]["orders"]) == (11.0, 1)


def test_a_recorded_delete_still_wins_over_late_rows(spark: SparkSession, recorded: Any) -> None:
    visits = recorded("visits")
    written = visits.upsert(frame(spark, [(1, "late", 19, None), (9, "late", 19, None)], visits.schema))
    assert (written.late, written.tombstones) == (2, 2)
    visits.upsert(frame(spark, [(9, "newer", 21, None)], visits.schema))
    assert [row["id"] for row in rows(visits)] == [2, 3, 9]
