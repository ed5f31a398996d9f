"""The partitions of rows that are identified by their keys alone."""

from __future__ import annotations

from pyspark.sql import DataFrame

from merganser._expressions import quoted
from merganser.results import TableInfo


def with_partitions(keys: DataFrame, table: TableInfo) -> DataFrame:
    """Keys with all partition columns: those that ``keys`` lacks are of the stored rows of these keys.

    Args:
        keys: A frame with the key columns. One without them is returned as it is: so are the keys of a table without
            key columns, which have meta columns; the write checks them.
        table: The table, whose newest rows are read where ``keys`` lacks a partition column.
    """
    if not table.partition_by:
        return keys
    given = {column.lower() for column in keys.columns}
    partitions = {_column(field).lower(): _column(field) for field in table.partition_by}
    absent = [quoted(column) for name, column in partitions.items() if name not in given]
    is_keyed = table.record_key and all(_column(field).lower() in given for field in table.record_key)
    if not absent or not is_keyed:
        return keys
    fields = {f"_merganser_key_{at}": ".".join(map(quoted, key.split("."))) for at, key in enumerate(table.record_key)}
    stored = keys.sparkSession.read.format("merganser").load(table.path)
    found = stored.select(*(stored[field].alias(name) for name, field in fields.items()), *absent)
    named = keys.select("*", *(keys[field].alias(name) for name, field in fields.items()))
    return named.join(found, list(fields)).drop(*fields)


def _column(field: str) -> str:
    """The column of a field, which may be inside a struct."""
    return field.partition(".")[0]
