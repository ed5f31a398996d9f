"""Columns whose types change at the source: the stream goes on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from change_events import decimal, postgres
from pyspark.sql import DataFrame, SparkSession

from merganser import Table

PRESET = "debezium_postgres"
NUMBER = "org.apache.kafka.connect.data.Decimal"


def connect(field: str, kind: str, name: str | None = None, **parameters: str) -> dict[str, Any]:
    more = {} if name is None else {"name": name, "parameters": parameters}
    return {"type": kind, "optional": True, "field": field, **more}


def number(field: str, precision: int, scale: int) -> dict[str, Any]:
    return connect(field, "bytes", NUMBER, **{"scale": str(scale), "connect.decimal.precision": str(precision)})


OLD = [
    connect("id", "int32"),
    connect("size", "int16"),
    number("price", 10, 2),
    connect("code", "int32"),
    connect("day", "int32", "io.debezium.time.Date"),
    connect("note", "string"),
]
NEW = [
    connect("id", "int64"),
    connect("size", "int64"),
    number("price", 12, 4),
    connect("code", "string"),
    connect("day", "int64", "io.debezium.time.MicroTimestamp"),
    connect("note", "int32"),
    connect("added", "int32"),
]
OLD_ROW = {"id": 1, "size": 7, "price": decimal(150), "code": 8, "day": 1, "note": "a"}
NEW_ROW = {"id": 1, "size": 2**40, "price": decimal(15001), "code": "9", "day": 86_400_000_000, "note": 3, "added": 4}


def events(spark: SparkSession, *values: str) -> DataFrame:
    return spark.createDataFrame([(one,) for one in values], "value string")


def changed(lsn: int, **values: Any) -> str:
    return postgres("u", lsn, {**NEW_ROW, **values}, columns=NEW)


@pytest.mark.e2e
def test_columns_are_widened_and_only_values_that_do_not_fit_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    first = events(spark, postgres("c", 10, OLD_ROW, columns=OLD))
    for path, batches in {
        "apart": [first, events(spark, changed(20))],  # after the change, and
        "mixed": [events(spark, postgres("c", 10, OLD_ROW, columns=OLD), changed(20))],  # events of both schemas
    }.items():
        table = Table.create_for_changes(spark, str(tmp_path / path), first, preset=PRESET, keys="id")
        for batch in batches:
            done = table.apply_changes(batch, preset=PRESET)
            assert done.quarantined == {}
        rows = table.df().select("id", "size", "price", "code", "day", "note", "added").collect()
        assert [tuple(row) for row in rows] == [(1, 2**40, Decimal("1.5001"), 9, date(1970, 1, 2), "3", 4)]
        kinds = {field.name: field.dataType.simpleString() for field in table.df().schema}
        assert (kinds["id"], kinds["size"], kinds["price"]) == ("bigint", "bigint", "decimal(12,4)")
    bad = events(
        spark,
        changed(30, code="A9"),
        changed(31, day=86_400_000_001),
        postgres("u", 29, {**OLD_ROW, "size": 5}, columns=OLD),
    )
    done = table.apply_changes(bad, preset=PRESET, quarantine=True)
    assert (done.upserts, dict(done.quarantined)) == (1, {"VALUE_MALFORMED": 2})
    aside = Table.load(spark, f"{table.path}_quarantine").df().select("columns").collect()
    assert sorted(row[0] for row in aside) == ["code", "day"]
    assert [tuple(row) for row in table.df().select("size", "added").collect()] == [(5, None)]


def test_a_new_column_of_two_types_becomes_a_string_unless_its_type_is_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table.create_for_changes(spark, str(tmp_path / "t"), "id int", preset=PRESET, keys="id")
    at, time = {**NEW[4], "field": "at"}, {**NEW[4], "field": "time"}
    old = [OLD[0], OLD[3], at, connect("flag", "boolean"), time]
    new = [OLD[0], NEW[3], at, connect("flag", "string"), connect("time", "string")]
    both = [
        postgres("c", 1, {"id": 1, "code": 8, "at": 1_500_000, "flag": True, "time": 1_500_000}, columns=old),
        postgres("c", 2, {"id": 2, "code": "A9", "at": None, "flag": "perhaps", "time": "noon"}, columns=new),
    ]
    table.apply_changes(events(spark, *both), preset=PRESET, columns={"at": "timestamp"})
    rows = table.df().select("id", "code", "at", "flag", "time").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [
        (1, "8", datetime(1970, 1, 1, 0, 0, 1, 500000), "true", "1970-01-01 00:00:01.5"),
        (2, "A9", None, "perhaps", "noon"),
    ]


def test_decimal_strings_stay_exact_and_untyped_numbers_keep_all_digits(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id int, price decimal(10,2)"
    table = Table.create_for_changes(spark, str(tmp_path / "t"), columns, preset=PRESET, keys="id")
    texts = [connect("id", "int32"), connect("price", "string")]
    good, bad = (
        postgres("c", lsn, {"id": lsn, "price": price}, columns=texts) for lsn, price in ((1, "12.50"), (2, "12.345"))
    )
    done = table.apply_changes(events(spark, good, bad), preset=PRESET, quarantine=True)
    assert dict(done.quarantined) == {"VALUE_MALFORMED": 1}
    assert [tuple(row) for row in table.df().select("id", "price").collect()] == [(1, Decimal("12.50"))]
    # JSON numbers, of a source whose scale was raised: they are not rounded.
    maxwell = Table.create_for_changes(spark, str(tmp_path / "m"), columns, preset="maxwell", keys="id")
    big = 18_446_744_073_709_551_615
    made = [
        f'{{"database":"d","table":"t","type":"insert","ts":1,"xid":1,"data":{{"id":{id},"price":{price},"n":{big}}}}}'
        for id, price in ((1, "12.5"), (2, "12.345"))
    ]
    done = maxwell.apply_changes(events(spark, *made), preset="maxwell", quarantine=True)
    assert dict(done.quarantined) == {"VALUE_MALFORMED": 1}
    assert [tuple(row) for row in maxwell.df().select("id", "price", "n").collect()] == [
        (1, Decimal("12.50"), str(big))
    ]


def test_bytes_are_decoded_in_the_form_of_each_tool(spark: SparkSession, tmp_path: Path) -> None:
    from merganser.changes import presets

    raw = b"\0\xff\x7fA"
    canal = (
        '{"data":[{"id":"1","photo":"\\u0000\\u00ff\\u007fA"}],"database":"d","es":1000,"id":1,"isDdl":false,'
        '"mysqlType":{"id":"bigint unsigned","photo":"varbinary(20)"},"pkNames":["id"],"table":"t","type":"INSERT"}'
    )
    first = events(spark, canal)
    table = Table.create_for_changes(spark, str(tmp_path / "canal"), first, preset="canal")
    table.apply_changes(first, preset="canal")
    assert [tuple(row) for row in table.df().select("id", "photo").collect()] == [(Decimal(1), bytearray(raw))]
    hexadecimal = presets.named(PRESET).configured(binaries="hex")
    other = Table.create_for_changes(
        spark, str(tmp_path / "hex"), "id int, photo binary", preset=hexadecimal, keys="id"
    )
    described = [connect("id", "int32"), connect("photo", "string")]
    written = [
        postgres("c", 1, {"id": 1, "photo": raw.hex()}, columns=None),
        postgres("c", 2, {"id": 2, "photo": raw.hex()}, columns=described),
    ]
    other.apply_changes(events(spark, *written), preset=hexadecimal)
    assert {bytes(row.photo) for row in other.df().collect()} == {raw}
