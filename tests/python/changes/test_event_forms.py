"""The forms in which events come: lines, envelopes in a payload, and events that have no row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from change_events import envelope, order, postgres
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from recorded_events import flattened

import merganser
from merganser import Table

ROW = "id int, status string, payload string, schema string"


def lines(spark: SparkSession, *values: str | None) -> DataFrame:
    return spark.createDataFrame([(one,) for one in values], "value string").coalesce(1)


def content(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.df().select(*columns).collect())


def test_a_line_with_two_events_is_refused_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    table = Table.create_for_changes(spark, path, "id int, status string", preset="debezium_postgres", keys="id")
    one, two = (postgres("c", id, {"id": id, "status": "{}]"}, columns=None) for id in (1, 2))
    joined = [one + two, f"{one} {two}", f"{one},{two}", f"{one}] {two}", one + "x"]
    with pytest.raises(merganser.EventsRefusedError, match=r"5 JSON_TRAILING.*one event per line"):
        table.apply_changes(lines(spark, *joined), preset="debezium_postgres")
    events = lines(spark, *joined, one + " \r", f"[{one},{two}]", one[:-1])
    done = table.apply_changes(events, preset="debezium_postgres", quarantine=True)
    assert dict(done.quarantined) == {"JSON_MALFORMED": 2, "JSON_TRAILING": 5}
    assert content(table, "id", "status") == [(1, "{}]")]
    aside = Table.load(spark, f"{path}_quarantine").df().where("reason = 'JSON_TRAILING'").select("event").collect()
    assert {row[0] for row in aside} == set(joined)


def test_apply_changes_reads_its_source_once(spark: SparkSession, tmp_path: Path) -> None:
    read = spark.sparkContext.accumulator(0)

    def counted(value: str) -> tuple[str]:
        read.add(1)
        return (value,)

    mixed = [
        postgres("c", 1, order(1)),
        postgres("c", 2, {"id": 2, "extra": 5}, columns=None),
        json.dumps({"schema": None, "payload": json.loads(postgres("c", 3, {"id": 3, "extra": 6}, columns=None))}),
        "{malformed",
    ]
    table = Table.create_for_changes(
        spark, str(tmp_path / "orders"), lines(spark, mixed[0]), preset="debezium_postgres", keys="id"
    )
    source = spark.createDataFrame(spark.sparkContext.parallelize(mixed, 2).map(counted), "value string")
    done = table.apply_changes(source, preset="debezium_postgres", quarantine=True)
    assert (done.upserts, dict(done.quarantined)) == (3, {"JSON_MALFORMED": 1})
    assert read.value == len(mixed)


def test_columns_named_payload_schema_or_value_are_stored_like_others(spark: SparkSession, tmp_path: Path) -> None:
    def flat(id: int, lsn: int, wrapped: bool) -> str:
        row = {"id": id, "status": "new", "payload": f"p{id}", "schema": "public", "__op": "c", "__lsn": lsn}
        return json.dumps({"schema": None, "payload": row} if wrapped else row)

    table = Table.create_for_changes(spark, str(tmp_path / "a"), ROW, preset="debezium_flattened", keys="id")
    table.apply_changes(lines(spark, flat(1, 10, False), flat(2, 10, True)), preset="debezium_flattened")
    expected = [(1, "p1", "public"), (2, "p2", "public")]
    assert content(table, "id", "payload", "schema") == expected
    inferred = lines(spark, flat(1, 10, False), flat(2, 10, True))
    new = Table.create_for_changes(spark, str(tmp_path / "b"), inferred, preset="debezium_flattened", keys="id")
    new.apply_changes(inferred, preset="debezium_flattened")
    assert content(new, "id", "payload", "schema") == expected

    rows = spark.createDataFrame(
        [(1, "v", "I", ("x",), 5)], "id int, value string, Op string, payload struct<a:string>, n int"
    )
    typed = Table.create_for_changes(
        spark, str(tmp_path / "c"), rows, preset="aws_dms_s3", keys="id", sequence_by="n", except_columns="Op"
    )
    typed.apply_changes(rows, preset="aws_dms_s3", sequence_by="n", except_columns="Op")
    assert content(typed, "id", "value", "payload.a") == [(1, "v", "x")]


def test_events_without_rows_add_no_columns_and_an_empty_payload_is_a_tombstone(
    spark: SparkSession, tmp_path: Path
) -> None:
    def described(fields: list[str], payload: dict[str, Any] | None) -> str:
        schema = {"type": "struct", "fields": [{"type": "string", "field": field} for field in fields]}
        return json.dumps({"schema": schema, "payload": payload})

    first = postgres("c", 1, order(1))
    table = Table.create_for_changes(
        spark, str(tmp_path / "orders"), lines(spark, first), preset="debezium_postgres", keys="id"
    )
    before = table.df().columns
    events = lines(
        spark,
        first,
        described(["ts_ms"], {"ts_ms": 5}),
        described(["status", "id", "event_count"], {"status": "BEGIN", "id": "571"}),
        described(["source", "ddl"], {"ddl": "ALTER TABLE orders"}),
        json.dumps({"schema": envelope([]), "payload": None}),
        "null",
        None,
    )
    done = table.apply_changes(events, preset="debezium_postgres")
    assert dict(done.skipped) == {"heartbeat": 1, "schema_change": 1, "tombstone": 3, "transaction": 1}
    assert (done.upserts, done.events) == (1, 7)
    assert table.df().columns == before
    flat = Table.create_for_changes(
        spark, str(tmp_path / "flat"), "id int, name string", preset="debezium_flattened", keys="id"
    )
    foreign = lines(spark, flattened("c", 5, 1, "a"), '{"hello": "world"}')
    done = flat.apply_changes(foreign, preset="debezium_flattened", quarantine=True, columns=["name"])
    assert dict(done.quarantined) == {"ENVELOPE_UNKNOWN": 1}
    assert "hello" not in flat.df().columns


def test_source_table_matches_a_source_table_by_the_last_parts_of_its_name(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create_for_changes(spark, str(tmp_path / "t"), "id int", preset="debezium_postgres", keys="id")
    one, two = (postgres("c", id, {"id": id}, columns=None, table=f"t{id}") for id in (1, 2))
    done = table.apply_changes(
        lines(spark, one, two, one + two), preset="debezium_postgres", source_table="public.t2", quarantine=True
    )
    assert (done.upserts, dict(done.skipped), dict(done.quarantined)) == (1, {"other_table": 1}, {"JSON_TRAILING": 1})


def test_columns_whose_names_differ_in_case_only_are_refused_by_their_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    row = {"id": 1, "Name": "a", "name": "b"}
    both = lines(spark, postgres("c", 1, row, columns=None))
    described = [{"type": "string", "optional": True, "field": column} for column in ("Name", "name")]
    described.append({"type": "int32", "optional": False, "field": "id"})
    typed = spark.createDataFrame([], "op string, after struct<id: int, name: string>, source struct<lsn: bigint>")
    alike = T.StructType([T.StructField(column, T.StringType()) for column in ("Name", "name", "id")])
    struct = spark.createDataFrame([], T.StructType([typed.schema["op"], T.StructField("after", alike)]))
    for number, frame in enumerate((both, lines(spark, postgres("c", 1, row, columns=described)), struct)):
        with pytest.raises(
            merganser.MerganserError, match="'Name' and 'name': their names differ only in case"
        ) as raised:
            Table.create_for_changes(spark, str(tmp_path / str(number)), frame, preset="debezium_postgres", keys="id")
        assert raised.value.condition == "CHANGES_COLUMNS_ALIKE"
    given: dict[str, Any] = {"preset": "debezium_postgres", "except_columns": "name"}
    table = Table.create_for_changes(spark, str(tmp_path / "t"), both, keys="id", **given)
    with pytest.raises(merganser.MerganserError, match="'Name' and 'name'"):
        table.apply_changes(both, preset="debezium_postgres")
    table.apply_changes(both, **given)
    other = lines(spark, postgres("u", 2, {"id": 2, "NAME": "c"}, columns=None))
    table.apply_changes(other, **given)
    assert content(table, "id", "Name") == [(1, "a"), (2, None)]
    table.apply_changes(other, preset="debezium_postgres")
    assert content(table, "id", "Name") == [(1, "a"), (2, "c")]
