"""Folders of the project, and its Spark lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".dev"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "merganser"
JARS = ROOT / "python" / "src" / "merganser" / "jars"
PACKAGE = ROOT / "python"

#: The tree whose environments are used: its own, or that of the tree of which this one is a release's copy.
ENVIRONMENTS = Path(os.environ.get("MERGANSER_ENVIRONMENTS") or ROOT)

#: The date of all files in jars, wheels and source distributions, 2010-01-01: their bytes follow from the sources.
SOURCE_DATE_EPOCH = "1262304000"


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


def described(name: str) -> str:
    """A line of the package's description, such as its summary or the address of its sources."""
    found = re.search(rf'^{name} = "([^"]+)"', (PACKAGE / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def identifier(line: str) -> str:
    """The line's name in the build: 3.5 is 35."""
    return line.replace(".", "")
