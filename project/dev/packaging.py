"""The package as users get it: a wheel and a source distribution, and the jars under Maven coordinates."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from dev.environment import Environment
from dev.jars import build
from dev.layout import JARS, ROOT, default_line, release_version, spark_lines
from dev.process import Stop, nothing, run, say

DIST = ROOT / "dist"
GROUP = "io.merganser"


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
    uv = [environment.python, "-m", "uv", "build", "--quiet", "--out-dir", folder]
    run(
        [*uv, *([] if sdist else ["--wheel"]), ROOT / "python"],
        "wheel",
        environment=environment.variables(MERGANSER_WHEEL_LINES=",".join(lines)),
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
        "types": "merganser/py.typed",
    }
    missing = [what for what, start in wanted.items() if sum(name.startswith(start) for name in names) != 1]
    if missing:
        raise Stop(f"{built.name} is without {', '.join(missing)}.")


def publish_local(options: argparse.Namespace, rest: list[str]) -> int:
    """put the jars into a local Maven repository [--spark LINE] [--to FOLDER], by default ~/.m2/repository

    `spark-submit --packages io.merganser:merganser-spark-3.5_2.12:VERSION` finds them in ~/.m2/repository; in another
    folder with `--repositories file:///FOLDER`.
    """
    lines = [options.spark] if options.spark else list(spark_lines())
    build(Environment(lines[0]), lines)
    repository = Path(options.to).resolve() if options.to else Path.home() / ".m2" / "repository"
    for line in lines:
        (jar,) = JARS.glob(f"merganser-spark-{line}_*.jar")
        say(publish(jar, spark_lines()[line], repository))
    say(f"in {repository}")
    return 0


def publish(jar: Path, spark_version: str, repository: Path) -> str:
    """Copy a jar with its POM and checksums into a repository, and return its coordinates."""
    artifact, _, version = jar.stem.rpartition("-")
    folder = repository.joinpath(*GROUP.split("."), artifact, version)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{artifact}-{version}.pom").write_text(pom(artifact, version, spark_version))
    shutil.copyfile(jar, folder / jar.name)
    for file in [folder / f"{artifact}-{version}.pom", folder / jar.name]:
        file.with_name(f"{file.name}.sha1").write_text(hashlib.sha1(file.read_bytes()).hexdigest())
    return f"{GROUP}:{artifact}:{version}"


def pom(artifact: str, version: str, spark_version: str) -> str:
    """The description of a jar. It depends on Spark alone, which is there where the jar is used."""
    scala = artifact.rpartition("_")[2]
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{escape(artifact)}</artifactId>
  <version>{escape(version)}</version>
  <packaging>jar</packaging>
  <name>Merganser for Spark {escape(spark_version.rpartition(".")[0])}</name>
  <description>Merges late, repeated and deleted changes into lake tables on Spark</description>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <distribution>repo</distribution>
    </license>
  </licenses>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId>
      <artifactId>spark-sql_{scala}</artifactId>
      <version>{escape(spark_version)}</version>
      <scope>provided</scope>
    </dependency>
  </dependencies>
</project>
"""


def sbt_in(options: argparse.Namespace, rest: list[str]) -> int:
    """run the project's sbt, in another folder too, such as the custom-merger example [--in FOLDER] COMMAND ..."""
    from dev.sbt import sbt

    line = options.spark or default_line()
    environment = Environment(line)
    build(environment, [line])
    (jar,) = JARS.glob(f"merganser-spark-{line}_*.jar")
    folder = Path(options.folder).resolve() if options.folder else ROOT
    if not (folder / "build.sbt").is_file():
        raise Stop(f"There is no build.sbt in {folder}.")
    sbt(environment, rest, folder=folder, properties=[f"-Dmerganser.jar={jar}"])
    return 0
