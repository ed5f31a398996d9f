"""Services of a table beside its writers, and what changes its past: ``compact`` to ``repair``."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Any

import click

from merganser._calls import services
from merganser._shown import size
from merganser.cli._arguments import every_option, on_table, parameters, steps_option
from merganser.cli._run import Given, Result, Rows, steps
from merganser.errors import MerganserError


def _plans(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a service that is planned first."""
    function = click.option("--run", is_flag=True, help="Only run those that are planned.")(function)
    return click.option("--schedule", is_flag=True, help="Only plan one.")(function)


def _op(schedule: bool, run: bool) -> str:
    if schedule and run:
        raise click.UsageError("--schedule and --run exclude each other.")
    return "schedule" if schedule else "run" if run else "scheduleandexecute"


@on_table
@_plans
@steps_option
@parameters("run_compaction", "if_due")
@every_option
def compact(given: Given, schedule: bool, run: bool, dry_run: bool, if_due: bool, pause: int | None) -> Rows | Result:
    """Merge the logs of a merge-on-read table into its base files.

    Plans a compaction and runs all that are planned, beside writers. A plan that another process runs is left alone,
    and reported with its reason. For a copy-on-write table there is nothing to do.
    """
    op = _op(schedule, run)
    try:
        if dry_run:
            return given.steps("run_compaction")
        return given.call("run_compaction", op=op, if_due=if_due or pause is not None)
    except MerganserError as error:
        if error.condition != "COMPACTION_OF_COPY_ON_WRITE" or pause is not None:
            raise
        return Result([], empty="nothing to do: a copy-on-write table has no logs")


@on_table
@parameters("run_clustering", order="--order-by", order_strategy="--strategy", predicate="--where")
@_plans
@steps_option
@every_option
def cluster(
    given: Given, schedule: bool, run: bool, dry_run: bool, pause: int | None, **arguments: Any
) -> Rows | Result:
    """Rewrite small files as fewer ones with sorted rows. No row changes."""
    if dry_run:
        return given.steps("run_clustering", **arguments)
    return given.call("run_clustering", op=_op(schedule, run), **arguments)


@on_table
@parameters("run_clean", "dry_run", "retain_commits")
@every_option
def clean(given: Given, pause: int | None, **arguments: Any) -> Rows | Result:
    """Delete files of older file slices that no read inside the retention needs."""
    return given.call("run_clean", trigger_max_commits=None if pause is None else 1, **arguments)


@on_table
@parameters("archive_commits", "min_commits", "max_commits")
@steps_option
@every_option
def archive(given: Given, dry_run: bool, pause: int | None, **arguments: Any) -> Rows | Result:
    """Move old instants from the timeline to the table's history."""
    if dry_run:
        return given.steps("archive_commits", **arguments)
    done = given.call("archive_commits", **arguments)
    return done if pause is None else [row for row in done if row["instants_archived"]]


@on_table
@parameters("create_savepoint", commit_time="--instant", comments="--comment")
@click.option("--list", "listed", is_flag=True, help="Only list the savepoints.")
@click.option("--delete", metavar="INSTANT", help="Delete this savepoint instead.")
def savepoint(
    given: Given, commit_time: str | None, comments: str | None, listed: bool, delete: str | None
) -> Rows | Result:
    """Keep the table readable as of a write, until the savepoint is deleted."""
    if sum([listed, delete is not None, commit_time is not None]) > 1:
        raise click.UsageError("--instant, --list and --delete exclude each other.")
    if listed:
        return Result(given.call("show_savepoints"), empty="no savepoints")
    if delete is not None:
        return given.call("delete_savepoint", instant_time=delete)
    named = {"commit_time": commit_time, "comments": comments or "", "user": getpass.getuser()}
    return given.call("create_savepoint", **named)


@on_table
@parameters("restore_to_instant", instant_time="--to")
@click.option("--savepoint", metavar="INSTANT", help="Savepoint to restore; 'newest' is the newest.")
@parameters("restore_to_instant", "dry_run")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(given: Given, instant_time: str | None, savepoint: str | None, dry_run: bool, yes: bool) -> Rows | Result:
    """Take back all writes after a time, a commit or a savepoint, and delete their files.

    A time stands for the last write that had completed by then. The command first shows the write and what would be
    lost, and asks; without a terminal, --yes is needed.
    """
    if (instant_time is None) == (savepoint is None):
        raise click.UsageError("Give either --to or --savepoint.")
    call, instant = "restore_to_instant", instant_time
    if savepoint is not None:
        call, instant = "rollback_to_savepoint", None if savepoint == "newest" else savepoint
    if not dry_run and not yes:
        shown = given.call(call, instant_time=instant, dry_run=True)
        _confirm_loss(shown)
        instant = shown[0]["newest_commit"] or instant
    done = given.call(call, instant_time=instant, dry_run=dry_run)
    return Result(done, text=f"would be lost: {_loss(done)}" if dry_run else f"taken back: {_loss(done)}")


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


#: By what is repaired: the call, and what is shown where there is nothing.
_REPAIRS = {
    "duplicates": ("repair_deduplicate", "no key is stored twice"),
    "orphans": ("remove_orphan_files", "no orphan files"),
    "partitions": ("repair_add_partition_meta", "no partitions"),
    "properties": ("repair_properties", "nothing to restore"),
}


@on_table
@click.argument("what", metavar="WHAT", type=click.Choice(list(_REPAIRS)))
@click.option("--apply", is_flag=True, help="Repair; without it, only show what would be done.")
@parameters("repair_deduplicate", duplicated_partition_path="--partition")
def repair(given: Given, what: str, apply: bool, duplicated_partition_path: str | None) -> Rows | Result:
    """Show what needs repair in a table, and repair it with --apply.

    \b
    WHAT is one of
      duplicates   merge the rows of a key into one
      orphans      delete data files that no commit names
      partitions   add missing metadata files of partitions
      properties   restore lost or damaged table properties
    """
    if duplicated_partition_path is not None and what != "duplicates":
        raise click.UsageError("--partition is an option of 'repair TABLE duplicates'.")
    call, empty = _REPAIRS[what]
    rows = given.call(call, dry_run=not apply, duplicated_partition_path=duplicated_partition_path)
    return rows if what == "duplicates" else Result(rows, empty=empty)


@on_table
@click.argument("service", metavar="SERVICE", type=click.Choice(sorted(services())))
@parameters("dry_run_service", "instant")
def dry_run(given: Given, service: str, instant: str | None) -> Rows | Result:
    """List what a service of the table would do now: files, file groups, instants, properties."""
    return steps(given.call("dry_run_service", service=service, instant=instant))


dry_run.help = f"{dry_run.help}\n\nSERVICE is one of {', '.join(sorted(services()))}."

COMMANDS = (compact, clean, archive, cluster, savepoint, restore, repair, dry_run)
