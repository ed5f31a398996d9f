"""Every preset: events as its tool writes them, out of their order, and the table that they make."""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from recorded_events import RECORDED, TYPES, mysql, row

import merganser
from merganser import Table

#: Presets that are applied; all of them with MERGANSER_FULL=1. Without it those that differ in their form: an envelope,
#: a flat event that is the row, old values only where they changed, and an array of rows.
PRESETS = ["debezium_mysql", "debezium_flattened", "maxwell", "canal"]
if os.environ.get("MERGANSER_FULL"):
    PRESETS = list(RECORDED)


@pytest.mark.parametrize("preset", PRESETS)
def test_events_of_each_tool_in_any_order_give_the_source_tables_rows(
    spark: SparkSession, tmp_path: Path, preset: str
) -> None:
    values, skipped, ordering, columns = RECORDED[preset]
    events = spark.createDataFrame([(value,) for value in values], "value string").coalesce(1)
    table = Table.create_for_changes(
        spark, str(tmp_path / "products"), events, preset=preset, keys="id", columns=columns or None
    )
    assert table.ordering_by == ordering
    done = table.apply_changes(events, preset=preset)
    stored = sorted(tuple(one) for one in table.df().select("id", "name", "price", "at").collect())
    more = (Decimal("12.50"), datetime(2024, 5, 1, 10))
    assert stored == [(1, "new", *more), (4, "moved", *more)]
    assert dict(done.skipped) == skipped
    assert done.events == done.applied + sum(skipped.values())


def test_events_of_a_binlog_without_positions_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A MariaDB 11.4 writes none inside a transaction by default; Debezium subtracts the size of the event from 0."""
    schema = ", ".join(f"{column} {kind}" for column, kind in TYPES.items())
    for preset in ("debezium_mysql", "debezium_generic"):
        table = Table.create_for_changes(spark, str(tmp_path / preset), schema, preset=preset, keys="id")
        events = spark.createDataFrame([(mysql("c", -854, row(1, "new", price="BOI=", at=0)),)], "value string")
        with pytest.raises(merganser.EventsRefusedError, match="ORDERING_MISSING"):
            table.apply_changes(events, preset=preset)
