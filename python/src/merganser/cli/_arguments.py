"""Arguments that commands share, and the types of their values."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from pyspark.sql import SparkSession

from merganser.cli._run import Request, Result, Rows, run

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Pair(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic since click 8.2
    """A key and a value, as ``key=value``."""

    name = "KEY=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        key, equals, text = str(value).partition("=")
        if not key or not equals:
            self.fail(f"'{value}' is not of the form KEY=VALUE", param, ctx)
        return key, text


class Pause(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic since click 8.2
    """A time such as ``60s``, ``5m``, ``1h`` or ``30``, in seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+)([smhd]?)", str(value))
        if match is None or int(match[1]) == 0:
            self.fail(f"'{value}' is not a time such as 60s, 5m or 1h", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


POSITIVE = click.IntRange(min=1)

Command = Callable[..., "Rows | Result"]

table_argument = click.argument("table", metavar="TABLE")

limit_option = click.option(
    "--limit", type=POSITIVE, default=20, show_default=True, metavar="N", help="Most rows to print."
)


class Every(click.Option):
    """The pause after which a command runs again. By its class, as a command may have a parameter of its name."""


every_option = click.option(
    "--every",
    cls=Every,
    type=Pause(),
    help="Run again and again, with this pause, such as 60s, 5m or 1h, until the process is ended.",
)

_SESSION = (
    click.option(
        "--master", metavar="MASTER", help="Where Spark runs, such as local[2]; default: Spark's own configuration."
    ),
    click.option("--remote", metavar="URL", help="A Spark Connect server, such as sc://localhost:15002."),
    click.option("--conf", "conf", type=Pair(), multiple=True, help="A setting of the Spark session; may be repeated."),
    click.option("--json", "json", is_flag=True, help="Print one line of JSON for each run."),
)

_OPTION = click.option(
    "--option",
    "options",
    type=Pair(),
    multiple=True,
    help="A setting of this command by its hoodie.* name; may be repeated.",
)


@dataclass(frozen=True)
class Given:
    """What a command is given: the table, and its settings by their ``hoodie.*`` names."""

    table: str
    options: list[tuple[str, str]]


def session_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the session and of the output."""
    for option in reversed(_SESSION):
        function = option(function)
    return function


def on_table(function: Command) -> Callable[..., Any]:
    """Make a function of session, :class:`Given` and own arguments one of a command line.

    It gets the table as its first argument, ``--option``, the session's options and ``--json`` as its last options, and
    returns the exit code. Decorators of its own arguments are below this one.
    """

    own: list[click.Parameter] = getattr(function, "__click_params__", [])
    pause = next((one.name for one in own if isinstance(one, Every)), None)

    @functools.wraps(function)
    def command(
        table: str,
        options: tuple[tuple[str, str], ...],
        master: str | None,
        remote: str | None,
        conf: tuple[tuple[str, str], ...],
        json: bool,
        **more: Any,
    ) -> int:
        if master is not None and remote is not None:
            raise click.UsageError("--master and --remote exclude each other.")
        given = Given(table, list(options))
        request = Request(master, remote, dict(conf), json, None if pause is None else more[pause])

        def answer(spark: SparkSession) -> Rows | Result:
            return function(spark, given, **more)

        return run(answer, request)

    command.__click_params__ = []  # type: ignore[attr-defined]
    _OPTION(session_options(command))
    command.__click_params__ += own  # type: ignore[attr-defined]
    return table_argument(command)
