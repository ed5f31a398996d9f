"""Questions about a table: ``verify``."""

from __future__ import annotations

import argparse
from typing import Any

from pyspark.sql import SparkSession

from merganser.cli._arguments import add_shared, positive
from merganser.cli._run import Rows, call


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of ``argparse``."""
    verify = commands.add_parser(
        "verify",
        help="look for what is wrong with a table; exit code 1 if there is anything",
        description="Compare a table's files with its commits, the rows of its file groups with their files, and the "
        "paths on which logs are merged with each other. Nothing is changed; each problem has its remedy.",
    )
    add_shared(verify)
    verify.add_argument(
        "--sample", type=positive, metavar="N", help="most file groups whose rows are read; default 1000"
    )
    verify.set_defaults(command=_verify, fails=_has_problems)


def _verify(spark: SparkSession, arguments: argparse.Namespace) -> Rows:
    named = {"table": arguments.table, "sample": arguments.sample}
    rows = call(spark, "verify_table", named, arguments.option)
    return [row for row in rows if row["problems"] or row["check"] == "file_groups"]


def _has_problems(rows: Rows) -> bool:
    return any(row["problems"] for row in rows)
