"""Column types from the ``schema`` that Kafka Connect's JSON converter writes beside each event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import types as T

from merganser.changes import _values as values
from merganser.changes._fitting import column_type, fitted, mixed
from merganser.changes._parsed import Target
from merganser.changes._preset import Preset
from merganser.changes._sql import let, text, type_text
from merganser.changes._values import Value

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


def image_fields(
    schemas: Mapping[int, Mapping[str, Any]], flat: Iterable[str] | None
) -> dict[str, dict[int, dict[str, Any]]]:
    """The columns of the row images, in their order, each with the field that describes it in each schema.

    Args:
        schemas: The ``schema`` of events by its number. Those of heartbeats, transactions and changes of the schema,
            which have no row, are ignored.
        flat: For flattened events, the fields of which they have some that are no columns; ``None`` for envelopes.
    """
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for number, schema in sorted(schemas.items(), key=lambda one: json.dumps(one[1])):
        fields = schema.get("fields") or []
        images = [field for field in fields if field.get("field") in ("after", "before")]
        if flat is not None:
            is_row = any(field.get("field") in flat for field in fields)
            images = [{"fields": fields}] if is_row else []
        for image in sorted(images, key=lambda field: str(field.get("field"))):
            for field in image.get("fields") or []:
                found.setdefault(str(field["field"]), {})[number] = field
    return found


def value_of(column: str, fields: Mapping[int, Mapping[str, Any]], target: Target, preset: Preset) -> Value:
    """The conversion of a column.

    Where its type changed at the source, or is not that of the table, the column gets a type that has both, if a write
    to the table can give it that. A value that does not fit into the column's type becomes null, which is refused.

    Args:
        column: Its name.
        fields: The field that describes it, by the number of the schema.
        target: What the table knows of it.
        preset: The preset of the events.
    """
    table, placeholder = target.type_of(column), preset.placeholder
    options = {number: _value(field, table, placeholder, 0) for number, field in fields.items()}
    if not target.widens(column) and table is not None:
        kind = table
    else:
        kinds = list({one.target.simpleString(): one.target for one in options.values()}.values())
        kind = column_type(
            kinds, table, widens_to_string=target.evolution == "tostring", is_fixed=target.is_fixed(column)
        )
    if len({one.sql + one.wire.simpleString() for one in options.values()}) == 1:
        return fitted(next(iter(options.values())), kind, placeholder, preset.binaries)
    return mixed(options, kind, placeholder, preset.binaries)


def _value(field: Mapping[str, Any], table: T.DataType | None, placeholder: str | None, depth: int) -> Value:
    kind, meaning = field.get("type"), str(field.get("name") or "")
    parameters = field.get("parameters") or {}
    if meaning == "org.apache.kafka.connect.data.Decimal":
        scale = int(parameters.get("scale", 0))
        known = parameters.get("connect.decimal.precision")
        precision = min(38, max(int(known or 38), max(scale, 1)))
        # Without a precision the digits are what the table has room for.
        target = T.DecimalType(precision, min(max(scale, 0), 38))
        if known is None and isinstance(table, T.DecimalType):
            target = table
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
        return values.binary(placeholder)
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
        return Value(wire, table, f"try_cast({exact} AS {type_text(table)})", marker)
    return Value(wire, T.StringType(), exact, marker)


def _base64_placeholder(placeholder: str | None) -> str | None:
    if not placeholder:
        return None
    return f"{{x}} IN ({text(placeholder)}, base64(encode({text(placeholder)}, 'UTF-8')))"
