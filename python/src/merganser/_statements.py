"""Access to the jar by SQL alone: procedures, called with parameters. It needs no JVM in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from merganser._connect_columns import sql_of
from merganser._expressions import Parts
from merganser._transport import Transport, convert_exceptions
from merganser.errors import MerganserError, MissingJarError, error_for

_NO_PROCEDURES = re.compile(r"PROCEDURE|ROUTINE|PARSE_SYNTAX_ERROR")
"""Conditions of Spark itself for a missing procedure, or for a missing CALL statement."""

_OURS = re.compile(
    r"io\.merganser\.merge\.MerganserException(?:\)|:) (\[(\w+)\] .*?)(?=\n\tat |\nCaused by: |\n\nJVM stacktrace:|\Z)",
    re.DOTALL,
)


class ClientParts(Parts):
    """Columns as text, as a client has nothing else of them that a server would read in a statement."""

    def column(self, column: Any) -> str:
        return sql_of(column, self.name)


class Statements(Transport):
    """Calls the jar by statements."""

    parts = ClientParts

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def _rows(self, call: str, frame: Any, arguments: dict[str, Any], columns: dict[str, Any]) -> list[dict[str, Any]]:
        arguments.update({name: self.sql_of(column) for name, column in columns.items()})
        with nullcontext() if frame is None else self.view(frame) as view, self._translating():
            given = arguments if view is None else {"source": view, **arguments}
            rows = self._spark.sql(*call_of(call, given)).collect()
        return [_plain(row.asDict(recursive=True)) for row in rows]

    def _statement(self, what: str, text: str, parts: Parts) -> list[dict[str, Any]]:
        if parts.names:
            return self.rows("run_statement", statement=text, parts=parts)
        with self._translating():
            return [_plain(row.asDict()) for row in self._spark.sql(text).collect()]

    def sql_of(self, column: Any) -> str:
        return sql_of(column)

    def _translated(self, failure: Exception) -> MerganserError | None:
        if not isinstance(failure, PySparkException):
            return None
        ours = carried(failure)
        if ours is None and _NO_PROCEDURES.search(_condition(failure) or ""):
            return MissingJarError(
                "Cannot call Merganser's procedures in this Spark Connect session: its server runs without them. Start "
                "the server with Merganser's jar in 'spark.jars', and with 'spark.sql.extensions' and "
                "'spark.sql.catalog.spark_catalog' set as merganser.configure(builder) sets them.",
                condition="MISSING_JAR",
            )
        return ours

    def _add_view(self, name: str, rows: DataFrame) -> str:
        if rows.sparkSession is self._spark:
            rows.createOrReplaceTempView(name)
            return name
        # Frames of one session are unknown to another one of the same server, global views are not.
        rows.createOrReplaceGlobalTempView(name)
        return f"{self._spark.conf.get('spark.sql.globalTempDatabase')}.{name}"

    def drop_view(self, name: str) -> None:
        view = name.rpartition(".")[2]
        drop = self._spark.catalog.dropTempView if view == name else self._spark.catalog.dropGlobalTempView
        drop(view)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times in milliseconds since 1970; PySpark has them in the local zone."""
    return {
        name: round(value.timestamp() * 1000) if isinstance(value, datetime) else value for name, value in row.items()
    }


def call_of(procedure: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a CALL and the values of its parameters; no argument becomes part of the statement's text.

    A parameter has a prefix, since names of arguments such as ``table`` may be reserved words of the grammar.
    """
    maps = {name: value for name, value in arguments.items() if isinstance(value, Mapping)}
    listed = [f"{name} => :of_{name}" for name in arguments if name not in maps]
    values = {f"of_{name}": value for name, value in arguments.items() if name not in maps}
    number = 0
    for name, entries in maps.items():
        pairs: list[str] = []
        for key, value in entries.items():
            values[f"key{number}"], values[f"value{number}"] = key, value
            pairs.append(f":key{number}, :value{number}")
            number += 1
        listed.append(f"{name} => map({', '.join(pairs)})")
    return f"CALL {procedure}({', '.join(listed)})", values


def raise_conditions() -> None:
    """Make statements, data frames and actions of Spark Connect raise the classes of :mod:`merganser.errors`.

    PySpark's client converts the server's errors in one function; those that are not ours are unchanged.

    Raises:
        ImportError: The libraries of a client are not installed.
    """
    from pyspark.errors.exceptions import connect

    core = sys.modules.get("pyspark.sql.connect.client.core")  # it imports the function
    convert_exceptions([connect, core] if core else [connect], _converted)


def _converted(sparks: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    converted = sparks(*arguments, **named)
    ours = carried(converted)
    if ours is not None:
        ours.origin = converted
    return ours or converted


def carried(failure: PySparkException) -> MerganserError | None:
    """Return our exception that a failed statement is or has as a cause, or ``None``."""
    thrown: Any = failure  # its methods differ between the lines
    stack = getattr(thrown, "getStackTrace", lambda: None)()
    for text in (str(failure), stack or ""):
        found = _OURS.search(text)
        if found is not None:
            message, condition = found.groups()
            is_itself = _condition(failure) == condition
            return error_for(
                condition,
                message=message,
                sql_state=thrown.getSqlState() if is_itself else None,
                parameters=thrown.getMessageParameters() if is_itself else None,
            )
    return None


def _condition(failure: PySparkException) -> str | None:
    get: Any = getattr(failure, "getCondition", None) or failure.getErrorClass  # Spark 3.5 has the other name
    found: str | None = get()
    return found
