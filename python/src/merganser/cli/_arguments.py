"""Arguments that commands share, and the types of their values."""

from __future__ import annotations

import argparse
import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def add_shared(command: argparse.ArgumentParser) -> None:
    """Add the table, the output and the session's settings to a command."""
    command.add_argument("table", metavar="TABLE", help="path of the table, or its name in the session's catalogs")
    command.add_argument("--json", action="store_true", help="print one line of JSON for each run")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="a setting of this command by its hoodie.* name; may be repeated",
    )
    command.add_argument("--master", help="where Spark runs, such as local[2]; default: Spark's own configuration")
    command.add_argument(
        "--conf",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="a setting of the Spark session; may be repeated",
    )


def add_every(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--every",
        type=seconds,
        metavar="TIME",
        help="run again and again, with this pause, such as 60s, 5m or 1h, until the process is ended",
    )


def pair(text: str) -> tuple[str, str]:
    """A key and a value, as ``key=value``."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form KEY=VALUE")
    return key, value


def seconds(text: str) -> int:
    """A time such as ``60s``, ``5m``, ``1h`` or ``30``, in seconds."""
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 60s, 5m or 1h")
    return int(match[1]) * _UNITS[match[2]]


def positive(text: str) -> int:
    """An integer of 1 or more."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer of 1 or more")
    return int(text)
