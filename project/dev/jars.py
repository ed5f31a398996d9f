"""The jars of the Spark lines, in the Python package, and whether they are those of the current sources."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import tempfile
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


def mark_staged(lines: Sequence[str], sources: str | None = None) -> None:
    """Record that the existing jars of these lines were built from the current sources, and keep copies.

    Args:
        lines: The Spark lines.
        sources: Stamp of the sources when the build began. If they have changed since, the jars are of neither state:
            nothing is recorded, and the next command builds them again.
    """
    stamp = sources_stamp()
    if sources in (None, stamp):
        for line in lines:
            (STATE / f"staged-{line}").write_text(stamp)
            keep(line, stamp)


def keep(line: str, stamp: str) -> None:
    """Copy the jars of a line to where all clones find them. Threads and other clones may do the same meanwhile."""
    folder = KEPT / f"{stamp}-{line}"
    if folder.is_dir():
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="jars-", dir=KEPT.parent) as place:
        copies = Path(place) / "jars"
        copies.mkdir()
        for jar in (*JARS.glob(f"merganser-spark-{line}_*.jar"), *other_jars(line)):
            shutil.copy(jar, copies)
        with contextlib.suppress(OSError):  # others have kept them meanwhile
            copies.rename(folder)
    for old in sorted(KEPT.iterdir(), key=_modified)[:-MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _modified(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):  # others have removed it meanwhile
        return path.stat().st_mtime
    return 0.0


def restore(line: str) -> bool:
    """Put the kept jars of the current sources in their places, if there are any."""
    stamp = sources_stamp()
    folder = KEPT / f"{stamp}-{line}"
    others = {jar.name: jar for jar in other_jars(line)}
    kept = sorted(folder.glob("*.jar"))
    if len(kept) != len(others) + 1:
        return False
    try:
        os.utime(folder)  # other clones remove older ones first
        places = [_replaced(jar, others.get(jar.name, JARS / jar.name)) for jar in kept]
    except FileNotFoundError:  # another clone has removed them meanwhile
        return False
    remove(*(jar for jar in JARS.glob(f"merganser-spark-{line}_*.jar") if jar not in places))
    mark_staged([line], stamp)
    return staged(line)


def _replaced(jar: Path, place: Path) -> Path:
    """Copy a jar to its place in one step: a program that has the old one open goes on reading that."""
    place.parent.mkdir(parents=True, exist_ok=True)
    copy = place.with_name(f".{place.name}.new")
    shutil.copy(jar, copy)
    return copy.replace(place)


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
        remove(*(STATE / f"staged-{line}" for line in missing))  # of jars that are replaced now
        missing = [line for line in missing if not restore(line)]
        if missing:
            say(f"Building the jar for Spark {', '.join(missing)} ...")
            sources = sources_stamp()
            sbt(environment, ["stage " + " ".join(identifier(line) for line in missing)], *others)
            mark_staged(missing, sources)


def build_jars(options: argparse.Namespace, rest: list[str]) -> int:
    """build the jar of the default line, of one [--spark LINE] or of every line [--spark all]"""
    lines = list(spark_lines())
    chosen = lines if options.spark == "all" else [options.spark or lines[0]]
    environment = Environment(lines[0] if options.spark == "all" else chosen[0])
    build(environment, chosen)
    for line in chosen:
        say(f"Spark {line}: {next(JARS.glob(f'merganser-spark-{line}_*.jar')).relative_to(ROOT)}")
    return 0
