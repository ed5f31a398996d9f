"""One environment for each Spark line (.venv-3.5, .venv-4.2, ...).

It is created when it is first needed, and again when the requirements in python/pyproject.toml change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from dev.java import find_java
from dev.layout import ENVIRONMENTS, spark_lines
from dev.lock import alone
from dev.process import Failed, Stop, nothing, run, say

OLDEST_PYTHON = (3, 11)  # for the tests and their libraries; users' own may be older, see pyproject.toml

# With these, files of another Python or Spark would take precedence over those of an environment.
FOREIGN_VARIABLES = ("PYTHONHOME", "PYTHONPATH", "SPARK_HOME", "SPARK_CONF_DIR")


class Environment:
    """Python, pyspark and the libraries of the tests, for one Spark line."""

    def __init__(self, line: str) -> None:
        if sys.version_info < OLDEST_PYTHON:
            needed = ".".join(str(number) for number in OLDEST_PYTHON)
            raise Stop(f"Python {sys.version.split()[0]} is too old: run ./dev with Python {needed} or later.")
        self.line = line
        self.version = spark_lines()[line]
        self.java_home = find_java(line)
        self.home = ENVIRONMENTS / f".venv-{line}"
        self.python = self.home / "bin" / "python"
        self._install()

    @property
    def spark_jars(self) -> Path:
        found = sorted(self.home.glob("lib/python*/site-packages/pyspark/jars"))
        if not found:
            raise Stop(f"There is no pyspark in {self.home}: delete that folder and try again.")
        return found[0]

    def variables(self, **more: str) -> dict[str, str]:
        """Environment variables for programs of this environment."""
        path = os.pathsep.join([str(self.home / "bin"), str(self.java_home / "bin"), os.environ.get("PATH", "")])
        return {
            **{name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES},
            "VIRTUAL_ENV": str(self.home),
            "PATH": path,
            "JAVA_HOME": str(self.java_home),
            "PYSPARK_PYTHON": str(self.python),
            "SPARK_LOCAL_IP": "127.0.0.1",
            **more,
        }

    def _install(self) -> None:
        requirements = (ENVIRONMENTS / "python" / "pyproject.toml").read_text().split("\n[tool.ruff")[0]
        parts = [requirements, self.version, sys.version, str(ENVIRONMENTS)]
        stamp = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        if not self._is_installed(stamp):
            with alone(f"set-up of {self.home.name}"):
                if not self._is_installed(stamp):
                    self._install_all(stamp)

    def _is_installed(self, stamp: str) -> bool:
        stamp_file = self.home / "merganser.stamp"
        return stamp_file.is_file() and stamp_file.read_text() == stamp

    def _install_all(self, stamp: str) -> None:
        say(f"Setting up {self.home.name}: Spark {self.version} and Python libraries (may take minutes) ...")
        shutil.rmtree(self.home, ignore_errors=True)
        log = f"environment-{self.line}"
        try:
            run([sys.executable, "-m", "venv", self.home], log, show=nothing)
        except Failed:
            raise Stop("Python cannot create environments: install its venv module (Debian: python3-venv).") from None
        run([self.python, "-m", "pip", "install", "--quiet", "uv"], log, show=nothing)
        # Without uv's cache, which would store 2 GB for each pyspark; pyspark is installed once per folder.
        uv = [self.python, "-m", "uv", "pip", "install", "--no-cache", "--python", self.python]
        # pyspark is built from its sources, mostly jars: to compress them once more takes half of the time.
        uv += ["--config-settings-package", "pyspark:--build-option=--compression=stored"]
        extras = "test" if self.line.startswith("3.") else "test,connect"
        run([*uv, "-e", f"{ENVIRONMENTS / 'python'}[{extras}]", f"pyspark=={self.version}"], log, show=nothing)
        (self.home / "merganser.stamp").write_text(stamp)
