"""Questions about a table, which change nothing: ``info`` to ``verify``."""

from __future__ import annotations

import json
from typing import Any

import click
from pyspark.sql import DataFrame

from merganser._shown import shown, size
from merganser.cli._arguments import limit_option, on_table, parameters
from merganser.cli._run import Given, Result, Rows
from merganser.explanations import RecordExplanation, key_argument
from merganser.table_checks import MergeConfig, Setting

#: Columns of a table's history that a terminal has the width for.
_HISTORY = (
    *("instant", "operation", "state", "inserted", "updated", "deleted", "late", "duplicates", "appended"),
    *("files", "files_deleted", "bytes_written", "elapsed_ms", "user", "comment"),
)


@on_table
def info(given: Given) -> Rows | Result:
    """Show what a table is: type, keys, merge rule, size, newest commit."""
    table = given.table
    slices = table.inspect.file_slices()
    newest = table.history(1)
    found: dict[str, Any] = {
        "name": table.name,
        "path": table.path,
        "type": table.table_type.value,
        "version": table.version,
        "record_key": list(table.record_key),
        "partition_by": list(table.partition_by),
        "ordering_by": list(table.ordering_by),
        "merge_mode": table.merge_mode,
        "rule": table.rule or None,
        "index": table.index,
        "columns": len(table.schema.fields),
        "partitions": len({one.partition_path for one in slices}),
        "file_slices": len(slices),
        "log_files": sum(len(one.log_files) for one in slices),
        "base_bytes": sum(one.base_size_bytes for one in slices),
        "log_bytes": sum(one.log_size_bytes for one in slices),
        "newest_action": str(newest[0]) if newest else None,
    }
    present = {name: value for name, value in found.items() if value != []}
    present |= {name: size(found[name]) for name in ("base_bytes", "log_bytes")}
    return Result([found], [present], as_fields=True)


@on_table
def schema(given: Given) -> Rows | Result:
    """List the columns of a table, without the meta columns."""
    rows = [
        {
            "column": field.name,
            "type": field.dataType.simpleString(),
            "nullable": field.nullable,
            "comment": field.metadata.get("comment"),
        }
        for field in given.table.schema.fields
    ]
    return Result(rows)


@on_table
@limit_option
@click.option("--archived", is_flag=True, help="List also what was moved from the timeline to the history.")
def history(given: Given, limit: int, archived: bool) -> Rows | Result:
    """List what was done to a table, newest first: writes, services, savepoints, what is pending."""
    rows = given.table.history(limit, archived=archived).to_dicts()
    grid = [{name: shown(name, row[name]) for name in _HISTORY} for row in rows]
    for cells, row in zip(grid, rows):
        cells["operation"] = row["operation"] or row["action"]
    return Result(rows, grid, empty="nothing was done to the table")


@on_table
def slices(given: Given) -> Rows | Result:
    """List the newest file slice of every file group, with its logs."""
    found = given.table.inspect.file_slices()
    grid = [
        {
            "partition": one.partition_path or None,
            "file_id": one.file_id,
            "base_instant": one.base_instant,
            "base": size(one.base_size_bytes) if one.base_file else "none",
            "log_files": len(one.log_files),
            "logs": size(one.log_size_bytes),
        }
        for one in found
    ]
    return Result(found.to_dicts(), grid, empty="no file slices")


@on_table
@click.option("--all", "defaults", is_flag=True, help="List also settings that have their defaults.")
@click.option("--stored", is_flag=True, help="List what the table's hoodie.properties has instead.")
def config(given: Given, defaults: bool, stored: bool) -> Rows | Result:
    """List the settings for writes of a table, with their sources; contradictions first.

    The settings of --option and --conf are those of the write.
    """
    if stored and defaults:
        raise click.UsageError("--all and --stored exclude each other.")
    if stored:
        return Result([{"property": name, "value": value} for name, value in given.table.properties.items()])
    found = MergeConfig(map(Setting.from_wire, given.call("show_merge_config")))
    order = [*found.conflicts, *(one for one in (found if defaults else found.changed) if one.conflict is None)]
    grid = [{name: getattr(one, name) for name in ("setting", "value", "source", "conflict")} for one in order]
    return Result(found.to_dicts(), grid, empty="only defaults")


@on_table
@click.option("--columns", metavar="NAMES", help="Columns to read, comma separated; also meta columns.")
@click.option("--where", metavar="CONDITION", help="Condition in SQL.")
@click.option("--as-of", metavar="TIME", help="Time to read as of: an instant, a date, or '2026-01-31 12:00:00'.")
@click.option("--read-optimized", is_flag=True, help="Read only base files, without the rows of logs.")
@limit_option
def read(given: Given, columns: str | None, where: str | None, limit: int, **version: Any) -> Rows | Result:
    """Print rows of a table, in no particular order."""
    rows = given.table.df(**version)
    return _rows(rows if where is None else rows.where(where), columns, limit)


@on_table
@click.option("--since", metavar="TIME", help="Changes of commits that completed later; default: all.")
@click.option("--until", metavar="TIME", help="Changes of commits that completed up to this time; default: all.")
@click.option("--data", is_flag=True, help="What each commit changed, with the row before and after.")
@click.option("--columns", metavar="NAMES", help="Columns to print, comma separated; also meta columns.")
@limit_option
def changes(given: Given, data: bool, columns: str | None, limit: int, **window: Any) -> Rows | Result:
    """Print the rows that changed within a time window, each once, as at its end."""
    table = given.table
    return _rows(table.change_data(**window) if data else table.changes(**window), columns, limit)


@on_table
@click.argument("key", metavar="KEY")
@parameters("explain_record", "partition")
def explain(given: Given, key: str, partition: str | None) -> Rows | Result:
    """Show the retained versions of one key, what happened to each, and why.

    KEY is the value of the one key column, or JSON of several: '{"id": 1, "region": "eu"}'.
    """
    try:
        parsed: Any = json.loads(key) if key[:1] in ("{", "[") else key
    except json.JSONDecodeError as error:
        raise click.UsageError(f"KEY begins like JSON and is none ({error}): {key}") from None
    wanted = tuple(parsed) if isinstance(parsed, list) else parsed
    found = RecordExplanation.from_rows(given.call("explain_record", key=key_argument(wanted), partition=partition))
    return Result(found.to_dict(), text=found.to_string(), failed=not found.found)


@on_table
@parameters("verify_table", "sample", "repair")
def verify(given: Given, **arguments: Any) -> Rows | Result:
    """Look for what is wrong with a table; exit code 1 if there is anything.

    Compares a table's files with its commits, the rows of its file groups with their files, and the paths on which
    logs are merged with each other. Each problem has its remedy; only --repair changes anything.
    """
    rows = given.call("verify_table", **arguments)
    found = [row for row in rows if row["problems"] or row["check"] == "file_groups"]
    return Result(found, as_fields=True, failed=any(row["problems"] for row in found))


def _rows(frame: DataFrame, columns: str | None, limit: int) -> Result:
    if columns is not None:
        frame = frame.select(*(name.strip() for name in columns.split(",")))
    rows = [row.asDict(recursive=True) for row in frame.limit(limit).collect()]
    return Result(rows, empty="no rows")


COMMANDS = (info, schema, history, slices, config, read, changes, explain, verify)
