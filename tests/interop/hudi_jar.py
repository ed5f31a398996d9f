"""Where the tests get the jars of Hudi and of other formats from: Maven Central, by the Ivy that pyspark ships.

As a program: ``python tests/interop/hudi_jar.py CACHE_DIR`` prints the path of the verified jar.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "project"))  # when it is a program

from dev import maven
from dev.maven import Jar

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

#: The interfaces of the first release whose payload classes run unchanged. No bundle of it is for a Spark of today.
FIRST = Jar(
    "org.apache.hudi",
    "hudi-common",
    "0.9.0",
    "5f8630546eadee281071ef4aba88c75db0b71a3c0e72cf222f0c99429b830412",
)


def fetch(cache_dir: str | os.PathLike[str], wanted: Jar = HUDI) -> Path:
    """Path of a jar in ``cache_dir``, downloaded first if it is not there yet (the Hudi bundle has about 80 MB).

    Raises:
        dev.maven.JarError: No pyspark in this Python, no Java, the download failed, or the checksum differs.
    """
    return fetch_all(cache_dir, [wanted])[0]


def fetch_all(cache_dir: str | os.PathLike[str], wanted: Sequence[Jar]) -> list[Path]:
    """Paths of several jars, of which those that are missing are downloaded together.

    Raises:
        dev.maven.JarError: As :func:`fetch`.
    """
    return maven.fetch_all(cache_dir, wanted)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python hudi_jar.py CACHE_DIR")
    try:
        print(fetch(sys.argv[1]))
    except maven.JarError as error:
        sys.exit(str(error))
