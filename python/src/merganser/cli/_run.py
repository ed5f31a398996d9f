"""Runs a command: starts the session, prints what it returns, and repeats it if requested."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, Union

import pyspark
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from merganser._calls import calls
from merganser._transport import transport_for
from merganser.cli._output import print_fields, print_grid, print_json, print_text
from merganser.errors import MerganserError
from merganser.session import session
from merganser.table import Table

Rows = list[dict[str, Any]]

_LONGEST_PAUSE_S = 600
_SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"

#: Only results are printed.
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}

#: What a command reports in a sentence instead of a traceback.
_REPORTED = (MerganserError, PySparkException, ValueError, TypeError, OSError)


@dataclass(frozen=True)
class Request:
    """Where and how a command runs."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    json: bool = False
    every: float | None = None
    """Pause between two runs, in seconds; ``None`` runs once."""


@dataclass(frozen=True)
class Given:
    """What a command is given: the session, the table's name or path, and settings by their ``hoodie.*`` names."""

    spark: SparkSession
    name: str
    options: Mapping[str, str]

    @property
    def table(self) -> Table:
        return Table.load(self.spark, self.name)

    def call(self, call: str, **arguments: Any) -> Rows:
        """The rows of a call for the table, by the call's columns; arguments that are ``None`` are left out."""
        takes_options = any(one["name"] == "options" for one in calls()[call]["parameters"])
        # A table whose properties are lost is found by its path alone.
        place = {"path" if call == "repair_properties" else "table": self.name}
        return transport_for(self.spark).rows(call, self.options if takes_options else None, **place, **arguments)

    def steps(self, call: str, **arguments: Any) -> Result:
        """What a call of a service would do, with those of its arguments that its dry run has."""
        dry_run = calls()[call]["dry_run"]
        taken = {name: value for name, value in arguments.items() if name in dry_run["parameters"]}
        return steps(self.call("dry_run_service", service=dry_run["service"], **taken))


@dataclass(frozen=True)
class Result:
    """What a command returns; plain rows are those of a result that is printed as lines of names and values."""

    rows: Any
    """The value printed with ``--json``: rows, or another value that JSON has."""
    grid: Rows | None = None
    """Rows to show on a terminal; ``None``: the same."""
    as_fields: bool = False
    """Whether each row is shown as lines of names and values; else they are a table."""
    text: str | None = None
    """Text to show on a terminal instead."""
    failed: bool = False
    """Whether the exit code is 1."""
    empty: str = "nothing to do"
    """What to show where there are no rows."""


Answer = Callable[[SparkSession], Union[Rows, Result]]


def steps(rows: Rows) -> Result:
    """The steps of a dry run."""
    return Result(rows, empty="nothing would be done")


def run(answer: Answer, request: Request) -> int:
    """Run a command until it is done, or again and again if it has ``--every``; return the exit code."""
    out, err = sys.stdout, sys.stderr
    try:
        with open_session(request) as spark, _ended() as end:
            result = repeat(spark, answer, request, out, err, end)
    except _REPORTED as error:
        _print_error(error, request, out, err)
        return 1
    except KeyboardInterrupt:
        return 0 if request.every is not None else 130
    return 1 if isinstance(result, Result) and result.failed else 0


def repeat(
    spark: SparkSession,
    answer: Answer,
    request: Request,
    out: TextIO,
    err: TextIO,
    end: threading.Event,
) -> Rows | Result:
    """Return the result of the last run.

    The first run's error ends it: the arguments may be wrong. Later ones are reported, and it goes on.
    """
    failures = 0
    is_first = True
    result: Rows | Result = []
    while not end.is_set():
        try:
            result = answer(spark)
            _print(result, request, out)
            failures = 0
        except _REPORTED as error:
            if is_first or end.is_set():
                raise
            failures += 1
            _print_error(error, request, out, err)
        is_first = False
        if request.every is None:
            break
        end.wait(min(request.every * 2**failures, max(request.every, _LONGEST_PAUSE_S)))
    return result


@contextmanager
def open_session(request: Request) -> Iterator[SparkSession]:
    """A session of this command; one that runs already is used, and goes on afterwards."""
    if request.remote is not None:
        yield SparkSession.builder.remote(request.remote).config(map=dict(request.conf)).getOrCreate()
        return
    if pyspark.SparkContext._active_spark_context is not None:
        yield session("merganser", master=request.master, config=request.conf)
        return
    if sys.stderr.isatty():
        print("Starting Spark, about 5 s ...", file=sys.stderr, flush=True)
    with _quiet_log(request.conf):
        spark = session("merganser", master=request.master, config={**_QUIET, **request.conf})
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _quiet_log(conf: Mapping[str, str]) -> Iterator[None]:
    """Start the JVM with this package's configuration of the log, unless there is another one."""
    before = os.environ.get(_SUBMIT_OPTIONS)
    home: str = _find_spark_home()  # type: ignore[no-untyped-call, unused-ignore]
    folder = Path(os.environ.get("SPARK_CONF_DIR") or f"{home}/conf")
    configured = [before, os.environ.get("JAVA_TOOL_OPTIONS"), *conf.values()]
    if any("log4j" in (text or "") for text in configured) or any(folder.glob("log4j*")):
        yield
        return
    file = Path(__file__).with_name("log4j2.properties").resolve().as_uri()
    os.environ[_SUBMIT_OPTIONS] = f"{before or ''} -Dlog4j2.configurationFile={file}"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SUBMIT_OPTIONS]
        else:
            os.environ[_SUBMIT_OPTIONS] = before


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


def _print(result: Rows | Result, request: Request, out: TextIO) -> None:
    """Print a result. With ``--every`` nothing is printed for runs without rows."""
    found = result if isinstance(result, Result) else Result(result, as_fields=True)
    if not found.rows and request.every is not None:
        return
    if request.json:
        print_json(found.rows, out)
    elif found.text is not None or not found.rows:
        print_text(found.empty if found.text is None else found.text, out)
    else:
        show = print_fields if found.as_fields else print_grid
        show(found.rows if found.grid is None else found.grid, out)
    out.flush()


def _print_error(error: Exception, request: Request, out: TextIO, err: TextIO) -> None:
    condition = error.condition if isinstance(error, MerganserError) else type(error).__name__
    if request.json:
        print_json({"error": condition, "message": str(error)}, out)
    sentence = str(error).partition(";\n'")[0].replace("Table.history()", "merganser history")  # without Spark's plan
    print(f"merganser: {sentence}", file=err, flush=True)
