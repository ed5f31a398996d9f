"""The tests: ScalaTest by sbt, pytest in the environments."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, NamedTuple

from dev.class_archive import archive_classes, java_options
from dev.environment import Environment
from dev.jars import build, is_fresh, mark_staged, sources_stamp, staged
from dev.layout import CACHE, STATE, default_line, identifier, spark_lines
from dev.linting import lint_all_but_scala
from dev.newcomer import first_steps
from dev.process import Failed, Stop, nothing, remove, run, say
from dev.results import SLOWEST, Results, slowest_scalatests
from dev.sbt import sbt

HUDI_LINE = "3.5"  # the line of the Hudi bundle in the tests

DEFAULT, NEWEST = "default", "newest"  # lines; the newest one runs a quarter of the tests

# Folders of tests/python that take minutes, and all other tests, in the order of their start. Tests of stores and
# services wait for servers and other processes half of their time: they run beside sbt and the longest part, which
# compute. After these the longest are first, so that all end at about the same time; of the last ones, which are about
# as long, each is the last with another seed, so that a deadline leaves out others.
PARTS = (
    (DEFAULT, "interop"),
    (DEFAULT, "stores"),
    (DEFAULT, "services"),
    (DEFAULT, "others"),
    (NEWEST, "others"),
    (DEFAULT, "changes"),
    (DEFAULT, "rules"),
    (NEWEST, "sql"),
    (DEFAULT, "sql"),
    (NEWEST, "interop"),
)
TAKE_TURNS = 4  # of the parts, the last ones

#: Folders with first tests, in the order of their start: those that wait beside the longest part, then the longest
#: first. Tests of the other folders need another engine, a cluster, a server or a database.
FIRST = ("others", "services", "sql", "rules", "changes")

FOLDERS = [folder for line, folder in PARTS if line == DEFAULT]
NEWEST_FOLDERS = [folder for line, folder in PARTS if line == NEWEST]

# A statement on a small table leaves a core idle for a part of its time, so that two at a time do not fill two cores.
AT_ONCE = 3

NEWCOMER = "a newcomer's first steps, with the wheel alone"


@dataclass(frozen=True)
class Part:
    """Pytests of one Spark line that run in one process: those of a folder of tests/python, the others, or any."""

    environment: Environment
    folder: str = ""
    folders: Sequence[str] = ()  # of the line's parts
    end_to_end: bool = False
    variants: str = ""  # of the tests that have variants: some, others (conftest.py), or all of them
    first: bool = False  # without extensive tests

    @property
    def name(self) -> str:
        tests = "end-to-end tests" if self.end_to_end else "pytest"
        return f"{tests} on Spark {self.environment.line}, {self.folder}"

    @property
    def log(self) -> str:
        return "-".join(filter(None, ["pytest", self.environment.line, self.folder]))

    @property
    def report(self) -> Path:
        return STATE / f"{self.log}.xml"

    @property
    def selection(self) -> list[str]:
        """Arguments of pytest."""
        marked = ["-m", "e2e"] if self.end_to_end else []
        if self.folder != "others":
            return [*marked, f"tests/python/{self.folder}"]
        return [*marked, *(f"--ignore=tests/python/{folder}" for folder in self.folders if folder != "others")]


class Started(NamedTuple):
    """When a run has started, in seconds since the epoch, and the stamp of the sources then."""

    time: float
    sources: str


def test(options: argparse.Namespace, rest: list[str]) -> int:
    """set up, then lint and test [--all] [--spark LINE] [--full] [--seed N] [--minutes N] [--scala GLOB] [PYTEST ...]

    By default: lint, and on the default line ScalaTest and pytest without extensive tests: those that take long or
    need another engine, a cluster, a server or a database. Tests with variants run some of them. --all adds the
    extensive tests, all variants, compilation of the other lines, end-to-end tests on the newest line, and few of a
    newcomer's first steps with the wheel.

    Of the end-to-end tests that have variants, one type of table and a quarter or a half of the others run on the
    newest line, the rest on the default line; of those without, all run on the default line and half on the newest as
    well. Tests that are marked as sampled run with half of their variants. --spark runs all of it on one line only,
    --full the long versions of random tests, all points of faults, large tables and all end-to-end tests with all
    variants on both lines. Random tests draw the same cases in each run, and samples the same tests and variants; with
    --all those of the day: its date is the seed. --seed N draws others.
    --minutes N begins no pytest once that many minutes have passed; those that are left out are listed at the end.
    --scala '*Timeline*' runs only the ScalaTest suites of that name; arguments of pytest (a file, -k, -x) run only
    the pytests that they select.
    """
    if options.full:
        os.environ["MERGANSER_FULL"] = "1"
    if options.minutes is not None:
        os.environ["MERGANSER_DEADLINE"] = str(time.time() + 60 * options.minutes)
    complete = (options.everything or options.full) and not (options.scala or rest)
    if options.seed is not None:
        os.environ["MERGANSER_SEED"] = str(options.seed)
    elif complete:
        os.environ.setdefault("MERGANSER_SEED", time.strftime("%Y%m%d", time.gmtime()))
    say(f"Seed of random tests: {os.environ.get('MERGANSER_SEED', 'the fixed seeds')}")
    lines = list(spark_lines())
    results = Results()
    environment, *newest = set_up(
        [options.spark] if options.spark else [lines[0], *lines[-1:]] if complete else lines[:1]
    )
    line = environment.line
    if options.scala:
        only = [f"{module}{identifier(line)}/testOnly {options.scala}" for module in ("merge", "table", "spark")]
        results.step(f"ScalaTest on Spark {line}", lambda: run_scalatest(results, environment, only))
        if results.passed + results.failed == 0:
            raise Stop(f"No ScalaTest suite has a name like '{options.scala}'.")
    elif rest:
        build(environment, [line])
        results.step(f"pytest on Spark {line}", lambda: run_pytest(results, environment, rest))
    elif complete or options.spark:
        test_all(results, environment, newest)
    else:
        test_first(results, environment)
    return results.finish()


def set_up(lines: Sequence[str]) -> list[Environment]:
    """The environments of these lines; those that are not there yet are made at the same time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(Environment, lines))


def test_first(results: Results, environment: Environment) -> None:
    """Lint and the tests of one line that are not extensive."""
    number = identifier(environment.line)
    started = Started(time.time(), sources_stamp())
    commands = [f"stage {number}", "lint", f"spark{number}/Test/compile", f"tests {number}"]
    remove(STATE / f"staged-{environment.line}")  # not the jar: other commands may be reading it
    parts = [Part(environment, folder, FOLDERS, variants="others", first=True) for folder in FIRST]
    name = f"lint of Scala, ScalaTest on Spark {environment.line}"
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        scala = pool.submit(start_scalatest, environment, commands, properties=["-Dmerganser.tests=first"])
        lint_all_but_scala(results, environment)
        running = [(part, pool.submit(start_part, part, scala, started)) for part in parts]
        results.step(name, lambda: count_scalatest(results, scala.result), timed=False)
        count_parts(results, running)


def count_parts(results: Results, running: Sequence[tuple[Part, Future[None]]]) -> None:
    """Wait for parts of the pytests, and add their counts."""
    for part, tests in running:
        if isinstance(tests.exception(), NotBuilt):
            results.closing.append(f"{part.name}: not run, because the jar could not be built")
        else:
            results.step(part.name, functools.partial(count_pytest, results, part, tests.result), timed=False)


def test_all(results: Results, environment: Environment, newest: list[Environment]) -> None:
    """Lint and all tests of one line; with a newest one, also the other lines' compilation and its end-to-end tests."""
    line, staging = environment.line, [each.line for each in (environment, *newest)]
    started = Started(time.time(), sources_stamp())
    number = identifier(line)
    # The next commands do not run if a compilation fails.
    # The jars come first: pytest waits for them, and until then nothing else needs the second core.
    ahead = [f"table{identifier(each.line)}/compileAhead" for each in newest]
    commands = [" ".join(["all", f"spark{number}/compile", *ahead])]
    commands += [f"stage {' '.join(identifier(each) for each in staging)}", "lint"]
    commands.append(f"spark{number}/Test/compile")
    if line == default_line():
        commands += [f"bench{number}/compile", f"spark{number}/mimaReportBinaryIssues"]
    name = f"lint of Scala, ScalaTest on Spark {line}"
    if newest:
        # In parallel: the tests run in a separate process, which uses one core. The tests' sources are the same on
        # every line, so that of the lines with Scala 2.13 one compiles them.
        tasks = [f"{module}{number}/test" for module in ("merge", "table", "spark")]
        tasks += [f"spark{identifier(each.line)}/Test/compile" for each in newest]
        tasks += [f"spark{identifier(other)}/compile" for other in spark_lines() if other not in staging]
        commands.append(f"all {' '.join(tasks)}")
        name += ", compilation of the other lines"
    else:
        commands.append(f"tests {number}")
    # Only the stamps: other commands may be reading the jars, each of which the build replaces atomically.
    remove(*(STATE / f"staged-{each}" for each in staging))

    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        scala = pool.submit(start_scalatest, environment, commands, newest)
        lint_all_but_scala(results, environment)
        hudi_jar(Environment(HUDI_LINE))
        parts = parts_of(environment, newest)
        running = [(part, pool.submit(start_part, part, scala, started)) for part in parts[:-TAKE_TURNS]]
        newcomer = pool.submit(start_newcomer, environment, scala, started)
        running += [(part, pool.submit(start_part, part, scala, started)) for part in parts[-TAKE_TURNS:]]
        results.step(name, lambda: count_scalatest(results, scala.result), timed=False)
        count_parts(results, running)
        if isinstance(newcomer.exception(), NotBuilt):
            results.closing.append(f"{NEWCOMER}: not run, because the jar could not be built")
        else:
            results.step(NEWCOMER, newcomer.result, timed=False)


def parts_of(environment: Environment, newest: Sequence[Environment]) -> list[Part]:
    """The parts of the pytests, in the order of their start."""
    parts = []
    for line, folder in PARTS:
        if line == DEFAULT:
            parts.append(Part(environment, folder, FOLDERS, variants="others" if newest else ""))
        else:
            parts += [Part(each, folder, NEWEST_FOLDERS, end_to_end=True, variants="some") for each in newest]
    last = parts[-TAKE_TURNS:]
    turn = int(os.environ.get("MERGANSER_SEED", "0")) % len(last)
    return [*parts[:-TAKE_TURNS], *last[turn:], *last[:turn]]


class NotBuilt(Failed):
    """Tests did not run, because there is no jar of the current sources."""


def start_part(part: Part, scala: Future[tuple[str, float]], started: Started) -> None:
    """Run a part as soon as sbt, which goes on with other lines and ScalaTest, has written the jar of its line.

    Raises Failed if it could not run its tests, NotBuilt if sbt has not written the jar of the part's line.
    """
    await_jar(part.environment.line, scala, started)
    archive_classes(part.environment)
    start_pytest(part)


def await_jar(line: str, scala: Future[tuple[str, float]], started: Started) -> None:
    """Wait for the jar of a line; raises NotBuilt if sbt has ended without it."""
    while not is_fresh(line, started.time) and not scala.done():
        time.sleep(1)
    if not is_fresh(line, started.time):
        raise NotBuilt(line)
    if not staged(line):
        mark_staged([line], started.sources)


def start_newcomer(environment: Environment, scala: Future[tuple[str, float]], started: Started) -> str:
    """Take a newcomer's first steps with the wheel: what was left out, and the seconds that it took."""
    await_jar(environment.line, scala, started)
    say(f"{NEWCOMER} ...")
    start = time.monotonic()
    done = first_steps(environment, few=True)
    return f"{done}, in {time.monotonic() - start:.0f} s"


def run_scalatest(results: Results, environment: Environment, commands: Sequence[str]) -> str:
    """Run sbt's commands, which include tests."""
    return count_scalatest(results, lambda: start_scalatest(environment, commands))


def start_scalatest(
    environment: Environment,
    commands: Sequence[str],
    newest: Sequence[Environment] = (),
    properties: Sequence[str] = (),
) -> tuple[str, float]:
    """Run sbt's commands, which include tests: its output, and the seconds that it took."""
    start = time.monotonic()
    output = sbt(environment, commands, *newest, properties=properties)
    return output, time.monotonic() - start


def count_scalatest(results: Results, work: Callable[[], tuple[str, float]]) -> str:
    """Add the counts of ScalaTest once the work that returns its output has ended."""
    try:
        output, seconds = work()
    except Failed:
        results.scalatest((STATE / "sbt.log").read_text(errors="replace"))
        raise
    say("\n".join([f"The {SLOWEST} slowest of ScalaTest:", *slowest_scalatests(output)]))
    return f"{results.scalatest(output)}, in {seconds:.0f} s"


def run_pytest(results: Results, environment: Environment, arguments: Sequence[str]) -> str:
    """Run pytest in the line's environment: the tests that the arguments select, or all of tests/ without any."""
    part = Part(environment)
    return count_pytest(results, part, lambda: start_pytest(part, arguments))


def start_pytest(part: Part, arguments: Sequence[str] | None = None) -> None:
    """Run pytest, which writes its report; raises Failed if it could not run its tests.

    The output is deferred until the end, unless there are arguments: other parts run at the same time.
    """
    environment = part.environment
    variables = environment.variables(JDK_JAVA_OPTIONS=java_options(environment))
    if part.first:
        variables["MERGANSER_TESTS"] = "first"
    else:
        hudi = environment if environment.line == HUDI_LINE else Environment(HUDI_LINE)
        variables["MERGANSER_HUDI_JAR"] = str(hudi_jar(hudi))
        variables["MERGANSER_HUDI_PYTHON"] = str(hudi.python)
    if "MERGANSER_FULL" not in os.environ:
        variables["MERGANSER_VARIANTS"] = part.variants
    remove(part.report)
    color = "yes" if sys.stdout.isatty() else "no"
    options = [f"--color={color}", f"--junitxml={part.report}", f"--durations={SLOWEST}"]
    command = [environment.python, "-m", "pytest", *options, *(part.selection if arguments is None else arguments)]
    if arguments is None:
        say(f"{part.name} ...")
    run(command, part.log, environment=variables, allowed=(0, 1), deferred=arguments is None)


def count_pytest(results: Results, part: Part, work: Callable[[], None]) -> str:
    """Add the counts of pytest's report once the work that writes it has ended."""
    try:
        work()
    except Failed:
        if part.report.exists():
            results.pytest(part.report)
        raise
    return results.pytest(part.report)


def hudi_jar(environment: Environment) -> Path:
    """Hudi's own Spark bundle, for the interoperability tests; fetched once."""
    fetch = [environment.python, "tests/interop/hudi_jar.py", CACHE]
    output = run(fetch, "hudi-jar", environment=environment.variables(), show=nothing)
    return Path(output.splitlines()[-1])
