"""The package as users get it: a wheel and a source distribution."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Sequence
from pathlib import Path

from dev.environment import Environment
from dev.jars import build
from dev.layout import PACKAGE, ROOT, SOURCE_DATE_EPOCH, default_line, release_version, spark_lines
from dev.process import Stop, nothing, run, say
from dev.publishing import jar_of

DIST = ROOT / "dist"


def wheel(options: argparse.Namespace, rest: list[str]) -> int:
    """build the wheel and the source distribution into dist/, with the jars of every line or of one [--spark LINE]"""
    lines = [options.spark] if options.spark else list(spark_lines())
    environment = Environment(lines[0])
    build_wheel(environment, lines, DIST)
    for built in sorted(DIST.glob(f"merganser-{release_version()}*")):
        say(f"{built.relative_to(ROOT)}  {built.stat().st_size / 1e6:.1f} MB")
    return 0


def build_wheel(environment: Environment, lines: Sequence[str], folder: Path, *, sdist: bool = True) -> Path:
    """Build the wheel, from a source distribution or without one, with the jars of some lines; return it."""
    build(environment, lines)
    return pack(environment, lines, folder, sdist=sdist)


def pack(
    environment: Environment, lines: Sequence[str], folder: Path, *, sdist: bool = True, package: Path = PACKAGE
) -> Path:
    """Build the wheel of a package whose jars are built, and return it; equal sources result in equal bytes."""
    uv = [environment.python, "-m", "uv", "build", "--quiet", "--out-dir", folder]
    uv += ["--build-constraints", package / "build-constraints.txt"]
    run(
        [*uv, *([] if sdist else ["--wheel"]), package],
        "wheel",
        environment=environment.variables(MERGANSER_WHEEL_LINES=",".join(lines), SOURCE_DATE_EPOCH=SOURCE_DATE_EPOCH),
        show=nothing,
    )
    (built,) = folder.glob(f"merganser-{release_version()}-*.whl")
    check_contents(built, lines)
    return built


def check_contents(built: Path, lines: Sequence[str]) -> None:
    """Stop unless a wheel has the jar of each line, the licence and the types."""
    names = zipfile.ZipFile(built).namelist()
    wanted = {f"a jar for Spark {line}": f"merganser/jars/merganser-spark-{line}_" for line in lines}
    wanted |= {
        "the licence": f"merganser-{release_version()}.dist-info/licenses/LICENSE",
        "the notice": f"merganser-{release_version()}.dist-info/licenses/NOTICE",
        "types": "merganser/py.typed",
    }
    missing = [what for what, start in wanted.items() if sum(name.startswith(start) for name in names) != 1]
    if missing:
        raise Stop(f"{built.name} is without {', '.join(missing)}.")


def sbt_in(options: argparse.Namespace, rest: list[str]) -> int:
    """run the project's sbt, in another folder too, such as the custom-merger example [--in FOLDER] COMMAND ..."""
    from dev.sbt import sbt

    line = options.spark or default_line()
    environment = Environment(line)
    build(environment, [line])
    folder = Path(options.folder).resolve() if options.folder else ROOT
    if not (folder / "build.sbt").is_file():
        raise Stop(f"There is no build.sbt in {folder}.")
    sbt(environment, rest, folder=folder, properties=[f"-Dmerganser.jar={jar_of(line)}"])
    return 0
