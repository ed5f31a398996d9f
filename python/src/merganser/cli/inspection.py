"""Questions about a table, which change nothing: ``info`` to ``verify``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession

from merganser._shown import size
from merganser.cli._arguments import POSITIVE, Given, limit_option, on_table
from merganser.cli._run import Result, Rows, call
from merganser.table import Table

#: Columns of a table's history that a terminal has the width for.
_HISTORY = ("instant", "operation", "state", "inserted", "updated", "deleted", "late", "duplicates", "appended")


@click.command()
@on_table
def info(spark: SparkSession, given: Given) -> Rows | Result:
    """Show what a table is: type, keys, merge rule, size, newest commit."""
    table = Table.load(spark, given.table)
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
    shown = {name: value for name, value in found.items() if value != []}
    shown |= {name: size(found[name]) for name in ("base_bytes", "log_bytes")}
    return Result([found], text="\n".join(_lines(shown)))


@click.command()
@on_table
def schema(spark: SparkSession, given: Given) -> Rows | Result:
    """List the columns of a table, without the meta columns."""
    fields = Table.load(spark, given.table).schema.fields
    rows = [
        {
            "column": field.name,
            "type": field.dataType.simpleString(),
            "nullable": field.nullable,
            "comment": field.metadata.get("comment"),
        }
        for field in fields
    ]
    return Result(rows, grid=rows)


@click.command()
@on_table
@limit_option
@click.option("--archived", is_flag=True, help="List also what was moved from the timeline to the history.")
def history(spark: SparkSession, given: Given, limit: int, archived: bool) -> Rows | Result:
    """List what was done to a table, newest first: writes, services, savepoints, what is pending."""
    entries = Table.load(spark, given.table).history(limit, archived=archived)
    rows = [asdict(entry) for entry in entries]
    grid = [
        {
            **{name: row[name] for name in _HISTORY},
            "operation": entry.operation or entry.action,
            "files": entry.files if entry.files is not None else entry.files_deleted,
            "bytes": None if entry.bytes_written is None else size(entry.bytes_written),
            "seconds": None if entry.elapsed_ms is None else entry.elapsed_ms / 1000,
            "user": entry.user,
            "comment": entry.comment,
        }
        for entry, row in zip(entries, rows)
    ]
    return Result(rows, grid=grid, empty="nothing was done to the table")


@click.command()
@on_table
def slices(spark: SparkSession, given: Given) -> Rows | Result:
    """List the newest file slice of every file group, with its logs."""
    found = Table.load(spark, given.table).inspect.file_slices()
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
    return Result([asdict(one) for one in found], grid=grid, empty="no file slices")


@click.command()
@on_table
@click.option("--all", "defaults", is_flag=True, help="List also settings that have their defaults.")
@click.option("--stored", is_flag=True, help="List what the table's hoodie.properties has instead.")
def config(spark: SparkSession, given: Given, defaults: bool, stored: bool) -> Rows | Result:
    """List the settings that hold for writes of a table, with their sources; contradictions first.

    The settings of --option and --conf are those of the write.
    """
    if stored and defaults:
        raise click.UsageError("--all and --stored exclude each other.")
    table = Table.load(spark, given.table)
    if stored:
        rows: Rows = [{"property": name, "value": value} for name, value in table.properties.items()]
        return Result(rows, grid=rows)
    found = table.inspect.merge_config(options=dict(given.options))
    order = [*found.conflicts, *(one for one in (found if defaults else found.changed) if one.conflict is None)]
    grid = [
        {"setting": one.setting, "value": one.value, "source": one.source, "conflict": one.conflict} for one in order
    ]
    return Result(found.to_dicts(), grid=grid, empty="only defaults")


@click.command()
@on_table
@click.option("--columns", metavar="NAMES", help="Columns to read, comma separated; also meta columns.")
@click.option("--where", metavar="CONDITION", help="Condition in SQL.")
@click.option("--as-of", metavar="TIME", help="Time to read as of: an instant, a date, or '2026-01-31 12:00:00'.")
@click.option("--read-optimized", is_flag=True, help="Read base files alone, without the rows of logs.")
@limit_option
def read(
    spark: SparkSession,
    given: Given,
    columns: str | None,
    where: str | None,
    as_of: str | None,
    read_optimized: bool,
    limit: int,
) -> Rows | Result:
    """Print rows of a table, in no order."""
    rows = Table.load(spark, given.table).df(as_of=as_of, read_optimized=read_optimized)
    return _rows(rows if where is None else rows.where(where), columns, limit)


@click.command()
@on_table
@click.option("--since", metavar="TIME", help="Changes of commits that completed later; default: all.")
@click.option("--until", metavar="TIME", help="Changes of commits that completed up to this time; default: all.")
@click.option("--data", is_flag=True, help="What each commit changed, with the row before and after.")
@click.option("--columns", metavar="NAMES", help="Columns to print, comma separated; also meta columns.")
@limit_option
def changes(
    spark: SparkSession,
    given: Given,
    since: str | None,
    until: str | None,
    data: bool,
    columns: str | None,
    limit: int,
) -> Rows | Result:
    """Print the rows that changed in a window of time, each once, as it was at its end."""
    table = Table.load(spark, given.table)
    found = table.change_data(since, until=until) if data else table.changes(since, until=until)
    return _rows(found, columns, limit)


@click.command()
@on_table
@click.argument("key", metavar="KEY")
@click.option("--partition", metavar="PATH", help="The one partition to search.")
def explain(spark: SparkSession, given: Given, key: str, partition: str | None) -> Rows | Result:
    """Show the retained versions of one key, what became of each, and why.

    KEY is the value of the one key column, or JSON of several: '{"id": 1, "region": "eu"}'.
    """
    try:
        parsed: Any = json.loads(key) if key[:1] in ("{", "[") else key
    except json.JSONDecodeError as error:
        raise click.UsageError(f"KEY begins like JSON and is none ({error}): {key}") from None
    wanted = tuple(parsed) if isinstance(parsed, list) else parsed
    found = Table.load(spark, given.table).inspect.explain(wanted, partition=partition, options=dict(given.options))
    return Result(found.to_dict(), text=found.to_string(), failed=not found.found)


@click.command()
@on_table
@click.option("--sample", type=POSITIVE, metavar="N", help="Most file groups whose rows are read; default: 1000.")
@click.option(
    "--repair", is_flag=True, help="First repair partition metadata, keys in several places and uncommitted files."
)
def verify(spark: SparkSession, given: Given, sample: int | None, repair: bool) -> Rows | Result:
    """Look for what is wrong with a table; exit code 1 if there is anything.

    Compares a table's files with its commits, the rows of its file groups with their files, and the paths on which
    logs are merged with each other. Each problem has its remedy; only --repair changes anything.
    """
    named = {"table": given.table, "sample": sample, "repair": repair or None}
    rows = call(spark, "verify_table", named, given.options)
    found = [row for row in rows if row["problems"] or row["check"] == "file_groups"]
    return Result(found, failed=any(row["problems"] for row in found))


def _rows(frame: DataFrame, columns: str | None, limit: int) -> Result:
    if columns is not None:
        frame = frame.select(*(name.strip() for name in columns.split(",")))
    rows = [row.asDict(recursive=True) for row in frame.limit(limit).collect()]
    return Result(rows, grid=rows, empty="no rows")


def _lines(values: dict[str, Any]) -> list[str]:
    from merganser.cli._output import shown

    present = {name: value for name, value in values.items() if value is not None}
    width = max(map(len, present))
    return [f"{name:<{width}}  {shown(value)}" for name, value in present.items()]


COMMANDS = (info, schema, history, slices, config, read, changes, explain, verify)
