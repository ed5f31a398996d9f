"""Jars from Maven Central by their coordinates, each checked by its SHA-256: for tests, benchmarks and examples.

They are fetched with the Ivy that pyspark ships, or with Maven where that fails. Ivy gets the system properties of
SBT_FLAGS, such as those of a proxy; Maven reads its own settings, with their mirrors.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


@dataclass(frozen=True)
class Jar:
    """A jar by its coordinates, and the checksum of the file we know."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


class JarError(RuntimeError):
    """A jar could not be fetched, or is not the file we know."""


def listed(file: Path) -> list[Jar]:
    """The jars of a list, which has a line of ``group:artifact:version sha256`` for each."""
    jars = []
    for line in file.read_text().splitlines():
        group, artifact, version, checksum = line.replace(":", " ").split()
        jars.append(Jar(group, artifact, version, checksum))
    return jars


def fetch_all(cache_dir: str | os.PathLike[str], wanted: Sequence[Jar]) -> list[Path]:
    """Paths of jars in ``cache_dir``, of which those that are missing are downloaded together.

    Raises:
        JarError: No pyspark in this Python, no Java, the download failed, or a checksum differs.
    """
    cache = Path(cache_dir).resolve()
    jars = [cache / each.name for each in wanted]
    missing = [each for each, jar in zip(wanted, jars) if not jar.is_file() or _sha256(jar) != each.sha256]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _download(Path(folder), cache, missing)
            for each in missing:
                downloaded = Path(folder) / each.name
                found = _sha256(downloaded)
                if found != each.sha256:
                    raise JarError(
                        f"Refused {each.name}: its SHA-256 is {found}, expected {each.sha256}. "
                        "Check the repository or mirror that it was downloaded from."
                    )
                downloaded.replace(cache / each.name)
    return jars


def _download(folder: Path, cache: Path, wanted: Sequence[Jar]) -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise JarError(
            f"Cannot fetch {', '.join(each.name for each in wanted)}: no 'java' on the PATH. Install Java 17."
        )
    module = folder / "ivy.xml"
    dependencies = "\n".join(
        f'<dependency org="{each.group}" name="{each.artifact}" rev="{each.version}" conf="default->master"/>'
        for each in wanted
    )
    module.write_text(
        '<ivy-module version="2.0"><info organisation="tests" module="tests"/>'
        f'<configurations><conf name="default"/></configurations>\n<dependencies>{dependencies}</dependencies>'
        "</ivy-module>"
    )
    properties = [flag for flag in os.environ.get("SBT_FLAGS", "").split() if flag.startswith("-D")]
    ivy = [
        java, *properties, "-jar", str(_ivy()), "-ivy", str(module), "-cache", str(cache / "ivy"),
        "-confs", "default", "-types", "jar", "bundle", "maven-plugin",
        "-retrieve", str(folder / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    output = _run(ivy)
    missing = [each for each in wanted if not (folder / each.name).is_file()]
    maven = shutil.which("mvn")
    for each in missing if maven else []:
        options = [f"-Dartifact={each.coordinates}", f"-DoutputDirectory={folder}", "-Dtransitive=false"]
        output += _run([str(maven), "-q", "-B", COPY, *options])
    missing = [each for each in missing if not (folder / each.name).is_file()]
    if missing:
        raise JarError(
            f"Cannot fetch {', '.join(each.coordinates for each in missing)}, with Ivy or with Maven. "
            f"The last lines of their output:\n{output[-2000:]}"
        )


def _run(command: Sequence[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def _ivy() -> Path:
    pyspark = find_spec("pyspark")
    folders = list(pyspark.submodule_search_locations or []) if pyspark else []
    jars = sorted(ivy for folder in folders for ivy in Path(folder, "jars").glob("ivy-*.jar"))
    if not jars:
        raise JarError(
            f"Cannot fetch jars: {sys.executable} has no pyspark with an Ivy jar. "
            "Run this with the Python of the project's environment."
        )
    return jars[-1]


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
