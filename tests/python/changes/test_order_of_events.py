"""Which event is the later one: positions that are strings, and events that have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from change_events import postgres
from pyspark.sql import DataFrame, SparkSession
from recorded_events import canal, dms, maxwell, mysql

from merganser import IndexType, Table, TableType

COLUMNS = "id int, name string"
DEBEZIUM = "debezium_postgres"


def events(spark: SparkSession, *values: str) -> DataFrame:
    return spark.createDataFrame([(one,) for one in values], "value string").coalesce(1)


def applied(spark: SparkSession, path: Path, preset: str, *values: str) -> list[tuple[Any, ...]]:
    table = Table.create_for_changes(spark, str(path), COLUMNS, preset=preset, keys="id")
    table.apply_changes(events(spark, *values), preset=preset)
    return sorted(tuple(row) for row in table.df().select("id", "name").collect())


def bare(kind: str, data: Any, old: Any = None, **more: Any) -> str:
    """An event of Maxwell without the positions, which it writes only where it is configured to."""
    event = json.loads(maxwell(kind, 0, data, old, **more))
    return json.dumps({name: value for name, value in event.items() if name != "position"})


def test_events_of_one_transaction_without_positions_are_applied_in_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    done = applied(
        spark,
        tmp_path / "maxwell",
        "maxwell",
        bare("insert", {"id": 1, "name": "a"}),
        bare("update", {"id": 1, "name": "b"}, {"name": "a"}),
        bare("update", {"id": 2, "name": "b"}, {"id": 1}),  # its key was inserted in the same transaction
        bare("insert", {"id": 1, "name": "new"}),
        bare("update", {"id": 3, "name": "b"}, {"id": 2}),
        bare("insert", {"id": 9, "name": "x"}, commit=True),
        bare("insert", {"id": 8, "name": "late"}, xid=940_751),
        bare("update", {"id": 8, "name": "later"}, {"name": "late"}, xid=940_752, commit=True),
    )
    assert done == [(1, "new"), (3, "b"), (8, "later"), (9, "x")]
    by_offset = [
        bare("update", {"id": 1, "name": "last"}, {"name": "b"}, commit=True),
        bare("update", {"id": 1, "name": "b"}, {"name": "a"}, xoffset=1),
        bare("insert", {"id": 1, "name": "a"}, xoffset=0),
    ]
    assert applied(spark, tmp_path / "offsets", "maxwell", *by_offset) == [(1, "last")]


def test_events_of_one_second_of_canal_are_applied_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    done = applied(
        spark,
        tmp_path / "canal",
        "canal",
        canal("INSERT", 1000, [{"id": 1, "name": "a"}, {"id": 5, "name": "five"}]),
        canal("UPDATE", 1000, [{"id": 1, "name": "b"}], [{"name": "a"}]),
        canal("UPDATE", 1000, [{"id": 2, "name": "b"}, {"id": 1, "name": "five"}], [{"id": "1"}, {"id": "5"}]),
        canal("DELETE", 1000, [{"id": 2, "name": "b"}]),
    )
    assert done == [(1, "five")]
    truncated = [
        canal("INSERT", 1000, [{"id": 1, "name": "gone"}]),
        canal("TRUNCATE", 1000, None, ddl=True),
        canal("INSERT", 1000, [{"id": 2, "name": "since"}]),
    ]
    assert applied(spark, tmp_path / "truncated", "canal", *truncated) == [(2, "since")]


def test_times_and_numbers_in_strings_are_ordered_by_value(spark: SparkSession, tmp_path: Path) -> None:
    def timed(time: str, name: str) -> str:
        event = json.loads(dms("update", 0, {"id": 1, "name": name}))
        event["metadata"]["commit-timestamp"] = time
        return json.dumps(event)

    times = [timed("2024-05-01T10:00:09.5Z", "later"), timed("2024-05-01T10:00:09Z", "earlier")]
    assert applied(spark, tmp_path / "dms", "aws_dms", *times) == [(1, "later")]

    def informix(position: str, name: str) -> str:
        source = {"connector": "informix", "ts_ms": 1, "commit_lsn": position, "change_lsn": position}
        return json.dumps({"op": "u", "after": {"id": 1, "name": name}, "source": source})

    numbers = [informix("100000000000", "later"), informix("99999999999", "earlier")]
    assert applied(spark, tmp_path / "informix", "debezium_generic", *numbers) == [(1, "later")]


def test_a_row_of_an_incremental_snapshot_wins_over_older_changes(spark: SparkSession, tmp_path: Path) -> None:
    seen = [
        postgres("r", 500, {"id": 1, "name": "read"}, columns=None),  # of an incremental snapshot
        postgres("u", 400, {"id": 1, "name": "seen"}, columns=None),
        postgres("u", 508, {"id": 2, "name": "since"}, columns=None),
        postgres("r", 500, {"id": 2, "name": "read"}, columns=None),
        postgres("m", 510, None, columns=None),
    ]
    assert applied(spark, tmp_path / "t", "debezium_postgres", *seen) == [(1, "read"), (2, "since")]


# Guarantee (Change events): Loaded rows without a position are older than every change of their key; `sequence_by`
#   orders envelopes without one. Also: test_a_column_of_the_frame_orders_envelopes_without_a_position
def test_a_load_without_a_position_is_older_than_every_change(spark: SparkSession, tmp_path: Path) -> None:
    """Flink CDC reads the rows of MySQL's tables with an empty file and position 0."""
    values = [
        mysql("u", 154, {"id": 1, "name": "changed"}, file="binlog.000001"),
        mysql("r", 0, {"id": 1, "name": "loaded"}, file=""),
        mysql("r", 0, {"id": 2, "name": "loaded"}, file=""),
        mysql("d", 160, None, {"id": 3, "name": "gone"}, file="binlog.000001"),
        mysql("r", 0, {"id": 3, "name": "loaded"}, file=""),
        mysql("r", 4, {"id": 4, "name": "at a position"}, file="binlog.000001"),
    ]
    expected = [(1, "changed"), (2, "loaded"), (4, "at a position")]
    assert applied(spark, tmp_path / "mysql", "debezium_mysql", *values) == expected
    assert applied(spark, tmp_path / "generic", "debezium_generic", *values) == expected
    flat = [
        json.dumps({"id": 1, "name": name, "__op": op, "__file": file, "__pos": at})
        for op, file, at, name in (("u", "binlog.000001", 154, "changed"), ("r", "", 0, "loaded"))
    ]
    assert applied(spark, tmp_path / "flat", "debezium_flattened", *flat) == [(1, "changed")]


# Guarantee (Change events): In a table of `create_for_changes`, an event after a newer delete of its row is late, if
#   deletes are retained and the partition is part of the key ([decision
#   170](design/deletes.md#170-tables-for-changes-retain-deletes)). Also:
#   test_a_delete_of_an_unknown_key_without_partition_creates_no_folder
@pytest.mark.parametrize("table_type", list(TableType))
def test_an_older_insert_after_a_delete_is_late_only_if_deletes_are_retained(
    spark: SparkSession, tmp_path: Path, table_type: TableType
) -> None:
    def row(op: str, lsn: int, id: int) -> str:
        image = {"id": id, "name": f"{op}{lsn}"}
        return postgres(op, lsn, None if op == "d" else image, image if op == "d" else None, columns=None)

    batches = [[row("c", 10, 1)], [row("d", 20, 1), row("d", 20, 2)], [row("u", 15, 1), row("c", 12, 2)]]
    retained: dict[str, Any] = {}
    for name, options in (("default", {}), ("none", {"merganser.tombstones.retained.hours": "0"})):
        table = Table.create_for_changes(
            spark, str(tmp_path / name), COLUMNS, preset=DEBEZIUM, keys="id", table_type=table_type, options=options
        )
        for batch in batches:
            table.apply_changes(events(spark, *batch), preset=DEBEZIUM)
            if table_type is TableType.MERGE_ON_READ:
                table.compact()
        retained[name] = sorted(row["id"] for row in table.df().collect())
        if name == "default":
            table.apply_changes(events(spark, row("c", 30, 1)), preset=DEBEZIUM)
            assert [row["name"] for row in table.df().collect()] == ["c30"]
    assert retained == {"default": [], "none": [1, 2]}


def test_a_delete_of_an_unknown_key_without_partition_creates_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create_for_changes(
        spark, str(tmp_path / "t"), f"{COLUMNS}, day string", preset=DEBEZIUM, keys="id", partition_by="day"
    )
    assert table.index == IndexType.GLOBAL_SIMPLE.value
    batch = [
        postgres("c", 10, {"id": 1, "name": "a", "day": "x"}, columns=None),
        postgres("d", 20, None, {"id": 2}, columns=None),
    ]
    table.apply_changes(events(spark, *batch), preset=DEBEZIUM)
    folders = sorted(one.name for one in (tmp_path / "t").iterdir() if one.is_dir() and one.name != ".hoodie")
    assert folders == ["x"]
    assert [tuple(row) for row in table.df().select("id", "day").collect()] == [(1, "x")]


def test_a_column_of_the_frame_orders_envelopes_without_a_position(spark: SparkSession, tmp_path: Path) -> None:
    values = [
        ("u", 12, {"id": 1, "name": "new"}),
        ("c", 11, {"id": 1, "name": "old"}),
        ("c", 13, {"id": 2, "name": "gone"}),
        ("d", 14, {"id": 2}),
    ]
    rows = [
        (json.dumps({"op": op, **({"before": row} if op == "d" else {"after": row})}), None, at)
        for op, at, row in values
    ]
    kafka = spark.createDataFrame(rows, "value string, key string, offset long").coalesce(1)
    given: dict[str, Any] = {"preset": "debezium_generic", "sequence_by": "offset"}
    table = Table.create_for_changes(spark, str(tmp_path / "json"), kafka, keys="id", **given)
    assert table.ordering_by == ("offset",)
    table.apply_changes(kafka.limit(2), **given)
    table.apply_changes(kafka, **given)
    assert [tuple(row) for row in table.df().select("id", "name", "offset").collect()] == [(1, "new", 12)]
    image = "struct<id: int, name: string>"
    typed = kafka.selectExpr(f"from_json(value, 'op string, before {image}, after {image}') AS value", "offset")
    for name, frame in (("value", typed), ("fields", typed.select("value.*", "offset"))):
        other = Table.create_for_changes(spark, str(tmp_path / name), frame, keys="id", **given)
        other.apply_changes(frame, **given)
        assert [tuple(row) for row in other.df().select("id", "name", "offset").collect()] == [(1, "new", 12)]
    both = events(spark, json.dumps({"op": "c", "after": {"id": 1, "offset": 5}})).selectExpr("*", "7L AS offset")
    with pytest.raises(ValueError, match="which is a column both of the frame and of the events' rows"):
        table.apply_changes(both, **given)
