"""Formatting and types of the sources."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dev import english, naming
from dev.environment import Environment
from dev.layout import ROOT, default_line
from dev.process import Failed, run, say, tried
from dev.results import Results
from dev.sbt import sbt


def lint(options: argparse.Namespace, rest: list[str]) -> int:
    """check formatting, types, English and names of tests: scalafmt, ruff, mypy, project/dev/english.py, naming.py"""
    environment = Environment(default_line())
    results = Results()
    lint_all_but_scala(results, environment)
    results.step("lint of Scala", lambda: sbt(environment, ["lint"]) and None)
    say("\n" + "\n".join(results.closing))
    return 1 if results.failed else 0


def fmt(options: argparse.Namespace, rest: list[str]) -> int:
    """format every source: scalafmt, ruff"""
    environment = Environment(default_line())
    ruff = environment.home / "bin" / "ruff"
    run([ruff, "check", "--quiet", "--fix-only", "."], "fmt")
    run([ruff, "format", "."], "fmt")
    sbt(environment, ["format"])
    return 0


def lint_all_but_scala(results: Results, environment: Environment) -> None:
    """The checks that need no sbt, a step each."""
    results.step("lint of Python", lambda: lint_python(environment))
    results.step("lint of English", lambda: require_none(english.findings(ROOT), "lint of English"))
    results.step("lint of test names", lambda: require_none(naming.findings(ROOT), "lint of test names"))


def lint_python(environment: Environment) -> None:
    """Check what `fmt` formats, Python in the pages too, and the types of the package and of the commands."""
    tools = environment.home / "bin"
    typed = ["dev", "project/dev", "python/src/merganser"]
    failed = False
    for name, command in (
        ("ruff-check", [tools / "ruff", "check", "."]),
        ("ruff-format", [tools / "ruff", "format", "--check", "."]),
        ("mypy", [tools / "mypy", "--config-file", "python/pyproject.toml", *typed]),
    ):
        failed = not tried(command, name, show=None) or failed
    if failed:
        say("`./dev fmt` fixes formatting.")
        raise Failed("lint")


def require_none(findings: Iterator[str], step: str) -> None:
    """Print the findings; raises Failed if there are any."""
    if found := list(findings):
        say("\n".join(found))
        raise Failed(step)
