"""Large values that an event leaves out, where the row has another key: the placeholder is never stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from change_events import PLACEHOLDER, postgres
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import Table, TableType

PRESET = "debezium_postgres"


def row(id: int, note: str | None = PLACEHOLDER, status: str = "new") -> dict[str, Any]:
    return {"id": id, "status": status, "note": note}


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> Table:
    columns = "id int, status string, note string"
    return Table.create_for_changes(
        spark, str(tmp_path / "orders"), columns, preset=PRESET, keys="id", table_type=TableType.MERGE_ON_READ
    )


def events(spark: SparkSession, *changes: tuple[str, int, Any]) -> DataFrame:
    """Operation, position and row of each; of a delete the key."""
    values = [
        postgres(op, lsn, *((None, {"id": one}) if op == "d" else (one,)), columns=None) for op, lsn, one in changes
    ]
    return spark.createDataFrame([(value,) for value in values], "value string").repartition(2)


def content(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(one) for one in table.df().select("id", "status", "note").collect())


# Guarantee (Change events): The placeholder of an unavailable value is never stored, a type that changes at the source
#   changes no value, and the source of a batch is read once. Also:
#   test_an_event_whose_unavailable_value_is_not_found_is_refused,
#   test_columns_are_widened_and_only_values_that_do_not_fit_are_refused, test_apply_changes_reads_its_source_once
@pytest.mark.extensive
def test_an_unavailable_value_of_a_changed_key_is_taken_from_its_old_key(spark: SparkSession, orders: Table) -> None:
    orders.apply_changes(events(spark, ("c", 10, row(1, "one")), ("c", 11, row(2, "two"))), preset=PRESET)
    changed = [
        # Stored under 1, then 5; the update of 5 has its value from there.
        *[("d", 20, 1), ("c", 20, row(5)), ("u", 25, row(5, status="paid"))],
        # In the batch, and of two keys in turn.
        *[("c", 12, row(3, "three")), ("u", 13, row(3, "new three")), ("d", 30, 3), ("c", 30, row(6))],
        *[("d", 40, 6), ("c", 40, row(7))],
        # 2 is deleted, and its key is taken by 8, which has its own value.
        *[("c", 14, row(8, "eight")), ("d", 50, 2), ("d", 60, 8), ("c", 60, row(2))],
    ]
    for _ in range(2):  # once more as a repetition: the old keys are gone
        done = orders.apply_changes(events(spark, *changed), preset=PRESET)
        assert done.quarantined == {}
        assert content(orders) == [(2, "new", "eight"), (5, "paid", "one"), (7, "new", "new three")]
    repeated = events(spark, ("d", 20, 1), ("c", 20, row(5)), ("d", 60, 8), ("c", 60, row(2)))
    orders.apply_changes(repeated, preset=PRESET)
    assert content(orders) == [(2, "new", "eight"), (5, "paid", "one"), (7, "new", "new three")]


@pytest.mark.extensive
def test_an_event_whose_unavailable_value_is_not_found_is_refused(spark: SparkSession, orders: Table) -> None:
    orders.apply_changes(events(spark, ("c", 10, row(1, "one"))), preset=PRESET)
    # The delete of its old key is in another batch, and so is the insert of what is updated.
    apart = events(spark, ("c", 20, row(5)), ("u", 21, row(5)), ("u", 22, row(6)), ("u", 23, row(1, status="paid")))
    with pytest.raises(merganser.EventsRefusedError, match=r"3 VALUE_UNAVAILABLE.*column note.*REPLICA IDENTITY FULL"):
        orders.apply_changes(apart, preset=PRESET)
    done = orders.apply_changes(apart, preset=PRESET, quarantine=True)
    assert (done.upserts, dict(done.quarantined)) == (1, {"VALUE_UNAVAILABLE": 3})
    assert content(orders) == [(1, "paid", "one")]
    # An event that loses to a later one of its key needs no value.
    later = events(spark, ("u", 30, row(7)), ("u", 31, row(7, "seven")), ("u", 32, row(8)), ("d", 33, 8))
    assert orders.apply_changes(later, preset=PRESET).quarantined == {}
    assert content(orders) == [(1, "paid", "one"), (7, "new", "seven")]


def test_an_unavailable_value_is_taken_from_the_events_old_row(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create_for_changes(
        spark,
        str(tmp_path / "t"),
        "id int, status string, note string",
        preset=PRESET,
        keys="id",
        ignore_null_updates=True,
    )
    whole = postgres("u", 20, row(5), row(1, "kept"), columns=None)
    partial = postgres("u", 30, row(6), {"id": 5}, columns=None)
    table.apply_changes(spark.createDataFrame([(whole,), (partial,)], "value string"), preset=PRESET)
    assert content(table) == [(6, "new", "kept")]
