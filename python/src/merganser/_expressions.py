"""The SQL text of columns, conditions and values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Union

from pyspark.sql import Column
from pyspark.sql import types as T

from merganser._arguments import condition_of, is_column, is_name, kind
from merganser._values import plain

Condition = Union[str, Column, bool]
"""A condition as SQL or as a column."""
Value = Union[str, Column, bool, int, float, Decimal, date, bytes, None]
"""An expression as SQL or as a column, or a value that is not a string: ``lit("text")`` or ``"'text'"`` are strings."""
Assignments = Mapping[str, Value]
"""Expressions by the column that they are assigned to."""

_SPECIAL = re.compile(r"['\\${}\x00-\x1f]")
"""Characters that settings of the parser give a meaning in literals, or that begin variables and fields of a format."""

_INT_MAX = 2**31 - 1
_LONG = 2**63


class Parts:
    """What is no text in a statement: a word stands for it there, and it becomes part of the plan as it is.

    Attributes:
        columns: Columns by their words.
        names: Names as SQL by their words: those in whose text variables would be substituted.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {}
        self.names: dict[str, str] = {}

    def column(self, column: Any) -> str:
        """What the statement has in the place of a column."""
        return self._word(self.columns, column)

    def name(self, name: str) -> str:
        """What the statement has in the place of a name, which is given as SQL."""
        return self._word(self.names, name) if "${" in name else name

    def _word(self, parts: dict[str, Any], part: Any) -> str:
        word = f"__merganser_part_{len(self.columns) + len(self.names)}"
        parts[word] = part
        return word


class ShownParts(Parts):
    """All parts as text, for a statement that is shown."""

    def __init__(self, sql_of: Callable[[Any], str]) -> None:
        super().__init__()
        self._sql_of = sql_of

    def column(self, column: Any) -> str:
        return self._sql_of(column)

    def name(self, name: str) -> str:
        return name


def condition_text(argument: str, condition: object, parts: Parts) -> str:
    """A condition as SQL.

    Raises:
        TypeError: It is not a condition.
    """
    if isinstance(condition, bool):
        return str(condition).lower()
    if isinstance(condition, str):
        if not condition.strip():
            raise ValueError(f"{argument} is empty; for all rows write {argument}=True")
        return condition.strip()
    return parts.column(condition_of(argument, condition))


def value_text(column: str, value: object, parts: Parts) -> str:
    """An expression that is assigned to a column, as SQL.

    Raises:
        TypeError: It is neither an expression nor a value with a literal.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        if not value.strip():
            raise ValueError(f"The expression of column {column!r} is empty; an empty string is \"''\" or lit('')")
        return value.strip()
    if is_column(value):
        return parts.column(value)
    try:
        return literal(value)
    except TypeError:
        raise TypeError(
            f'Column {column!r} is assigned a {kind(value)}: give an expression as SQL, such as "fare * 2", a '
            "column, such as lit(1), or a number, a date, a time, a bool or None"
        ) from None


def assignments_of(argument: str, assignments: object, parts: Parts) -> list[tuple[str, str]]:
    """Columns and the SQL of what they are assigned.

    Raises:
        TypeError: They are not a dict of expressions.
        ValueError: There is none.
    """
    if not isinstance(assignments, Mapping):
        raise TypeError(
            f"{argument} is a dict of expressions by column, such as {{'fare': 'fare * 2'}}, not a {kind(assignments)}"
        )
    if not assignments:
        raise ValueError(f"{argument} is empty: it has an expression for each column that changes")
    return [
        (parts.name(name_text(column)), value_text(str(column), value, parts)) for column, value in assignments.items()
    ]


def name_text(column: object) -> str:
    """The name of a column, or of a field inside one, as SQL; one with a backtick is SQL already.

    All are quoted: which words need it depends on the session's settings.

    Raises:
        TypeError: It is not a name.
    """
    if not isinstance(column, str):
        raise TypeError(f"Columns are named by strings, not by a {kind(column)}")
    if "`" in column:
        return column
    return ".".join(map(quoted, column.split("."))) if is_name(column) else quoted(column)


def type_text(kind: T.DataType) -> str:
    """A type as SQL."""
    if isinstance(kind, T.StructType):
        return f"struct<{', '.join(f'{quoted(one.name)}: {type_text(one.dataType)}' for one in kind)}>"
    if isinstance(kind, T.ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"map<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return kind.simpleString()


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def string(text: str) -> str:
    """A string as SQL that is read as the same string under every setting of the parser."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)" if _SPECIAL.search(text) else f"'{text}'"


def literal(value: Any) -> str:
    """A value as SQL; of numpy and pandas too, whose ``NaT`` and ``NA`` are null.

    Raises:
        TypeError: SQL has no literal for it.
    """
    value = plain(value.value if isinstance(value, Enum) else value)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if abs(value) <= _INT_MAX else f"{value}{'L' if -_LONG <= value < _LONG else 'BD'}"
    if isinstance(value, float):
        return f"{float.__repr__(value)}D" if math.isfinite(value) else f"double({string(float.__repr__(value))})"
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}BD"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP{string(value.isoformat(sep=' '))}"
    if isinstance(value, date):
        return f"DATE{string(value.isoformat())}"
    if isinstance(value, (bytes, bytearray)):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(map(literal, value))})"
    if isinstance(value, timedelta):  # a literal is of another type under spark.sql.legacy.interval.enabled
        return f"make_dt_interval({value.days}, 0, 0, {value.seconds}.{value.microseconds:06}BD)"
    raise TypeError(f"SQL has no literal for a {kind(value)}")
