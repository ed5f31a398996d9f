"""Pieces of SQL text. Expressions as text work alike in classic sessions and over Spark Connect."""

from __future__ import annotations

from pyspark.sql.types import StructType


def quoted(path: str) -> str:
    """A column or a field in structs, such as ``source.lsn``, quoted part by part."""
    return ".".join(name(part) for part in path.split("."))


def name(column: str) -> str:
    """One name, quoted; it may have dots."""
    return f"`{column.replace('`', '``')}`"


def text(value: str) -> str:
    """A string literal. A raw literal has no escapes, so a value with a quote is concatenated."""
    parts = [f"r'{part}'" for part in value.split("'")]
    return parts[0] if len(parts) == 1 else "concat(" + ', "\'", '.join(parts) + ")"


def let(variable: str, value: str, result: str) -> str:
    """``result``, in which ``variable`` is ``value``: computed once."""
    return f"transform(array({value}), {variable} -> {result})[0]"


def field_of(schema: StructType, column: str) -> str | None:
    """The name by which a schema has a column: exactly, or else ignoring case."""
    names = schema.fieldNames()
    if column in names:
        return column
    return next((found for found in names if found.casefold() == column.casefold()), None)
