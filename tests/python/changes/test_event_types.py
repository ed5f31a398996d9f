"""Values of every kind that Debezium's ``schema`` describes, and the columns that they become."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from change_events import decimal, postgres
from pyspark.sql import Row, SparkSession

import merganser
from merganser import Table

BIG = -(10**37) - 12345678901234567890


def connect(kind: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": True, **({} if name is None else {"name": name}), **more}


NUMBER = "org.apache.kafka.connect.data.Decimal"
VARIABLE = [{"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}]
POINT = [{"type": "double", "field": "x"}, {"type": "double", "field": "y"}]

#: Column: its description, the event's value, and the type and the value in the table.
VALUES: dict[str, tuple[dict[str, Any], Any, str, Any]] = {
    "id": (connect("int64"), 1, "bigint", 1),
    "small": (connect("int16"), -7, "int", -7),
    "real": (connect("float32"), 1.5, "float", 1.5),
    "flag": (connect("boolean"), True, "boolean", True),
    "price": (connect("bytes", NUMBER, parameters={"scale": "2"}), decimal(-5), "decimal(38,2)", Decimal("-0.05")),
    "big": (
        connect("bytes", NUMBER, parameters={"scale": "10"}),
        decimal(BIG),
        "decimal(38,10)",
        Decimal("-1000000000000000001234567890.1234567890"),
    ),
    "free": (
        connect("struct", "io.debezium.data.VariableScaleDecimal", fields=VARIABLE),
        {"scale": 3, "value": decimal(-1)},
        "string",
        "-0.001",
    ),
    "day": (connect("int32", "io.debezium.time.Date"), -1, "date", date(1969, 12, 31)),
    "at3": (
        connect("int64", "io.debezium.time.Timestamp"),
        1_001,
        "timestamp_ntz",
        datetime(1970, 1, 1, 0, 0, 1, 1000),
    ),
    "at9": (
        connect("int64", "io.debezium.time.NanoTimestamp"),
        1_999,
        "timestamp_ntz",
        datetime(1970, 1, 1, 0, 0, 0, 1),
    ),
    "at0": (
        connect("int64", "io.debezium.time.NanoTimestamp"),
        -1,
        "timestamp_ntz",
        datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    "zoned": (
        connect("string", "io.debezium.time.ZonedTimestamp"),
        "2024-05-01T12:00:00.25+02:00",
        "timestamp",
        datetime(2024, 5, 1, 10, 0, 0, 250000),
    ),
    "time": (connect("int64", "io.debezium.time.MicroTime"), 45_296_000_007, "string", "12:34:56.000007"),
    "uuid": (connect("string", "io.debezium.data.Uuid"), "0a-1b", "string", "0a-1b"),
    "photo": (connect("bytes"), base64.b64encode(b"\0\xff").decode(), "binary", bytearray(b"\0\xff")),
    "tags": (connect("array", items=connect("string")), ["a", None], "array<string>", ["a", None]),
    "days": (
        connect("array", items=connect("int32", "io.debezium.time.Date")),
        [0, 1],
        "array<date>",
        [date(1970, 1, 1), date(1970, 1, 2)],
    ),
    "point": (
        connect("struct", "Point", fields=POINT),
        {"x": 1.0, "y": 2.0},
        "struct<x:double,y:double>",
        Row(x=1.0, y=2.0),
    ),
    "more": (
        connect("map", keys=connect("string"), values=connect("string")),
        {"k": "v"},
        "map<string,string>",
        {"k": "v"},
    ),
}


@pytest.mark.e2e
def test_every_type_of_a_schema_becomes_a_column_with_its_values(spark: SparkSession, tmp_path: Path) -> None:
    columns = [{**described, "field": column} for column, (described, _, _, _) in VALUES.items()]
    row = {column: given for column, (_, given, _, _) in VALUES.items()}
    nothing = {**dict.fromkeys(VALUES), "id": 2}
    infinite = {**nothing, "id": 3, "at3": 9_223_372_036_825_200_000}
    events = spark.createDataFrame(
        [(postgres("c", lsn, one, columns=columns),) for lsn, one in enumerate((row, nothing, infinite))],
        "value string",
    )
    table = Table.create_for_changes(spark, str(tmp_path / "t"), events, preset="debezium_postgres", keys="id")
    done = table.apply_changes(events, preset="debezium_postgres", quarantine=True)
    assert dict(done.quarantined) == {"VALUE_MALFORMED": 1}
    types = {field.name: field.dataType.simpleString() for field in table.schema}
    assert {column: types[column] for column in VALUES} == {column: kind for column, (_, _, kind, _) in VALUES.items()}
    first, second = table.df().select(*VALUES).orderBy("id").collect()
    assert first.asDict() == {column: stored for column, (_, _, _, stored) in VALUES.items()}
    assert second.asDict() == nothing


def test_a_value_that_does_not_fit_is_reported_with_its_path_in_the_event(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id bigint, n int, tags array<string>, point struct<x: double, y: double>"
    table = Table.create_for_changes(spark, str(tmp_path / "t"), columns, preset="debezium_postgres", keys="id")
    good = {"id": 1, "n": 1, "tags": ["a"], "point": {"x": 1.0, "y": 2.0}}
    places: dict[str, dict[str, Any]] = {
        "n": {"after": {**good, "n": {"a": 1}}},
        "n, tags": {"after": {**good, "n": "one", "tags": 5}},
        "point.y": {"after": {**good, "point": {"x": 1.0, "y": []}}},
        "before.n": {"before": {**good, "n": "one"}, "after": good},
        "source.lsn": {"after": good, "source": {"lsn": "high"}},
    }
    values = [json.dumps({"op": "u", "source": {"lsn": 5}, **event}) for event in places.values()]
    values.append(json.dumps({"schema": None, "payload": json.loads(values[0])}))
    frame = spark.createDataFrame([(value,) for value in values], "value string").coalesce(1)
    with pytest.raises(merganser.EventsRefusedError, match=r"6 VALUE_MALFORMED.*of VALUE_MALFORMED \(column n\)"):
        table.apply_changes(frame, preset="debezium_postgres")
    table.apply_changes(frame, preset="debezium_postgres", quarantine=True)
    refused = Table.load(spark, f"{tmp_path}/t_quarantine").df().select("columns").collect()
    assert sorted(row[0] for row in refused) == sorted([*places, "n"])
