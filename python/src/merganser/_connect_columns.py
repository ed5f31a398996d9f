"""The SQL text of columns of a Spark Connect client, which has no JVM that could write it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import types as T

from merganser._expressions import literal, quoted, type_text

Write = Callable[[Any], str]
"""Writes an expression inside another one."""

_INFIX = {
    **dict.fromkeys(("=", "==", "<=>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|", "^")),
    **{"!=": "<>", "and": "AND", "or": "OR", "like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE"},
}
_AS_THEY_ARE = (T.BinaryType, T.BooleanType, T.DecimalType, T.DoubleType, T.IntegerType, T.StringType)
_QUOTED = "`(?:[^`]|``)*`"
_PREFIX = {"not": "NOT ", "!": "NOT ", "negative": "- ", "~": "~", "bitwiseNOT": "~"}


def sql_of(column: Any, name: Callable[[str], str] = str) -> str:
    """The SQL text of a column's expression, whose strings are the same under every setting of the parser.

    Args:
        column: A column of the client.
        name: What the text has in the place of the name of a column, which it is given as SQL.

    Raises:
        TypeError: The column cannot be written as SQL: it calls a function of Python, for one.
    """

    def write(node: Any) -> str:
        if type(node).__name__ == "ColumnReference":
            return name(_reference(node))
        writer = _WRITERS.get(type(node).__name__)
        if writer is None:
            raise TypeError(
                f"The column {node} cannot be written into a statement: give it as SQL, or compute it as a column of "
                "the source"
            )
        return writer(node, write)

    return write(column._expr)


def _function(node: Any, write: Write) -> str:
    name = str(node._name)
    arguments = [write(one) for one in node._args]
    if name in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {_INFIX[name] or name} {arguments[1]})"
    if name in _PREFIX and len(arguments) == 1:
        return f"({_PREFIX[name]}{arguments[0]})"
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    distinct = "DISTINCT " if getattr(node, "_is_distinct", False) else ""
    return f"{name}({distinct}{', '.join(arguments)})"


def _case(node: Any, write: Write) -> str:
    branches = "".join(f" WHEN {write(when)} THEN {write(then)}" for when, then in node._branches)
    otherwise = "" if node._else_value is None else f" ELSE {write(node._else_value)}"
    return f"CASE{branches}{otherwise} END"


def _cast(node: Any, write: Write) -> str:
    kind = node._data_type if isinstance(node._data_type, str) else type_text(node._data_type)
    function = "TRY_CAST" if getattr(node, "_eval_mode", None) == "try" else "CAST"
    return f"{function}({write(node._expr)} AS {kind})"


def _literal(node: Any, _: Write) -> str:
    kind, value = node._dataType, node._value
    if value is None:
        return "NULL" if isinstance(kind, T.NullType) else f"CAST(NULL AS {type_text(kind)})"
    if isinstance(kind, T.TimestampType):
        moment = datetime.fromtimestamp(value // 1_000_000, timezone.utc).replace(microsecond=value % 1_000_000)
        return literal(moment)
    if isinstance(kind, T.TimestampNTZType):
        return f"TIMESTAMP_NTZ{literal(str(kind.fromInternal(value)))}"
    if isinstance(kind, (T.DateType, T.DayTimeIntervalType)):
        return literal(kind.fromInternal(value))
    if kind.typeName() == "time":  # Spark 4.1 and later
        return f"TIME{literal(kind.fromInternal(value).isoformat())}"
    if isinstance(kind, (T.ByteType, T.ShortType, T.LongType, T.FloatType, T.ArrayType)):
        return f"CAST({literal(value)} AS {kind.simpleString()})"
    if isinstance(kind, _AS_THEY_ARE):
        return literal(value)
    raise TypeError(f"A literal of type {kind.simpleString()} cannot be written into a statement: give it as SQL")


def _reference(node: Any) -> str:
    """A column's name by its parts, as Spark splits it: at dots outside of backticks, of which two are one inside."""
    parts = re.findall(f"(?:{_QUOTED}|[^.`])+", str(node._unparsed_identifier))
    return ".".join(quoted(re.sub(_QUOTED, lambda found: found[0][1:-1].replace("``", "`"), part)) for part in parts)


_WRITERS: dict[str, Callable[[Any, Write], str]] = {
    "CallFunction": _function,
    "CaseWhen": _case,
    "CastExpression": _cast,
    "ColumnAlias": lambda node, write: write(node._child),
    "LambdaFunction": lambda node, write: f"({', '.join(map(write, node._arguments))}) -> {write(node._function)}",
    "LiteralExpression": _literal,
    "SQLExpression": lambda node, _: f"({node._expr})",
    "UnresolvedExtractValue": lambda node, write: f"{write(node._child)}[{write(node._extraction)}]",
    "UnresolvedFunction": _function,
    "UnresolvedNamedLambdaVariable": lambda node, _: ".".join(node._name_parts),
}
