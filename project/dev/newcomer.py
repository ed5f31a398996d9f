"""What a newcomer does, from an empty environment with the wheel alone: tutorial, command line, notebook, report."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
from pathlib import Path

from dev.environment import FOREIGN_VARIABLES, Environment
from dev.layout import ROOT, STATE, default_line, release_version
from dev.packaging import build_wheel
from dev.process import Stop, nothing, run, say

HOME = STATE / "newcomer"

#: What a notebook needs beside the wheel.
NOTEBOOK = ("nbclient>=0.10,<1", "nbformat>=5.10,<6", "ipykernel>=6.29,<8")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def newcomer(options: argparse.Namespace, rest: list[str]) -> int:
    """install the wheel into an empty environment and take the first steps there [--spark LINE] [--fresh]

    The tutorial, the command line, spark-submit and a notebook are run without this folder's sources; a picture of the
    report is taken with an installed Chromium. The environment is used again unless --fresh is given.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Stop(f"No browser was found ({', '.join(BROWSERS)}): install one (Debian: apt-get install chromium).")
    line = options.spark or default_line()
    environment = Environment(line)
    wheel = build_wheel(environment, [line], HOME / "dist")
    python = install(environment, wheel, fresh=options.fresh)
    folder = HOME / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in (ROOT / "tests" / "newcomer" / "first_steps.py", ROOT / "docs" / "tutorial.md"):
        shutil.copy(file, folder)
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    variables["PATH"] = os.pathsep.join([str(python.parent), str(environment.java_home / "bin"), os.environ["PATH"]])
    variables["JAVA_HOME"] = str(environment.java_home)
    command = [python, "first_steps.py", wheel, browser]
    run(command, "newcomer", environment=variables, folder=folder)
    say(f"The pages, the notebook and the picture are in {folder.relative_to(ROOT)}.")
    return 0


def install(environment: Environment, wheel: Path, *, fresh: bool) -> Path:
    """The Python of an environment with nothing but the wheel, Spark and what a notebook needs."""
    home = HOME / f"venv-{environment.line}"
    stamp = hashlib.sha256(f"{sys.version} {environment.version} {NOTEBOOK}".encode()).hexdigest()
    stamp_file = home / "merganser.stamp"
    uv = [
        environment.python,
        "-m",
        "uv",
        "pip",
        "install",
        "--no-cache",
        "--quiet",
        "--python",
        home / "bin" / "python",
    ]
    if fresh or not (stamp_file.is_file() and stamp_file.read_text() == stamp):
        say(f"Setting up an empty environment with Spark {environment.version} ...")
        shutil.rmtree(home, ignore_errors=True)
        run([sys.executable, "-m", "venv", home], "newcomer-environment", show=nothing)
        run([*uv, wheel, f"pyspark=={environment.version}", *NOTEBOOK], "newcomer-environment", show=nothing)
        stamp_file.write_text(stamp)
    else:
        run([*uv, "--reinstall-package", "merganser", wheel], "newcomer-environment", show=nothing)
    say(f"merganser {release_version()} is installed from {wheel.name}.")
    return home / "bin" / "python"
