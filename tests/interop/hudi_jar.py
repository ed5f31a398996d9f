"""Where the tests get the jars of Hudi and of other formats from: Maven Central, by the Ivy that pyspark ships.

As a program: ``python tests/interop/hudi_jar.py CACHE_DIR`` prints the path of the verified jar.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path


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


HUDI = Jar(
    "org.apache.hudi",
    "hudi-spark3.5-bundle_2.12",
    "1.2.0",
    "cc79fba00822f3a6c3a860df99375c2e3d4a034d037dbf4213a4966a706a7676",
)

#: Releases whose classes users have, by version: for the tests of --full.
OLDER = {
    version: replace(HUDI, version=version, sha256=sha256)
    for version, sha256 in (
        ("0.15.0", "aab6ecdb5c65fcd20406b980b31ccec294fae95693de947d5778f0b3fb4e302a"),
        ("1.0.2", "2c2ab65a11e91265e4b7346f954448c46df52d66fb72f52dad83767b621deae8"),
        ("1.1.1", "5470908f0d26897fb6e0768790e6c75e3d05d2fa013f7d81c8f90c74056d1604"),
    )
}


class HudiJarError(RuntimeError):
    """A jar could not be fetched, or is not the file we know."""


def fetch(cache_dir: str | os.PathLike[str], wanted: Jar = HUDI) -> Path:
    """Path of a jar in ``cache_dir``, downloaded first if it is not there yet (the Hudi bundle has about 80 MB).

    Raises:
        HudiJarError: No pyspark in this Python, no Java, the download failed, or the checksum differs.
    """
    return fetch_all(cache_dir, [wanted])[0]


def fetch_all(cache_dir: str | os.PathLike[str], wanted: Sequence[Jar]) -> list[Path]:
    """Paths of several jars, of which those that are missing are downloaded together.

    Raises:
        HudiJarError: As :func:`fetch`.
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
                    raise HudiJarError(
                        f"Refused {each.name}: its SHA-256 is {found}, expected {each.sha256}. "
                        "Check the repository or mirror that Ivy downloads from."
                    )
                downloaded.replace(cache / each.name)
    return jars


def _download(folder: Path, cache: Path, wanted: Sequence[Jar]) -> None:
    names = ", ".join(each.name for each in wanted)
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise HudiJarError(f"Cannot fetch {names}: no 'java' on the PATH. Install Java 17.")
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
    command = [
        java, "-jar", str(_ivy()), "-ivy", str(module), "-cache", str(cache / "ivy"),
        "-confs", "default", "-types", "jar",
        "-retrieve", str(folder / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0 or not all((folder / each.name).is_file() for each in wanted):
        coordinates = ", ".join(f"{each.group}:{each.artifact}:{each.version}" for each in wanted)
        raise HudiJarError(
            f"Cannot fetch {coordinates}: Ivy ended with {run.returncode}. Its last lines:\n{run.stdout[-2000:]}"
        )


def _ivy() -> Path:
    pyspark = find_spec("pyspark")
    folders = list(pyspark.submodule_search_locations or []) if pyspark else []
    jars = sorted(ivy for folder in folders for ivy in Path(folder, "jars").glob("ivy-*.jar"))
    if not jars:
        raise HudiJarError(
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


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python hudi_jar.py CACHE_DIR")
    try:
        print(fetch(sys.argv[1]))
    except HudiJarError as error:
        sys.exit(str(error))
