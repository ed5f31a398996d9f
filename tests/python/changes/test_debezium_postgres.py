"""Events of Debezium's PostgreSQL connector, applied to tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from change_events import PLACEHOLDER, decimal, key, order, postgres
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import Table, TableType

Events = Callable[..., DataFrame]
#: Types of tables, which test_random_changes.py has both; both here too with MERGANSER_FULL=1.
KINDS = {"cow": TableType.COPY_ON_WRITE, "mor": TableType.MERGE_ON_READ}


@pytest.fixture
def events(spark: SparkSession) -> Events:
    """A frame as Kafka has it: keys and values as bytes."""

    def frame(*values: str | None, keys: list[str | None] | None = None) -> DataFrame:
        rows = [(one and one.encode(), text and text.encode()) for one, text in zip(keys or [key(0)] * 999, values)]
        return spark.createDataFrame(rows, "key binary, value binary").coalesce(1)

    return frame


def content(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.df().select(*columns).collect())


@pytest.mark.e2e
@pytest.mark.parametrize("kind", KINDS if os.environ.get("MERGANSER_FULL") else ["cow"])
def test_inserts_updates_deletes_and_a_snapshot_are_applied_with_the_types_of_their_schema(
    spark: SparkSession, events: Events, tmp_path: Path, kind: str
) -> None:
    full = order(
        1,
        amount=decimal(-12345),
        day=19_700,
        placed=1_700_000_000_123_456,
        shipped="2023-11-14T22:13:20.5Z",
        note='{"a": 1}',
        photo="AAEC",
    )
    first = events(postgres("r", 100, full), postgres("r", 100, order(2)), postgres("c", 110, order(3)))
    path = str(tmp_path / "orders")
    table = Table.create_for_changes(spark, path, first, preset="debezium_postgres", table_type=KINDS[kind])
    assert table.record_key == ("id",)
    assert table.ordering_by == ("_event_lsn",)
    made = table.apply_changes(first, preset="debezium_postgres")
    assert (made.events, made.upserts, made.inserted) == (3, 3, 3)
    assert content(table, "id", "amount", "day", "placed", "shipped", "note", "photo")[0] == (
        1,
        Decimal("-123.45"),
        date(2023, 12, 9),
        datetime(2023, 11, 14, 22, 13, 20, 123456),
        datetime(2023, 11, 14, 22, 13, 20, 500000),
        '{"a": 1}',
        bytearray(b"\x00\x01\x02"),
    )
    done = table.apply_changes(
        events(
            postgres("u", 130, {**full, "status": "paid", "note": PLACEHOLDER}),
            postgres("u", 120, {**full, "status": "late", "note": '{"a": 2}'}),
            postgres("d", 140, None, order(2, None)),
            None,
            postgres("m", 145),
        ),
        preset="debezium_postgres",
    )
    assert (done.upserts, done.deletes, dict(done.skipped)) == (2, 1, {"message": 1, "tombstone": 1})
    assert content(table, "id", "status", "note") == [(1, "paid", '{"a": 2}'), (3, "new", None)]
    if kind == "cow":
        assert (done.updated, done.deleted, done.duplicates) == (1, 1, 1)
        assert str(done).startswith("5 events: 2 upserts, 1 deletes, 1 skipped (message), 1 skipped (tombstone); rows:")
    again = table.apply_changes(events(postgres("u", 125, {**full, "status": "older"})), preset="debezium_postgres")
    assert kind == "mor" or (again.late, again.updated) == (1, 0)
    assert content(table, "id", "status") == [(1, "paid"), (3, "new")]


def test_a_changed_key_moves_its_row_and_a_truncate_deletes_older_rows(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    table = Table.create_for_changes(
        spark, str(tmp_path / "orders"), events(postgres("c", 1, order(1))), preset="debezium_postgres"
    )
    preset = "debezium_postgres"
    table.apply_changes(events(postgres("c", 10, order(1)), postgres("c", 20, order(2))), preset=preset)
    table.apply_changes(events(postgres("d", 30, None, order(1, None)), postgres("c", 30, order(7))), preset=preset)
    assert content(table, "id") == [(2,), (7,)]
    whole = table.apply_changes(events(postgres("u", 40, order(5), order(7))), preset=preset)
    assert whole.key_changes == 1
    assert content(table, "id") == [(2,), (5,)]
    truncated = table.apply_changes(
        events(postgres("c", 60, order(9)), postgres("t", 50), postgres("c", 45, order(8))), preset=preset
    )
    assert truncated.truncates == 1
    assert content(table, "id") == [(9,)]
    gone = events(postgres("u", 70, order(3, "gone"), order(9)))
    table.apply_changes(gone, preset=preset, apply_as_deletes="status = 'gone'")
    assert content(table, "id") == []


def test_new_columns_are_added_with_their_types(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    table = Table.create_for_changes(
        spark, str(tmp_path / "orders"), events(postgres("c", 1, order(1))), preset="debezium_postgres"
    )
    from change_events import ORDERS

    wider = [*ORDERS, {"type": "int64", "optional": True, "field": "weight"}]
    done = table.apply_changes(
        events(postgres("c", 10, order(1)), postgres("c", 20, {**order(2), "weight": 5}, columns=wider)),
        preset="debezium_postgres",
    )
    assert done.commit is not None
    assert done.commit.columns_added == ("weight",)
    assert content(table, "id", "weight") == [(1, None), (2, 5)]
    bare = postgres("c", 30, {"id": 3, "amount": decimal(7), "day": 1, "gift": True, "tag": "x"}, columns=None)
    table.apply_changes(events(bare), preset="debezium_postgres")
    assert content(table, "id", "amount", "day", "gift", "tag")[-1] == (
        3,
        Decimal("0.07"),
        date(1970, 1, 2),
        True,
        "x",
    )


def test_malformed_events_are_refused_or_quarantined_with_their_reasons(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    table = Table.create_for_changes(spark, path, events(postgres("c", 1, order(1))), preset="debezium_postgres")
    bad = events(
        postgres("c", 10, order(1)),
        "{nothing",
        postgres("x", 11, order(2)),
        postgres("c", 12, None),
        postgres("c", 13, order(3, amount="not base64!")),
        postgres("u", 14, order(4, amount=PLACEHOLDER)),
        '{"hello": "world"}',
        postgres("d", 15, None, {"status": "x"}),
        keys=[None] * 8,
    )
    with pytest.raises(merganser.EventsRefusedError, match=r"Cannot apply 7 events to .*Example of \w+") as refused:
        table.apply_changes(bad, preset="debezium_postgres")
    assert refused.value.condition == "EVENTS_REFUSED"
    assert content(table, "id") == []
    expected = {
        "ENVELOPE_UNKNOWN": 1,
        "JSON_MALFORMED": 1,
        "KEY_MISSING": 1,
        "OPERATION_UNKNOWN": 1,
        "ROW_MISSING": 1,
        "VALUE_MALFORMED": 1,
        "VALUE_UNAVAILABLE": 1,
    }
    for _ in range(2):  # the second time no event is stored again
        done = table.apply_changes(bad, preset="debezium_postgres", quarantine=True)
        assert done.quarantined == expected
        assert done.events == 8
    assert content(table, "id") == [(1,)]
    aside = Table.load(spark, f"{path}_quarantine").df()
    assert aside.count() == 7
    row = aside.where("reason = 'VALUE_MALFORMED'").collect()[0]
    assert (row["columns"], row["preset"], row["event"]) == (
        "amount",
        "debezium_postgres",
        postgres("c", 13, order(3, amount="not base64!")),
    )


def test_an_envelope_in_columns_is_applied_like_one_in_json(spark: SparkSession, tmp_path: Path) -> None:
    image = "struct<id: int, status: string, placed: bigint>"
    schema = f"before {image}, after {image}, source struct<lsn: bigint, ts_ms: bigint, table: string>, op string"
    frame = spark.createDataFrame(
        [
            (None, (1, "new", 1_000_000), (10, 1, "orders"), "c"),
            (None, (1, "paid", 2_000_000), (20, 1, "orders"), "u"),
            ((2, None, None), None, (30, 1, "orders"), "d"),
        ],
        schema,
    )
    columns = "id int, status string, placed timestamp"
    table = Table.create_for_changes(spark, str(tmp_path / "orders"), columns, preset="debezium_postgres", keys="id")
    done = table.apply_changes(frame, preset="debezium_postgres")
    assert (done.upserts, done.deletes) == (2, 1)
    assert content(table, "id", "status", "placed") == [(1, "paid", datetime(1970, 1, 1, 0, 0, 2))]
