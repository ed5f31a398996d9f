"""The jars of the Spark lines, in the Python package, and whether they are those of the current sources."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from dev.environment import Environment
from dev.layout import CACHE, JARS, ROOT, STATE, identifier, spark_lines
from dev.lock import alone
from dev.process import remove, say
from dev.sbt import sbt

#: The jars that were built last, by the hash of their sources: another clone of the same commit does not compile.
KEPT = CACHE / "jars"
MOST_KEPT = 12


def sources_stamp() -> str:
    """Changes when a jar built from the sources would."""
    digest = hashlib.sha256()
    files = [*ROOT.glob("jvm/*/src/main/**/*"), *ROOT.glob("tests/conformance/*/*.*a")]
    files += [*ROOT.glob("benchmarks/costs/**/*.java"), *ROOT.glob("project/*.*")]
    files += [ROOT / "build.sbt", ROOT / "LICENSE", ROOT / "NOTICE"]
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
    """Record that the existing jars of these lines were built from the current sources, and keep copies."""
    for line in lines:
        (STATE / f"staged-{line}").write_text(sources_stamp())
        keep(line)


def keep(line: str) -> None:
    folder = KEPT / f"{sources_stamp()}-{line}"
    if folder.is_dir():
        return
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    for jar in (*JARS.glob(f"merganser-spark-{line}_*.jar"), *other_jars(line)):
        shutil.copy(jar, unfinished)
    try:
        unfinished.rename(folder)
    except OSError:  # another clone has kept them meanwhile
        shutil.rmtree(unfinished)
    for old in sorted(KEPT.iterdir(), key=lambda kept: kept.stat().st_mtime)[:-MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def restore(line: str) -> bool:
    """Put the kept jars of the current sources in their places, if there are any."""
    kept = sorted((KEPT / f"{sources_stamp()}-{line}").glob("*.jar"))
    others = {jar.name: jar for jar in other_jars(line)}
    if len(kept) != len(others) + 1:
        return False
    for old in JARS.glob(f"merganser-spark-{line}_*.jar"):
        remove(old)
    for jar in kept:
        place = others.get(jar.name, JARS / jar.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(jar, place)
    os.utime(kept[0].parent)
    mark_staged([line])
    return True


def is_fresh(line: str, since: float) -> bool:
    """Whether the build has written the line's jars since that time, in seconds since the epoch."""
    jars = [*JARS.glob(f"merganser-spark-{line}_*.jar"), *other_jars(line)]
    return all(jar.is_file() and jar.stat().st_mtime >= since - 1 for jar in jars)


def build(environment: Environment, lines: Sequence[str], *others: Environment) -> None:
    """Build these lines' jars into the Python package, unless they are up to date."""
    if all(staged(line) for line in lines):
        return
    with alone("build"):
        missing = [line for line in lines if not staged(line) and not restore(line)]
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
