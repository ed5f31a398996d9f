"""Access to the jar by SQL alone: procedures, called with parameters. It needs no JVM in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from merganser._arguments import is_column
from merganser._connect_columns import sql_of
from merganser._expressions import Parts
from merganser._transport import SessionStatements, explaining_names, view_name
from merganser._wire import camel
from merganser.dry_runs import write_answer
from merganser.errors import MerganserError, MissingJarError, error_for, in_python
from merganser.options import DRY_RUN, DRY_RUN_ROWS

_ALL = 2**31 - 1  # procedures limit their rows by default

_CLUSTERED = ("filesReplaced", "filesWritten", "rowsWritten", "bytesWritten", "elapsedMs")

_NO_PROCEDURES = re.compile(r"PROCEDURE|ROUTINE|PARSE_SYNTAX_ERROR")
"""Conditions of Spark itself for a missing procedure, or for a missing CALL statement."""

_OURS = re.compile(
    r"io\.merganser\.merge\.MerganserException(?:\)|:) (\[(\w+)\] .*?)(?=\n\tat |\nCaused by: |\n\nJVM stacktrace:|\Z)",
    re.DOTALL,
)


class Statements(SessionStatements):
    """Calls the jar by statements. Every call except a write is one statement."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def create(self, path: str, schema_json: str, options: Mapping[str, str]) -> Any:
        return self._one("create_table", options, path=path, columns=schema_json)

    def describe(self, path_or_name: str) -> Any:
        return self._one("describe_table", table=path_or_name)

    def create_named(
        self,
        name: str,
        schema_json: str,
        partitions: str,
        path: str | None,
        if_not_exists: bool,
        options: Mapping[str, str],
    ) -> None:
        folder = {} if path is None else {"path": path}
        given = {"table": name, "columns": schema_json, "partitions": partitions, "if_not_exists": if_not_exists}
        self._one("create_table", options, **folder, **given)

    def write(self, path: str, rows: DataFrame, operation: str, options: Mapping[str, str]) -> Any:
        with self.view(rows) as view:
            if options.get(DRY_RUN) == "true":
                given = {key: value for key, value in options.items() if key not in (DRY_RUN, DRY_RUN_ROWS)}
                most = {"rows": int(options[DRY_RUN_ROWS])} if DRY_RUN_ROWS in options else {}
                shown = self.rows("dry_run", given, source=view, path=path, operation=operation, **most)
                return write_answer(shown, operation)
            return self._one("write_rows", options, source=view, path=path, operation=operation)

    def apply_changes(self, rows: DataFrame, arguments: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        given = {name: self.sql_of(value) if is_column(value) else value for name, value in arguments.items()}
        with self.view(rows) as view:
            return self._one("apply_changes", options, source=view, **given)

    def create_for_changes(
        self, rows: DataFrame | None, arguments: Mapping[str, Any], options: Mapping[str, str]
    ) -> Any:
        if rows is None:
            return self._one("create_table_for_changes", options, **arguments)
        with self.view(rows) as view:
            return self._one("create_table_for_changes", options, source=view, **arguments)

    def parts(self) -> Parts:
        return ClientParts()

    def statement(self, what: str, text: str, options: Mapping[str, str], parts: Parts) -> Any:
        with explaining_names():
            if options or parts.names:
                return self._one("run_statement", options, statement=text, **_names_of(parts))
            with _translating():
                rows = self._spark.sql(text).collect()
        return {camel(name): value for row in rows[:1] for name, value in row.asDict().items()}

    def preview(self, text: str, most: int | None, options: Mapping[str, str], parts: Parts) -> Any:
        limit: dict[str, Any] = {} if most is None else {"rows": most}
        return self.rows("dry_run", options, statement=text, **limit, **_names_of(parts))

    def sql_of(self, column: Any) -> str:
        return sql_of(column)

    def add_view(self, rows: DataFrame) -> str:
        name = view_name()
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

    def compact(self, path: str, op: str, options: Mapping[str, str]) -> Any:
        return self._compacted("run_compaction", path, op, options)

    def compact_logs(self, path: str, op: str, options: Mapping[str, str]) -> Any:
        return self._compacted("run_log_compaction", path, op, options)

    def _compacted(self, procedure: str, path: str, op: str, options: Mapping[str, str]) -> Any:
        found = self.rows(procedure, options, path=path, op=op)
        left = [f"{row['timestamp']}: {row['leftBecause']}" for row in found if row["leftBecause"] is not None]
        done = [row for row in found if row["leftBecause"] is None]
        if not done:
            return {"instant": None, "left": left}
        response = {**done[0], "instant": done[0]["timestamp"], "filesWritten": done[0]["operationSize"], "left": left}
        return {key: 0 if value is None else value for key, value in response.items()}  # null if only planned

    def cluster(
        self,
        path: str,
        op: str,
        columns: str | None,
        strategy: str | None,
        where: str | None,
        options: Mapping[str, str],
    ) -> Any:
        given = {"order": columns, "order_strategy": strategy, "predicate": where}
        named = {name: value for name, value in given.items() if value is not None}
        found = self.rows("run_clustering", options, path=path, op=op, **named)
        done = [row for row in found if row["leftBecause"] is None]
        sums = {key: sum(row[key] or 0 for row in done) for key in _CLUSTERED}
        left = [f"{row['timestamp']}: {row['leftBecause']}" for row in found if row["leftBecause"] is not None]
        return {**sums, "instants": [row["timestamp"] for row in done], "left": left}

    def purge_clustering(self, path: str, instant: str, options: Mapping[str, str]) -> Any:
        rows = self.rows("run_clustering", options, path=path, op="purge_pending_instant", instants=instant)
        return {"left": [row["leftBecause"] for row in rows if row["leftBecause"] is not None]}

    def clean(self, path: str, options: Mapping[str, str]) -> Any:
        return self.rows("run_clean", options, path=path)

    def archive(self, path: str, min_commits: int | None, max_commits: int | None, options: Mapping[str, str]) -> Any:
        limits = {"min_commits": min_commits, "max_commits": max_commits}
        named = {name: limit for name, limit in limits.items() if limit is not None}
        row = self._one("archive_commits", options, path=path, retain_commits=0, **named)
        return {
            "instants": row["instantsArchived"],
            "first": row["firstInstant"],
            "last": row["lastInstant"],
            "remaining": row["commitsRemaining"],
            "elapsedMs": row["elapsedMs"],
        }

    def start_services(
        self, path: str, services: str | None, interval_seconds: int | None, options: Mapping[str, str]
    ) -> Any:
        given = {"services": services, "interval_seconds": interval_seconds}
        named = {name: value for name, value in given.items() if value is not None}
        return self.rows("start_services", options, path=path, **named)

    def stop_services(self, path: str) -> None:
        self._one("stop_services", path=path)

    def services(self, path: str) -> Any:
        return self.rows("show_services", path=path)

    def create_savepoint(
        self, path: str, instant: str | None, user: str, comments: str, options: Mapping[str, str]
    ) -> Any:
        write = {} if instant is None else {"commit_time": instant}
        return self._one("create_savepoint", options, path=path, user=user, comments=comments, **write)

    def delete_savepoint(self, path: str, instant: str | None, options: Mapping[str, str]) -> None:
        write = {} if instant is None else {"instant_time": instant}
        self._one("delete_savepoint", options, path=path, **write)

    def savepoints(self, path: str) -> Any:
        return self.rows("show_savepoints", path=path)

    def rows(self, procedure: str, options: Mapping[str, str] | None = None, **arguments: Any) -> list[dict[str, Any]]:
        """The rows of a call, their columns named as the fields of the jar's JSON are."""
        statement, values = call(procedure, options or {}, arguments)
        with _translating():
            rows = self._spark.sql(statement, values).collect()
        return [{camel(name): value for name, value in row.asDict(recursive=True).items()} for row in rows]

    def restore(self, path: str, instant: str, options: Mapping[str, str]) -> Any:
        return self._one("restore_to_instant", options, path=path, instant_time=instant)

    def restore_savepoint(self, path: str, savepoint: str | None, options: Mapping[str, str]) -> Any:
        write = {} if savepoint is None else {"instant_time": savepoint}
        return self._one("rollback_to_savepoint", options, path=path, **write)

    def rollback(self, path: str, instant: str | None, options: Mapping[str, str]) -> Any:
        write = {} if instant is None else {"instant_time": instant}
        return self._one("rollback_to_instant", options, path=path, **write)

    def history(self, path: str, limit: int | None, archived: bool) -> Any:
        return self.rows("show_history", path=path, limit=_ALL if limit is None else limit, archived=archived)

    def file_slices(self, path: str) -> Any:
        return [
            {
                "partitionPath": row["partition"],
                "fileId": row["fileId"],
                "baseInstant": row["baseInstant"],
                "baseFile": row["dataFile"],
                "baseSizeBytes": row["dataFileSize"],
                "logFiles": [{"name": log["name"], "sizeBytes": log["size"]} for log in row["deltaFiles"]],
            }
            for row in self.rows("show_fsview_latest", path=path, limit=_ALL)
        ]

    def _one(self, procedure: str, options: Mapping[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
        (row,) = self.rows(procedure, options, **arguments)
        return row


class ClientParts(Parts):
    """Columns as text, as a client has nothing else of them that a server would read in a statement."""

    def column(self, column: Any) -> str:
        return sql_of(column, self.name)


def _names_of(parts: Parts) -> dict[str, Any]:
    """Names as an argument of a call; none without names, so that a server's earlier jar takes the call."""
    return {"names": parts.names} if parts.names else {}


@contextmanager
def _translating() -> Iterator[None]:
    """Raise the jar's errors as ours."""
    try:
        yield
    except MerganserError as ours:  # created where PySpark converts exceptions
        raise in_python(ours) from getattr(ours, "origin", None)
    except PySparkException as failure:
        error = translated(failure)
        if error is None:
            raise
        raise in_python(error) from failure


def call(procedure: str, options: Mapping[str, str], arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a CALL and the values of its parameters; no argument becomes part of the statement's text.

    A parameter has a prefix, since names of arguments such as ``table`` may be reserved words of the grammar.
    """
    maps = {name: value for name, value in arguments.items() if isinstance(value, Mapping)}
    if options:
        maps["options"] = options
    values = {name: value for name, value in arguments.items() if name not in maps}
    listed = [f"{name} => :of_{name}" for name in values]
    values = {f"of_{name}": value for name, value in values.items()}
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

    modules: list[Any] = [connect, sys.modules.get("pyspark.sql.connect.client.core")]  # it imports the function
    sparks: Any = connect.convert_exception
    if getattr(sparks, "raises_conditions", False):
        return

    def convert_exception(*arguments: Any, **named: Any) -> Any:
        converted = sparks(*arguments, **named)
        ours = carried(converted)
        if ours is None:
            return converted
        ours.origin = converted
        return ours

    convert_exception.raises_conditions = True  # type: ignore[attr-defined]
    for module in filter(None, modules):
        module.convert_exception = convert_exception


def translated(failure: PySparkException) -> MerganserError | None:
    """Return our exception for a failed call, or ``None``."""
    ours = carried(failure)
    if ours is None and _NO_PROCEDURES.search(_condition(failure) or ""):
        return MissingJarError(
            "Cannot call Merganser's procedures in this Spark Connect session: its server runs without them. Start the "
            "server with Merganser's jar in 'spark.jars', and with 'spark.sql.extensions' and "
            "'spark.sql.catalog.spark_catalog' set as merganser.configure(builder) sets them.",
            condition="MISSING_JAR",
        )
    return ours


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
