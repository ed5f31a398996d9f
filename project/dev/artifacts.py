"""All that users get of a version, in one folder: the package, the jars for a Maven repository, what describes them."""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from dev.environment import Environment
from dev.layout import ROOT, STATE, identifier, release_version, spark_lines
from dev.packaging import DIST, pack
from dev.process import Stop, remove, say
from dev.public_api import documentation
from dev.publishing import GROUP, jar_of, jar_of_documentation, publish
from dev.sbom import wheel_bom
from dev.sbt import sbt

RELEASE = DIST / "release"


def artifacts(options: argparse.Namespace, rest: list[str]) -> int:
    """build all that users get into dist/release/: wheel, jars for Maven, SBOMs, checksums [--spark LINE]

    With the same Java, the same commit results in the same bytes. notes.md is the version's section of CHANGELOG.md.
    """
    lines = [options.spark] if options.spark else list(spark_lines())
    environment = Environment(lines[0])
    remove(RELEASE)
    RELEASE.mkdir(parents=True)
    (RELEASE / "notes.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(), release_version()))
    build_jars_with_sources(environment, lines)
    publish_all(environment, lines, RELEASE / "maven")
    wheel = pack(environment, lines, RELEASE / "python")
    remove(wheel.with_name(".gitignore"))
    wheel.with_name(f"merganser-{release_version()}.cdx.json").write_text(wheel_bom(wheel, GROUP))
    for line in checksums(RELEASE):
        say(line)
    return 0


def build_jars_with_sources(environment: Environment, lines: Sequence[str]) -> None:
    """Build the jars that users get and those of their sources, and no others."""
    projects = [f"spark{identifier(line)}" for line in lines]
    say(f"Building the jars for Spark {', '.join(lines)} ...")
    sources = " ".join(f"{project}/Compile/packageSrc" for project in projects)
    sbt(environment, [*(f"{project}/stageJar" for project in projects), f"all {sources}"])


def publish_all(environment: Environment, lines: Sequence[str], repository: Path) -> None:
    """Put the jars of some lines into a repository, with sources and the Scaladoc of what users compile against."""
    scaladoc, folder = STATE / "scaladoc.jar", STATE / "scaladoc"
    remove(folder)
    documentation(environment, jar_of(lines[0]), folder)
    jar_of_documentation(folder, scaladoc)
    for line in lines:
        jar = jar_of(line)
        sources = ROOT / "jvm" / ".lines" / identifier(line) / f"{jar.stem}-sources.jar"
        publish(jar, spark_lines()[line], repository, {"sources": sources, "javadoc": scaladoc})


def checksums(folder: Path) -> list[str]:
    """Write the SHA-256 of every file of a folder into SHA256SUMS, as sha256sum does; return its lines."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix not in (".md5", ".sha1"))
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder).as_posix()}" for file in files
    ]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    return lines


def notes(changelog: str, version: str) -> str:
    """The section of a version, which is the text of its tag."""
    found = re.search(rf"^## {re.escape(version)} \(.*?(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise Stop(f"CHANGELOG.md has no section {version}.")
    return found[0].removeprefix("## ").strip() + "\n"
