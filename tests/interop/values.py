"""Cell values as JSON, the one form in which tests compare rows of different engines.

integers, boolean, string   number, boolean, string
float, double               number, or "NaN", "Infinity", "-Infinity"
decimal(p,s)                string with s digits after the point
date                        "YYYY-MM-DD"
timestamp                   "YYYY-MM-DDTHH:MM:SS.ffffff" in UTC
binary                      base64
array, struct               list, object
map                         list of [key, value], sorted
null                        null
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any


def encode_scalar(value: Any) -> Any:
    """JSON form of a value that is not an array, struct or map."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    return value


def encode_spark(value: Any) -> Any:
    """JSON form of a value collected by PySpark (struct = Row, map = dict)."""
    if hasattr(value, "asDict"):
        return {name: encode_spark(value[name]) for name in value.__fields__}
    if isinstance(value, dict):
        return sort_pairs([encode_spark(k), encode_spark(v)] for k, v in value.items())
    if isinstance(value, list):
        return [encode_spark(item) for item in value]
    return encode_scalar(value)


def encode_arrow(value: Any) -> Any:
    """JSON form of a value from pyarrow's ``to_pylist`` (struct = dict, map = list of tuples)."""
    if isinstance(value, dict):
        return {name: encode_arrow(item) for name, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return sort_pairs([encode_arrow(k), encode_arrow(v)] for k, v in value)
        return [encode_arrow(item) for item in value]
    return encode_scalar(value)


def decode(value: Any, spark_type: Any) -> Any:
    """The Python value that PySpark wants for ``value`` in JSON form, given its Spark ``DataType``."""
    if value is None:
        return None
    kind = spark_type.typeName()
    if kind == "struct":
        return tuple(decode(value.get(field.name), field.dataType) for field in spark_type)
    if kind == "array":
        return [decode(item, spark_type.elementType) for item in value]
    if kind == "map":
        return {decode(k, spark_type.keyType): decode(v, spark_type.valueType) for k, v in value}
    if kind == "decimal":
        return Decimal(value)
    if kind == "date":
        return dt.date.fromisoformat(value)
    if kind in ("timestamp", "timestamp_ntz"):
        return dt.datetime.fromisoformat(value)
    if kind == "binary":
        return bytearray(base64.b64decode(value))
    if kind in ("float", "double"):
        return float(value)
    return value


def sort_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """``rows`` in an order that depends on their values alone."""
    return sorted((list(row) for row in rows), key=json.dumps)


def sort_pairs(pairs: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(pairs, key=lambda pair: json.dumps(pair[0]))
