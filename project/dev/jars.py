"""The jars of the Spark lines, in the Python package, and whether they are those of the current sources."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

from dev.environment import Environment
from dev.layout import JARS, ROOT, STATE, identifier, spark_lines
from dev.lock import alone
from dev.process import say
from dev.sbt import sbt


def sources_stamp() -> str:
    """Changes when a jar built from the sources would."""
    digest = hashlib.sha256()
    files = [*ROOT.glob("jvm/*/src/main/**/*"), *ROOT.glob("tests/conformance/*/*.*a")]
    files += [*ROOT.glob("benchmarks/costs/**/*.java"), *ROOT.glob("project/*.*"), ROOT / "build.sbt"]
    for file in sorted(file for file in files if file.is_file()):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def other_jars(line: str) -> list[Path]:
    """Jars that users do not get: the mergers that the conformance cases use, and what `bench` counts with."""
    return [
        ROOT / "tests" / "conformance" / "jars" / f"merganser-conformance-spark-{line}.jar",
        ROOT / "benchmarks" / "jars" / f"merganser-costs-spark-{line}.jar",
    ]


def staged(line: str) -> bool:
    stamp = STATE / f"staged-{line}"
    jars = list(JARS.glob(f"merganser-spark-{line}_*.jar"))
    complete = len(jars) == 1 and all(jar.is_file() for jar in other_jars(line))
    return complete and stamp.is_file() and stamp.read_text() == sources_stamp()


def mark_staged(lines: Sequence[str]) -> None:
    """Record that the existing jars of these lines were built from the current sources."""
    for line in lines:
        (STATE / f"staged-{line}").write_text(sources_stamp())


def is_fresh(line: str, since: float) -> bool:
    """Whether the build has written the line's jars since that time, in seconds since the epoch."""
    jars = [*JARS.glob(f"merganser-spark-{line}_*.jar"), *other_jars(line)]
    return all(jar.is_file() and jar.stat().st_mtime >= since - 1 for jar in jars)


def build(environment: Environment, lines: Sequence[str], *others: Environment) -> None:
    """Build these lines' jars into the Python package, unless they are up to date."""
    if all(staged(line) for line in lines):
        return
    with alone("build"):
        missing = [line for line in lines if not staged(line)]
        if missing:
            say(f"Building the jar for Spark {', '.join(missing)} ...")
            sbt(environment, ["stage " + " ".join(identifier(line) for line in missing)], *others)
            mark_staged(missing)


def build_jars(options: argparse.Namespace, rest: list[str]) -> int:
    """build the jar of the default line, of one [--spark LINE] or of every line [--spark all]"""
    lines = list(spark_lines())
    chosen = lines if options.spark == "all" else [options.spark or lines[0]]
    environment = Environment(lines[0] if options.spark == "all" else chosen[0])
    build(environment, chosen)
    for line in chosen:
        say(f"Spark {line}: {next(JARS.glob(f'merganser-spark-{line}_*.jar')).relative_to(ROOT)}")
    return 0
