"""Services of a table beside its writers: ``compact``, ``clean`` and ``archive``."""

from __future__ import annotations

import argparse
from typing import Any

from pyspark.sql import SparkSession

from merganser.cli._arguments import add_every, add_shared, positive
from merganser.cli._run import Rows, call

#: Services that have a dry run.
SERVICES = (
    "compaction",
    "log_compaction",
    "clustering",
    "clean",
    "archiving",
    "savepoint",
    "delete_savepoint",
    "restore",
    "restore_savepoint",
    "rollback",
    "rollback_failed_writes",
    "upgrade",
    "repair_duplicates",
    "repair_partitions",
    "repair_properties",
    "remove_orphans",
)


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of ``argparse``."""
    compact = commands.add_parser(
        "compact",
        help="merge the logs of a merge-on-read table into its base files",
        description="Plan a compaction and run all that are planned, beside writers. A plan that another process runs "
        "is left alone, and reported with its reason.",
    )
    add_shared(compact)
    what = compact.add_mutually_exclusive_group()
    what.add_argument("--schedule", action="store_true", help="only plan one")
    what.add_argument("--run", action="store_true", help="only run those that are planned")
    what.add_argument("--dry-run", action="store_true", help="change nothing, and list the file slices")
    compact.add_argument("--if-due", action="store_true", help="plan one only if the table's trigger makes it due")
    add_every(compact)
    compact.set_defaults(command=_compact)

    clean = commands.add_parser(
        "clean",
        help="delete files that no read inside the retention needs",
        description="Delete the files of older file slices that the table's policy does not retain.",
    )
    add_shared(clean)
    clean.add_argument("--dry-run", action="store_true", help="change nothing, and list the files")
    clean.add_argument("--retain-commits", type=positive, metavar="N", help="instead of hoodie.clean.commits.retained")
    add_every(clean)
    clean.set_defaults(command=_clean)

    archive = commands.add_parser(
        "archive",
        help="move old instants from the timeline to its history",
        description="Move the oldest instants of a long timeline to the table's history.",
    )
    add_shared(archive)
    archive.add_argument("--dry-run", action="store_true", help="change nothing, and list the instants")
    archive.add_argument("--min-commits", type=positive, metavar="N", help="completed writes that stay; default 20")
    archive.add_argument("--max-commits", type=positive, metavar="N", help="above which others move; default 30")
    add_every(archive)
    archive.set_defaults(command=_archive)

    dry_run = commands.add_parser(
        "dry-run",
        help="list what a service would do now",
        description="List what a service of the table would do now: files, file groups, instants, properties. Nothing "
        "is changed.",
    )
    dry_run.add_argument("service", metavar="SERVICE", choices=SERVICES, help=", ".join(SERVICES))
    add_shared(dry_run)
    dry_run.add_argument("--instant", help="of a savepoint, a restore or a rollback: requested time of the write")
    dry_run.set_defaults(command=_dry_run)


def _dry_run(spark: SparkSession, arguments: argparse.Namespace) -> Rows:
    named = {"service": arguments.service, "table": arguments.table, "instant": arguments.instant}
    return call(spark, "dry_run_service", named, arguments.option)


def _compact(spark: SparkSession, arguments: argparse.Namespace) -> Rows:
    if arguments.dry_run:
        return call(spark, "dry_run_service", {"service": "compaction", "table": arguments.table}, arguments.option)
    op = "schedule" if arguments.schedule else "run" if arguments.run else "scheduleandexecute"
    due = arguments.if_due or arguments.every is not None
    named = {"op": op, "table": arguments.table, "if_due": due or None}
    return call(spark, "run_compaction", named, arguments.option)


def _clean(spark: SparkSession, arguments: argparse.Namespace) -> Rows:
    named = {
        "table": arguments.table,
        "dry_run": arguments.dry_run or None,
        "retain_commits": arguments.retain_commits,
        "trigger_max_commits": None if arguments.every is None else 1,
    }
    return call(spark, "run_clean", named, arguments.option)


def _archive(spark: SparkSession, arguments: argparse.Namespace) -> Rows:
    named = {"table": arguments.table, "min_commits": arguments.min_commits, "max_commits": arguments.max_commits}
    if arguments.dry_run:
        return call(spark, "dry_run_service", {"service": "archiving", **named}, arguments.option)
    done = call(spark, "archive_commits", named, arguments.option)
    return done if arguments.every is None else [row for row in done if row["instants_archived"]]
