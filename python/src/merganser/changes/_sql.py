"""Pieces of SQL text. Expressions as text work alike in classic sessions and over Spark Connect."""

from __future__ import annotations

import importlib
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from merganser._expressions import string
from merganser._expressions import type_text as _type_text


def functions(frame: DataFrame) -> Any:
    """The functions for the session of a frame: one process may have classic sessions and clients of Spark Connect."""
    is_client = type(frame).__module__.startswith("pyspark.sql.connect")
    return importlib.import_module("pyspark.sql.connect.functions" if is_client else "pyspark.sql.functions")


def quoted(path: str) -> str:
    """A column or a field in structs, such as ``source.lsn``, quoted part by part."""
    return ".".join(name(part) for part in path.split("."))


def name(column: str) -> str:
    """One name, quoted; it may have dots.

    Raises:
        ValueError: Spark would substitute a variable in it.
    """
    if "${" in column:
        raise ValueError(f"A column of changes cannot have ${{ in its name, as {column!r} has: rename it")
    return f"`{column.replace('`', '``')}`"


def type_text(kind: DataType) -> str:
    """A type, whose fields have any names."""
    return _type_text(kind, name)


def text(value: str) -> str:
    """A string literal."""
    return string(value)


def let(variable: str, value: str, result: str) -> str:
    """``result``, in which ``variable`` is ``value``: computed once."""
    return f"transform(array({value}), {variable} -> {result})[0]"


def field_of(schema: StructType, column: str) -> str | None:
    """The name by which a schema has a column: exactly, or else ignoring case."""
    names = schema.fieldNames()
    if column in names:
        return column
    return next((found for found in names if found.casefold() == column.casefold()), None)
