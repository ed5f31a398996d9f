"""Column types from the ``schema`` that Kafka Connect's JSON converter writes beside each event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import types as T

from merganser.changes import _values as values
from merganser.changes._sql import let, text
from merganser.changes._values import Value
from merganser.errors import MerganserError

_PLAIN: Mapping[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int8": T.IntegerType(),
    "int16": T.IntegerType(),
    "int32": T.IntegerType(),
    "int64": T.LongType(),
    "float": T.FloatType(),
    "float32": T.FloatType(),
    "double": T.DoubleType(),
    "float64": T.DoubleType(),
    "string": T.StringType(),
}

_TIME = {
    "io.debezium.time.Time": "millis",
    "org.apache.kafka.connect.data.Time": "millis",
    "io.debezium.time.MicroTime": "micros",
    "io.debezium.time.NanoTime": "nanos",
}
_TIMESTAMP = {
    "io.debezium.time.Timestamp": "millis",
    "org.apache.kafka.connect.data.Timestamp": "millis",
    "io.debezium.time.MicroTimestamp": "micros",
    "io.debezium.time.NanoTimestamp": "nanos",
}
_DATE = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
_INTEGERS = (T.IntegerType, T.LongType)


def image_fields(schemas: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The columns of the row images of envelopes, in their order, each with the fields that describe it.

    Args:
        schemas: The ``schema`` of events, as JSON: of an envelope with before and after, or of a flattened row.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for schema in schemas:
        fields = json.loads(schema).get("fields") or []
        images = [field for field in fields if field.get("field") in ("after", "before")]
        rows = images if any(field.get("field") == "op" for field in fields) else [{"fields": fields}]
        for image in sorted(rows, key=lambda field: str(field.get("field"))):
            for field in image.get("fields") or []:
                known = found.setdefault(str(field["field"]), [])
                if field not in known:
                    known.append(field)
    return found


def value_of(column: str, fields: list[dict[str, Any]], table: T.DataType | None, placeholder: str | None) -> Value:
    """The conversion of a column, described by one field or, where its type changed, by several.

    Raises:
        MerganserError: ``EVENT_TYPES_CONFLICT``: events of one batch describe the column by types that do not fit.
    """
    options = [_value(field, table, placeholder, 0) for field in fields]
    if all(option == options[0] for option in options):
        return options[0]
    plain = [option.wire for option in options if not option.is_converted]
    if len(plain) == len(options):
        if all(isinstance(kind, _INTEGERS) for kind in plain):
            return values.same(T.LongType())
        if all(isinstance(kind, (*_INTEGERS, T.FloatType, T.DoubleType)) for kind in plain):
            return values.same(T.DoubleType())
    kinds = " and ".join(sorted({str(field.get("name") or field.get("type")) for field in fields}))
    raise MerganserError(
        f"Cannot apply events in which column '{column}' has the types {kinds}: its type changed at the source. Apply "
        "the events before the change and those after it in separate batches, or leave the column out by "
        "except_columns.",
        condition="EVENT_TYPES_CONFLICT",
        parameters={"column": column, "types": kinds},
    )


def _value(field: Mapping[str, Any], table: T.DataType | None, placeholder: str | None, depth: int) -> Value:
    kind, meaning = field.get("type"), str(field.get("name") or "")
    parameters = field.get("parameters") or {}
    if meaning == "org.apache.kafka.connect.data.Decimal":
        scale = int(parameters.get("scale", 0))
        precision = min(38, max(int(parameters.get("connect.decimal.precision", 38)), max(scale, 1)))
        target = table if isinstance(table, T.DecimalType) else T.DecimalType(precision, min(max(scale, 0), 38))
        value = values.decimal_of_base64(target, scale)
        return Value(value.wire, target, value.sql, _base64_placeholder(placeholder))
    if meaning == "io.debezium.data.VariableScaleDecimal":
        return _variable_scale(table, placeholder)
    if meaning in _DATE:
        return values.days()
    if meaning in _TIMESTAMP:
        return values.wall_clock(_TIMESTAMP[meaning], table)
    if meaning in _TIME:
        return values.time_of_day(_TIME[meaning], T.LongType())
    if meaning == "io.debezium.time.ZonedTimestamp":
        sql = values.in_years("unix_micros(try_cast({x} AS timestamp))", "try_cast({x} AS timestamp)")
        marker = f"{{x}} = {text(placeholder)}" if placeholder else None
        return Value(T.StringType(), T.TimestampType(), sql, marker)
    if kind == "bytes":
        return values.base64(placeholder)
    if kind == "array":
        return _array(field["items"], table, placeholder, depth)
    if kind == "map":
        key, item = (_value(field[part], None, placeholder, depth + 1) for part in ("keys", "values"))
        return values.same(T.MapType(key.wire, item.wire))
    if kind == "struct":
        members = [(str(one["field"]), _value(one, None, placeholder, depth + 1).wire) for one in field["fields"]]
        return values.same(T.StructType([T.StructField(*member) for member in members]))
    return values.same(_PLAIN.get(str(kind), T.StringType()))


def _array(items: Mapping[str, Any], table: T.DataType | None, placeholder: str | None, depth: int) -> Value:
    wanted = table.elementType if isinstance(table, T.ArrayType) else None
    item = _value(items, wanted, placeholder, depth + 1)
    wire, target = T.ArrayType(item.wire), T.ArrayType(item.target)
    if not item.is_converted:
        return Value(wire, target)
    variable = f"i{depth}"
    items_of = f"transform({{x}}, {variable} -> {item.of(variable)})"
    is_lost = f"exists({{x}}, {variable} -> {variable} IS NOT NULL AND {item.of(variable)} IS NULL)"
    return Value(wire, target, f"if({is_lost}, NULL, {items_of})")


def _variable_scale(table: T.DataType | None, placeholder: str | None) -> Value:
    """A number without precision: exact text, unless the table's column is a decimal."""
    wire = T.StructType([T.StructField("scale", T.IntegerType()), T.StructField("value", T.StringType())])
    integer = values.unscaled("try_to_binary({x}.value, 'base64')", T.DecimalType(38, 0), 0)
    digits = "lpad(replace(u, '-', ''), greatest({x}.scale + 1, length(replace(u, '-', ''))), '0')"
    point = "left(d, length(d) - {x}.scale) || '.' || right(d, {x}.scale)"
    number = "if(startswith(u, '-'), '-', '') || if({x}.scale <= 0, replace(u, '-', '') || repeat('0', -{x}.scale), "
    number += let("d", digits, point) + ")"
    exact = let("u", f"cast({integer} AS string)", number)
    marker = f"{{x}}.value = base64(encode({text(placeholder)}, 'UTF-8'))" if placeholder else None
    if isinstance(table, T.DecimalType):
        return Value(wire, table, f"try_cast({exact} AS {table.simpleString()})", marker)
    return Value(wire, T.StringType(), exact, marker)


def _base64_placeholder(placeholder: str | None) -> str | None:
    if not placeholder:
        return None
    return f"{{x}} IN ({text(placeholder)}, base64(encode({text(placeholder)}, 'UTF-8')))"
