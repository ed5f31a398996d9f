"""Runs a command: starts the session, prints the rows, and repeats it if requested."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from merganser._bridge import steps_of
from merganser._progress import progress
from merganser.errors import MerganserError
from merganser.session import session

Rows = list[dict[str, Any]]

_LONGEST_PAUSE_S = 600

#: Only results are printed.
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}


def run(arguments: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Run a command until it is done, or again and again if it has ``--every``; return the exit code."""
    try:
        with _session(arguments) as spark, _ended() as end:
            rows = _repeat(spark, arguments, out, err, end)
    except (MerganserError, PySparkException) as error:
        _print_error(error, arguments, out, err)
        return 1
    except KeyboardInterrupt:
        return 0 if _every(arguments) else 130
    fails: Callable[[Rows], bool] | None = getattr(arguments, "fails", None)
    return 1 if fails is not None and fails(rows) else 0


def call(spark: SparkSession, procedure: str, arguments: Mapping[str, Any], options: list[tuple[str, str]]) -> Rows:
    """The rows of a CALL, by the procedure's names of columns; arguments that are ``None`` are left out."""
    named = [f"{name} => {literal(value)}" for name, value in arguments.items() if value is not None]
    if options:
        pairs = ", ".join(literal(text) for pair in options for text in pair)
        named.append(f"options => map({pairs})")
    with progress(spark.sparkContext, procedure, steps_of(spark)):
        rows = spark.sql(f"CALL {procedure}({', '.join(named)})").collect()
    return [row.asDict(recursive=True) for row in rows]


def literal(value: object) -> str:
    """A value as a literal of SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


def _repeat(spark: SparkSession, arguments: argparse.Namespace, out: TextIO, err: TextIO, end: threading.Event) -> Rows:
    """Return the rows of the last run.

    The first run's error ends it: the arguments may be wrong. Later ones are reported, and it goes on.
    """
    command: Callable[[SparkSession, argparse.Namespace], Rows] = arguments.command
    every = _every(arguments)
    failures = 0
    is_first = True
    rows: Rows = []
    while not end.is_set():
        try:
            rows = command(spark, arguments)
            _print(rows, arguments, out, quiet=every is not None)
            failures = 0
        except (MerganserError, PySparkException) as error:
            if is_first or end.is_set():
                raise
            failures += 1
            _print_error(error, arguments, out, err)
        is_first = False
        if every is None:
            break
        end.wait(min(every * 2**failures, max(every, _LONGEST_PAUSE_S)))
    return rows


def _every(arguments: argparse.Namespace) -> int | None:
    every: int | None = getattr(arguments, "every", None)
    return every


@contextmanager
def _session(arguments: argparse.Namespace) -> Iterator[SparkSession]:
    """A session of this command; one that runs already is used, and goes on afterwards."""
    running = pyspark.SparkContext._active_spark_context
    quiet = _QUIET if running is None else {}
    spark = session("merganser", master=arguments.master, config={**quiet, **dict(arguments.conf)})
    try:
        yield spark
    finally:
        if running is None:
            spark.stop()


@contextmanager
def _ended() -> Iterator[threading.Event]:
    """An event that is set by SIGTERM; what runs then is finished first."""
    end = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield end
        return
    before = signal.signal(signal.SIGTERM, lambda *_: end.set())
    try:
        yield end
    finally:
        signal.signal(signal.SIGTERM, before)


def _print(rows: Rows, arguments: argparse.Namespace, out: TextIO, *, quiet: bool) -> None:
    """Print rows as one line of JSON, or as lines of names and values; ``quiet`` prints nothing if there are none."""
    if arguments.json:
        if rows or not quiet:
            print(json.dumps(rows, default=str), file=out)
    elif rows:
        for row in rows:
            shown = {name: value for name, value in row.items() if value is not None}
            width = max(map(len, shown), default=0)
            for name, value in shown.items():
                print(f"{name:<{width}}  {value}", file=out)
            print(file=out)
    elif not quiet:
        print("nothing to do", file=out)
    out.flush()


def _print_error(error: Exception, arguments: argparse.Namespace, out: TextIO, err: TextIO) -> None:
    condition = error.condition if isinstance(error, MerganserError) else type(error).__name__
    if arguments.json:
        print(json.dumps({"error": condition, "message": str(error)}), file=out, flush=True)
    print(f"merganser: {error}", file=err, flush=True)
