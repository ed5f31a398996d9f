"""Services of a table beside its writers, and what changes its past: ``compact`` to ``repair``."""

from __future__ import annotations

import getpass
import sys
from typing import Any

import click
from pyspark.sql import SparkSession

from merganser._calls import services
from merganser._shown import size
from merganser.cli._arguments import POSITIVE, Given, every_option, on_table
from merganser.cli._run import Result, Rows, call
from merganser.errors import MerganserError


@click.command()
@on_table
@click.option("--schedule", is_flag=True, help="Only plan one.")
@click.option("--run", is_flag=True, help="Only run those that are planned.")
@click.option("--dry-run", is_flag=True, help="Change nothing, and list the file groups.")
@click.option("--if-due", is_flag=True, help="Plan one only if the table's trigger makes it due.")
@every_option
def compact(
    spark: SparkSession, given: Given, schedule: bool, run: bool, dry_run: bool, if_due: bool, every: int | None
) -> Rows | Result:
    """Merge the logs of a merge-on-read table into its base files.

    Plans a compaction and runs all that are planned, beside writers. A plan that another process runs is left alone,
    and reported with its reason. For a copy-on-write table there is nothing to do.
    """
    named = {"op": _op(schedule, run), "table": given.table, "if_due": (if_due or every is not None) or None}
    try:
        if dry_run:
            return _steps(spark, given, service="compaction")
        return call(spark, "run_compaction", named, given.options)
    except MerganserError as error:
        if error.condition != "COMPACTION_OF_COPY_ON_WRITE" or every is not None:
            raise
        return Result([], empty="nothing to do: a copy-on-write table has no logs")


@click.command()
@on_table
@click.option("--order-by", metavar="COLUMNS", help="Columns to sort by, comma separated.")
@click.option("--strategy", type=click.Choice(["linear", "z-order", "hilbert"]), help="How several columns are sorted.")
@click.option("--where", metavar="CONDITION", help="Condition on partition columns.")
@click.option("--schedule", is_flag=True, help="Only plan one.")
@click.option("--run", is_flag=True, help="Only run those that are planned.")
@click.option("--dry-run", is_flag=True, help="Change nothing, and list the file groups.")
@every_option
def cluster(
    spark: SparkSession,
    given: Given,
    order_by: str | None,
    strategy: str | None,
    where: str | None,
    schedule: bool,
    run: bool,
    dry_run: bool,
    every: int | None,
) -> Rows | Result:
    """Rewrite small files as fewer ones with sorted rows. No row changes."""
    columns = {"order": order_by, "order_strategy": strategy, "predicate": where}
    if dry_run:
        return _steps(spark, given, service="clustering", **columns)
    op = _op(schedule, run)
    named = {"table": given.table, "op": "execute" if op == "run" else op, **columns}
    return call(spark, "run_clustering", named, given.options)


@click.command()
@on_table
@click.option("--dry-run", is_flag=True, help="List the files that would be deleted.")
@click.option("--retain-commits", type=POSITIVE, metavar="N", help="Commits whose files stay readable.")
@every_option
def clean(
    spark: SparkSession, given: Given, dry_run: bool, retain_commits: int | None, every: int | None
) -> Rows | Result:
    """Delete files of older file slices that no read inside the retention needs."""
    named = {
        "table": given.table,
        "dry_run": dry_run or None,
        "retain_commits": retain_commits,
        "trigger_max_commits": None if every is None else 1,
    }
    return call(spark, "run_clean", named, given.options)


@click.command()
@on_table
@click.option("--min-commits", type=POSITIVE, metavar="N", help="Writes that remain on the timeline.")
@click.option("--max-commits", type=POSITIVE, metavar="N", help="Archive only if there are more than these.")
@click.option("--dry-run", is_flag=True, help="Change nothing, and list the instants.")
@every_option
def archive(
    spark: SparkSession,
    given: Given,
    min_commits: int | None,
    max_commits: int | None,
    dry_run: bool,
    every: int | None,
) -> Rows | Result:
    """Move old instants from the timeline to the table's history."""
    limits = {"min_commits": min_commits, "max_commits": max_commits}
    if dry_run:
        return _steps(spark, given, service="archiving", **limits)
    named = {"table": given.table, **limits}
    done = call(spark, "archive_commits", named, given.options)
    return done if every is None else [row for row in done if row["instants_archived"]]


@click.command()
@on_table
@click.option("--instant", metavar="TIME", help="Write to retain, or a time, as of restore; default: the newest.")
@click.option("--comment", default="", help="Why.")
@click.option("--list", "listed", is_flag=True, help="Only list the savepoints.")
@click.option("--delete", metavar="INSTANT", help="Delete this savepoint instead.")
def savepoint(
    spark: SparkSession, given: Given, instant: str | None, comment: str, listed: bool, delete: str | None
) -> Rows | Result:
    """Keep the table readable as of a write, until the savepoint is deleted."""
    if sum([listed, delete is not None, instant is not None]) > 1:
        raise click.UsageError("--instant, --list and --delete exclude each other.")
    if listed:
        rows = call(spark, "show_savepoints", {"table": given.table}, [])
        return Result(rows, grid=rows, empty="no savepoints")
    if delete is not None:
        return call(spark, "delete_savepoint", {"table": given.table, "instant_time": delete}, given.options)
    named = {"table": given.table, "commit_time": instant, "comments": comment, "user": getpass.getuser()}
    return call(spark, "create_savepoint", named, given.options)


@click.command()
@on_table
@click.option(
    "--to", metavar="TIME", help="Time to go back to: a date, '2026-01-31 12:00:00', or the instant of a write."
)
@click.option("--savepoint", metavar="INSTANT", help="Savepoint to restore; 'newest' is the newest.")
@click.option("--dry-run", is_flag=True, help="Only show what would be lost.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(
    spark: SparkSession, given: Given, to: str | None, savepoint: str | None, dry_run: bool, yes: bool
) -> Rows | Result:
    """Take back all writes after a time, a commit or a savepoint, and delete their files.

    A time stands for the last write that had completed by then. It is shown first, with what would be lost, and asked
    about; without a terminal --yes is needed.
    """
    if (to is None) == (savepoint is None):
        raise click.UsageError("Give either --to or --savepoint.")
    arguments: dict[str, Any]
    if to is not None:
        procedure, arguments = "restore_to_instant", {"table": given.table, "instant_time": to}
    else:
        instant = None if savepoint == "newest" else savepoint
        procedure, arguments = "rollback_to_savepoint", {"table": given.table, "instant_time": instant}
    if not dry_run and not yes:
        shown = call(spark, procedure, {**arguments, "dry_run": True}, given.options)
        _confirm_loss(shown)
        arguments["instant_time"] = shown[0]["newest_commit"] or arguments["instant_time"]
    done = call(spark, procedure, {**arguments, "dry_run": dry_run}, given.options)
    return Result(done, text=f"would be lost: {_loss(done)}" if dry_run else f"taken back: {_loss(done)}")


@click.command()
@on_table
@click.argument("what", metavar="WHAT", type=click.Choice(["duplicates", "orphans", "partitions", "properties"]))
@click.option("--apply", is_flag=True, help="Repair; without it, only show what would be done.")
@click.option("--partition", metavar="PATH", help="Of duplicates: the one partition to repair.")
def repair(spark: SparkSession, given: Given, what: str, apply: bool, partition: str | None) -> Rows | Result:
    """Show what is to be repaired in a table, and with --apply repair it.

    \b
    WHAT is one of
      duplicates   keys that are stored more than once are merged into one row
      orphans      data files that no commit names are deleted
      partitions   missing metadata files of partitions are added
      properties   lost or damaged properties of the table are restored
    """
    if partition is not None and what != "duplicates":
        raise click.UsageError("--partition is an option of 'repair TABLE duplicates'.")
    procedure, empty = {
        "duplicates": ("repair_deduplicate", "no key is stored twice"),
        "orphans": ("remove_orphan_files", "no orphan files"),
        "partitions": ("repair_add_partition_meta", "no partitions"),
        "properties": ("repair_properties", "nothing to restore"),
    }[what]
    # A table whose properties are lost is found by its path alone.
    place = {"path" if what == "properties" else "table": given.table}
    named = {**place, "dry_run": not apply, "duplicated_partition_path": partition}
    rows = call(spark, procedure, named, given.options)
    return Result(rows, grid=None if what == "duplicates" else rows, empty=empty)


@click.command("dry-run")
@on_table
@click.argument("service", metavar="SERVICE", type=click.Choice(sorted(services())))
@click.option(
    "--instant", metavar="TIME", help="Write of a savepoint, restore or rollback; or a time, of the first two."
)
def dry_run_service(spark: SparkSession, given: Given, service: str, instant: str | None) -> Rows | Result:
    """List what a service of the table would do now: files, file groups, instants, properties.

    SERVICE is compaction, log_compaction, clustering, clean, archiving, savepoint, delete_savepoint, restore,
    restore_savepoint, rollback, rollback_failed_writes, upgrade, repair_duplicates, repair_partitions,
    repair_properties or remove_orphans.
    """
    return _steps(spark, given, service=service, instant=instant)


def _steps(spark: SparkSession, given: Given, **named: Any) -> Result:
    rows = call(spark, "dry_run_service", {"table": given.table, **named}, given.options)
    return Result(rows, grid=rows, empty="nothing would be done")


def _op(schedule: bool, run: bool) -> str:
    if schedule and run:
        raise click.UsageError("--schedule and --run exclude each other.")
    return "schedule" if schedule else "run" if run else "scheduleandexecute"


def _confirm_loss(preview: Rows) -> None:
    if not preview[0]["taken_back"]:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"This would take back: {_loss(preview)}. Give --yes to do it.")
    click.confirm(f"This takes back: {_loss(preview)}. Go on?", abort=True, err=True)


def _loss(rows: Rows) -> str:
    row: dict[str, Any] = rows[0]
    counts = [f"{row[f'rows_{what}']} rows {what}" for what in ("inserted", "updated", "deleted")]
    files = f"{row['total_files_deleted']} files ({size(row['total_bytes_deleted'])}) deleted"
    lost = ", ".join([f"{row['commits_lost']} commits", *counts, files])
    return f"{lost}; newest write then: {_when(row['newest_commit'])}"


def _when(instant: str | None) -> str:
    """An instant with its time."""
    if instant is None:
        return "none"
    day, time = f"{instant[:4]}-{instant[4:6]}-{instant[6:8]}", f"{instant[8:10]}:{instant[10:12]}:{instant[12:14]}"
    return f"{instant} ({day} {time})"


COMMANDS = (compact, clean, archive, cluster, savepoint, restore, repair, dry_run_service)
