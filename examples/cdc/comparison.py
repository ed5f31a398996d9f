"""Whether a table of the lake equals the table of the database: its columns, their types, and every value.

Both sides write each value as text in the same way, without a loss: the database by its own SQL, Spark by its own.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from database import LARGE, Column, Database
from server import Connection, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def database_rows(database: Database, connection: Connection, table: str, columns: Sequence[Column]) -> list[Row]:
    """Every row of a table of the database."""
    values = ", ".join(database.text_of(column) for column in columns)
    return [normal(row, columns) for row in connection.query(f"SELECT {values} FROM {table}")]


def lake_types(frame: DataFrame, columns: Iterable[Column]) -> dict[str, str]:
    """The types of these columns in the lake, of those that are there."""
    return {one.name: frame.schema[one.name].dataType.simpleString() for one in columns if one.name in frame.columns}


def lake_rows(frame: DataFrame, columns: Sequence[Column]) -> list[Row]:
    """Every row of a table of the lake, which has all of these columns."""
    values = [_in_spark(column) for column in columns]
    return [normal(tuple(row), columns) for row in frame.selectExpr(*values).collect()]


def differences(
    keys: Sequence[str], columns: Sequence[Column], expected: Sequence[Row], found: Sequence[Row]
) -> list[str]:
    """What differs, a line for each row or value; empty if nothing does."""
    at = [[column.name for column in columns].index(key) for key in keys]

    def keyed(rows: Sequence[Row]) -> tuple[Mapping[Row, Row], list[str]]:
        by_key: dict[Row, Row] = {}
        twice = []
        for row in rows:
            key = tuple(row[place] for place in at)
            if key in by_key:
                twice.append(f"{key}: stored twice")
            by_key[key] = row
        return by_key, twice

    (wanted, _), (there, lines) = keyed(expected), keyed(found)
    lines += [f"{key}: missing" for key in wanted if key not in there]
    lines += [f"{key}: not in the database" for key in there if key not in wanted]
    for key, row in wanted.items():
        for column, value, other in zip(columns, row, there.get(key, row)):
            if value != other:
                lines.append(f"{key}: {column.name} is {other!r}, in the database {value!r}")
    return lines


def normal(row: Row, columns: Sequence[Column]) -> Row:
    """Numbers that are the same have the same text."""
    return tuple(None if value is None else _normal(value, column.lake_type) for value, column in zip(row, columns))


def _normal(value: str, kind: str) -> str:
    if kind == "float":
        return struct.pack(">f", float(value)).hex()
    if kind == "double":
        return struct.pack(">d", float(value)).hex()
    if kind.startswith("array<"):
        return json.dumps(json.loads(value))
    return value


def _in_spark(column: Column) -> str:
    """A time as microseconds since 1970, a date as days, a large value as its hash: as ``Database.text_of`` has it."""
    name, kind = column.name, column.lake_type
    if kind == "timestamp":
        return f"cast(unix_micros({name}) AS string)"
    if kind == "timestamp_ntz":
        return f"cast(unix_micros(to_utc_timestamp(cast({name} AS timestamp), current_timezone())) AS string)"
    if kind == "date":
        return f"cast(unix_date({name}) AS string)"
    if kind == "binary":
        return f"if(length({name}) > {LARGE}, md5({name}), lower(hex({name})))"
    if kind.startswith("array<"):
        return f"to_json({name})"
    if kind == "string":
        return f"if(length({name}) > {LARGE}, md5({name}), {name})"
    return f"cast({name} AS string)"


def compare(database: Database, connection: Connection, table: str, keys: Sequence[str], frame: DataFrame) -> list[str]:
    """What differs between a table of the database and a frame of the lake, types of columns included."""
    columns = database.columns_of(connection, table)
    wanted = {column.name: column.lake_type for column in columns}
    types = lake_types(frame, columns)
    if types != wanted:
        return [
            f"column {name} is {types.get(name, 'missing')}, expected {kind}"
            for name, kind in wanted.items()
            if types.get(name) != kind
        ]
    expected = database_rows(database, connection, table, columns)
    return differences(keys, columns, expected, lake_rows(frame, columns))
