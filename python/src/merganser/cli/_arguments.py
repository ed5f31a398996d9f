"""Arguments that commands share, and those that are parameters of a call."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from merganser._calls import calls
from merganser.cli._run import Given, Request, Result, Rows, run

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _pair(text: str) -> tuple[str, str]:
    """A key and a value, as ``key=value``."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"'{text}' is not of the form KEY=VALUE")
    return key, value


def _pause(text: str) -> int:
    """A time such as ``60s``, ``5m``, ``1h`` or ``30``, in seconds."""
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if match is None or int(match[1]) == 0:
        raise click.BadParameter(f"'{text}' is not a time such as 60s, 5m or 1h")
    return int(match[1]) * _UNITS[match[2]]


POSITIVE = click.IntRange(min=1)

limit_option = click.option(
    "--limit", type=POSITIVE, default=20, show_default=True, metavar="N", help="Most rows to print."
)

every_option = click.option(
    "--every",
    "pause",
    type=_pause,
    metavar="TIME",
    help="Run again and again, with this pause, such as 60s, 5m or 1h, until the process is ended.",
)

steps_option = click.option("--dry-run", is_flag=True, help="Change nothing, and list what would be done.")

_PAIRS: dict[str, Any] = {"type": _pair, "metavar": "KEY=VALUE", "multiple": True}

SESSION: list[click.Parameter] = [
    click.Option(
        ["--master"], metavar="MASTER", help="Where Spark runs, such as local[2]; default: Spark's own configuration."
    ),
    click.Option(["--remote"], metavar="URL", help="A Spark Connect server, such as sc://localhost:15002."),
    click.Option(["--conf"], **_PAIRS, help="A setting of the Spark session; may be repeated."),
    click.Option(["--json"], is_flag=True, help="Print one line of JSON for each run."),
]

_OPTION = click.Option(
    ["--option", "options"], **_PAIRS, help="A setting of this command by its hoodie.* name; may be repeated."
)


def request_of(arguments: dict[str, Any]) -> Request:
    """Take the options of a session out of the arguments of a command."""
    master, remote, conf, json = (arguments.pop(one) for one in ("master", "remote", "conf", "json"))
    if master is not None and remote is not None:
        raise click.UsageError("--master and --remote exclude each other.")
    return Request(master, remote, dict(conf), json, arguments.get("pause"))


def on_table(function: Callable[..., Rows | Result]) -> click.Command:
    """Make a function of :class:`Given` and own arguments a command, with its name and its documentation.

    The command's first argument is the table; its last options are ``--option``, those of the session and ``--json``.
    It returns the exit code. Decorators of its own arguments are below this one.
    """

    @functools.wraps(function)
    def command(table: str, options: tuple[tuple[str, str], ...], **more: Any) -> int:
        request = request_of(more)
        return run(lambda spark: function(Given(spark, table, dict(options)), **more), request)

    made = click.command()(command)
    made.params = [click.Argument(["table"], metavar="TABLE"), *made.params, _OPTION, *SESSION]
    return made


def parameters(call: str, *names: str, **options: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options for parameters of a call, of their types, and with what they mean.

    Args:
        call: Its name.
        names: Parameters whose options have their names.
        options: Parameters whose options have other names, such as ``predicate="--where"``.
    """
    known = {one["name"]: one for one in calls()[call]["parameters"]}
    flags = {**{name: f"--{name.replace('_', '-')}" for name in names}, **options}

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, flag in reversed(flags.items()):
            function = click.option(flag, name, **_shape(known[name]))(function)
        return function

    return add


def _shape(parameter: dict[str, Any]) -> dict[str, Any]:
    """The type and the help of an option for a parameter."""
    doc = parameter["doc"].removeprefix("true: ")
    sentence = doc[:1].upper() + doc[1:]
    if parameter["type"] == "BOOLEAN":
        return {"is_flag": True, "help": f"{sentence}."}
    default = "" if parameter["default"] is None else f"; default: {parameter['default']}"
    number = {"type": POSITIVE, "metavar": "N"} if parameter["type"] == "INT" else {}
    return {**number, "help": f"{sentence}{default}."}
