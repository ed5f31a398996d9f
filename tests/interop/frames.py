"""Rows in JSON form into Spark's data frames and back, whatever engine runs below."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Union

from interop.values import decode, encode_spark

#: DDL text, or (name, type) pairs.
Schema = Union[str, Sequence[Sequence[str]]]


def frame_of(spark: Any, schema: Schema, rows: Sequence[Sequence[Any]]) -> Any:
    """A data frame of one partition that keeps the order of ``rows``."""
    ddl = schema if isinstance(schema, str) else ", ".join(f"`{n}` {t}" for n, t in schema)
    struct = _parsed(spark, ddl)
    for row in rows:
        if len(row) != len(struct):
            raise ValueError(f"Row {row} has {len(row)} values, the schema has {len(struct)}")
    values = [tuple(decode(c, f.dataType) for c, f in zip(row, struct)) for row in rows]
    return spark.createDataFrame(values, struct).coalesce(1)


@functools.cache
def _parsed(spark: Any, ddl: str) -> Any:
    return spark.createDataFrame([], ddl).schema


def rows_of(frame: Any) -> dict[str, Any]:
    """Columns ``[[name, type], …]`` and rows of a data frame."""
    return {
        "columns": [[field.name, field.dataType.simpleString()] for field in frame.schema],
        "rows": [[encode_spark(cell) for cell in row] for row in frame.collect()],
    }
