"""Folders of the project, and its Spark lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".dev"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "merganser"
JARS = ROOT / "python" / "src" / "merganser" / "jars"


def spark_lines() -> dict[str, str]:
    """Minor version -> full version of every Spark line, the default line first and the newest last."""
    source = (ROOT / "project" / "Dependencies.scala").read_text()
    versions = re.findall(r'Line\("(\d+\.\d+\.\d+)"', source)
    return {version.rsplit(".", 1)[0]: version for version in versions}


def default_line() -> str:
    """The line of a command that names none."""
    return next(iter(spark_lines()))


def release_version() -> str:
    """The version of the package and of the jars."""
    source = (ROOT / "python" / "src" / "merganser" / "_version.py").read_text()
    found = re.search(r'__version__ = "([^"]+)"', source)
    assert found is not None
    return found[1]


def identifier(line: str) -> str:
    """The line's name in the build: 3.5 is 35."""
    return line.replace(".", "")
