"""The tests: ScalaTest by sbt, pytest in the environments."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

from dev.environment import Environment
from dev.jars import build, is_fresh, mark_staged, staged
from dev.layout import CACHE, STATE, default_line, identifier, spark_lines
from dev.linting import lint_python
from dev.process import Failed, Stop, nothing, remove, run, say
from dev.results import SLOWEST, Results, slowest_scalatests
from dev.sbt import sbt

HUDI_LINE = "3.5"  # the line of the Hudi bundle in the tests


def test(options: argparse.Namespace, rest: list[str]) -> int:
    """set up, then lint and test everything [--spark LINE] [--full] [--seed N] [--scala 'GLOB'] [PYTEST ARGUMENTS]

    By default: lint, ScalaTest and pytest on the default line, compilation of the other lines, and the end-to-end
    tests on the newest line, there with one type of table each. --spark runs all of it on one line only, --full the
    long versions of random tests and large tables, and on the newest line both types of tables. Random tests draw the
    same cases in each run; --seed N draws others, such as those of the day with --seed $(date +%Y%m%d).
    --scala '*Timeline*' runs only the ScalaTest suites of that name; arguments of pytest (a file, -k, -x) run only
    the pytests that they select.
    """
    if options.full:
        os.environ["MERGANSER_FULL"] = "1"
    if options.seed is not None:
        os.environ["MERGANSER_SEED"] = str(options.seed)
    say(f"Seed of random tests: {os.environ.get('MERGANSER_SEED', 'the fixed seeds')}")
    lines = list(spark_lines())
    results = Results()
    environment = Environment(options.spark or lines[0])
    line = environment.line
    if options.scala:
        only = [f"{module}{identifier(line)}/testOnly {options.scala}" for module in ("merge", "table", "spark")]
        results.step(f"ScalaTest on Spark {line}", lambda: run_scalatest(results, environment, only))
        if results.passed + results.failed == 0:
            raise Stop(f"No ScalaTest suite has a name like '{options.scala}'.")
    elif rest:
        build(environment, [line])
        results.step(f"pytest on Spark {line}", lambda: run_pytest(results, environment, rest))
    else:
        test_all(results, environment, [] if options.spark else [Environment(lines[-1])])
    return results.finish()


def test_all(results: Results, environment: Environment, newest: list[Environment]) -> None:
    """Lint and all tests of one line; with a newest one, also the other lines' compilation and its end-to-end tests."""
    line, staging = environment.line, [each.line for each in (environment, *newest)]
    started = time.time()
    number = identifier(line)
    compiled = [f"spark{number}/Test/compile"]  # the next commands do not run if this one fails
    if line == default_line():
        compiled.append(f"bench{number}/compile")
    commands = ["lint", *compiled, f"stage {' '.join(identifier(each) for each in staging)}"]
    name = f"lint of Scala, ScalaTest on Spark {line}"
    if newest:
        # In parallel: the tests run in a separate process, which uses one core.
        others = [identifier(other) for other in spark_lines() if other != line]
        tasks = [f"{module}{number}/test" for module in ("merge", "table", "spark")]
        tasks += [f"spark{other}/Test/compile" for other in others]
        commands.append(f"all {' '.join(tasks)}")
        name += ", compilation of the other lines"
    else:
        commands.append(f"tests {number}")
    # Only the stamps: other commands may be reading the jars, each of which the build replaces atomically.
    remove(*(STATE / f"staged-{each}" for each in staging))

    results.step("lint of Python", lambda: lint_python(environment))
    results.step(name, lambda: run_scalatest(results, environment, commands, newest))
    mark_staged([each for each in staging if is_fresh(each, started)])
    # In parallel: a statement on a small table uses less than one core.
    hudi_jar(Environment(HUDI_LINE))
    with ThreadPoolExecutor() as pool:
        running = []
        for each in (environment, *newest):
            name = f"{'end-to-end tests' if each in newest else 'pytest'} on Spark {each.line}"
            if staged(each.line):
                arguments = ["-m", "e2e"] if each in newest else []
                running.append((name, each, pool.submit(start_pytest, each, arguments, newest=each in newest)))
            else:
                results.closing.append(f"{name}: not run, because the jar could not be built")
        for name, each, tests in running:
            results.step(name, functools.partial(count_pytest, results, each, tests.result))


def run_scalatest(
    results: Results, environment: Environment, commands: Sequence[str], newest: Sequence[Environment] = ()
) -> str:
    """Run sbt's commands, which include lint and tests."""
    try:
        output = sbt(environment, commands, *newest)
        closing = results.scalatest(output)
    except Failed:
        results.scalatest((STATE / "sbt.log").read_text(errors="replace"))
        raise
    say("\n".join([f"The {SLOWEST} slowest of ScalaTest:", *slowest_scalatests(output)]))
    return closing


def run_pytest(results: Results, environment: Environment, arguments: Sequence[str]) -> str:
    """Run pytest in the line's environment: the tests that the arguments select, or all of tests/ without any."""
    return count_pytest(results, environment, lambda: start_pytest(environment, arguments))


def start_pytest(environment: Environment, arguments: Sequence[str], *, newest: bool = False) -> None:
    """Run pytest, which writes its report; raises Failed if it could not run its tests.

    On the newest line, which runs at the same time as another one, its output is deferred until it ends.
    """
    hudi = environment if environment.line == HUDI_LINE else Environment(HUDI_LINE)
    variables = environment.variables(MERGANSER_HUDI_JAR=str(hudi_jar(hudi)), MERGANSER_HUDI_PYTHON=str(hudi.python))
    if newest and "MERGANSER_FULL" not in os.environ:
        variables["MERGANSER_KINDS"] = "one"
    report = pytest_report(environment)
    remove(report)
    color = "yes" if sys.stdout.isatty() else "no"
    options = [f"--color={color}", f"--junitxml={report}", f"--durations={SLOWEST}"]
    command = [environment.python, "-m", "pytest", *options, *arguments]
    run(command, f"pytest-{environment.line}", environment=variables, allowed=(0, 1), deferred=newest)


def count_pytest(results: Results, environment: Environment, work: Callable[[], None]) -> str:
    """Add the counts of pytest's report once the work that writes it has ended."""
    report = pytest_report(environment)
    try:
        work()
    except Failed:
        if report.exists():
            results.pytest(report)
        raise
    return results.pytest(report)


def pytest_report(environment: Environment) -> Path:
    return STATE / f"pytest-{environment.line}.xml"


def hudi_jar(environment: Environment) -> Path:
    """Hudi's own Spark bundle, for the interoperability tests; fetched once."""
    fetch = [environment.python, "tests/interop/hudi_jar.py", CACHE]
    output = run(fetch, "hudi-jar", environment=environment.variables(), show=nothing)
    return Path(output.splitlines()[-1])
