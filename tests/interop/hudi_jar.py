"""Where the tests get Apache Hudi's Spark bundle from: Maven Central, through the Ivy that pyspark ships.

As a program: ``python tests/interop/hudi_jar.py CACHE_DIR`` prints the path of the verified jar.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

GROUP = "org.apache.hudi"
ARTIFACT = "hudi-spark3.5-bundle_2.12"
VERSION = "1.2.0"
SHA256 = "cc79fba00822f3a6c3a860df99375c2e3d4a034d037dbf4213a4966a706a7676"


class HudiJarError(RuntimeError):
    """The bundle could not be fetched, or is not the file we know."""


def fetch(cache_dir: str | os.PathLike[str]) -> Path:
    """Path of the Hudi bundle in ``cache_dir``, downloaded first if it is not there yet (about 80 MB).

    Raises:
        HudiJarError: No pyspark in this Python, no Java, the download failed, or the checksum differs.
    """
    jar = Path(cache_dir).resolve() / f"{ARTIFACT}-{VERSION}.jar"
    if jar.is_file() and _sha256(jar) == SHA256:
        return jar
    jar.unlink(missing_ok=True)
    _download(jar)
    found = _sha256(jar)
    if found != SHA256:
        jar.unlink()
        raise HudiJarError(
            f"Refused {jar.name}: its SHA-256 is {found}, expected {SHA256}. "
            "Check the repository or mirror that Ivy downloads from."
        )
    return jar


def _download(jar: Path) -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise HudiJarError(f"Cannot fetch {jar.name}: no 'java' on the PATH. Install Java 17.")
    jar.parent.mkdir(parents=True, exist_ok=True)
    command = [
        java, "-jar", str(_ivy()), "-cache", str(jar.parent / "ivy"),
        "-confs", "default", "-types", "jar", "-notransitive",
        "-dependency", GROUP, ARTIFACT, VERSION,
        "-retrieve", str(jar.parent / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0 or not jar.is_file():
        raise HudiJarError(
            f"Cannot fetch {GROUP}:{ARTIFACT}:{VERSION}: Ivy ended with {run.returncode}. "
            f"Its last lines:\n{run.stdout[-2000:]}"
        )
    shutil.rmtree(jar.parent / "ivy", ignore_errors=True)


def _ivy() -> Path:
    pyspark = find_spec("pyspark")
    folders = list(pyspark.submodule_search_locations or []) if pyspark else []
    jars = sorted(ivy for folder in folders for ivy in Path(folder, "jars").glob("ivy-*.jar"))
    if not jars:
        raise HudiJarError(
            f"Cannot fetch the Hudi bundle: {sys.executable} has no pyspark with an Ivy jar. "
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
