"""What a newcomer does, from an empty environment with the wheel alone: tutorial, command line, notebook, report."""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import shutil
import sys
from pathlib import Path

from dev.environment import FOREIGN_VARIABLES, Environment
from dev.java import short_run_options
from dev.layout import ROOT, STATE, default_line, release_version
from dev.packaging import build_wheel
from dev.process import Failed, nothing, run, say

HOME = STATE / "newcomer"

#: What a notebook needs beside the wheel.
NOTEBOOK = ("nbclient>=0.10,<1", "nbformat>=5.10,<6", "ipykernel>=6.29,<8")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def newcomer(options: argparse.Namespace, rest: list[str]) -> int:
    """install the wheel into an empty environment and take the first steps there [--spark LINE] [--fresh] [--few]

    The tutorial, the command line, spark-submit and a notebook are run without this folder's sources; pictures of
    the report are taken and checked with Chromium, which CI installs from Debian. Spark's files are those of the tests'
    environment, and the environment is used again; --fresh makes a new one and downloads Spark. --few
    leaves out what `./dev test --all` leaves out: spark-submit, and a session for each command.
    """
    environment = Environment(options.spark or default_line())
    say(first_steps(environment, few=options.few, fresh=options.fresh))
    say(f"The pages, the notebook and the pictures are in {(HOME / 'work').relative_to(ROOT)}.")
    return 0


def first_steps(environment: Environment, *, few: bool, fresh: bool = False) -> str:
    """Take the first steps, or few of them, and return what was left out, by name.

    Raises:
        Failed: One of them failed, or continuous integration has no browser.
    """
    browser = browser_program()
    if browser is None and os.environ.get("CI"):
        say(f"The pictures of the report need a browser ({', '.join(BROWSERS)}): install Chromium.")
        raise Failed("browser")
    wheel = build_wheel(environment, [environment.line], HOME / "dist", sdist=not few)
    python = install(environment, wheel, fresh=fresh)
    folder = HOME / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in (*(ROOT / "tests" / "newcomer").glob("*.py"), ROOT / "docs" / "tutorial.md"):
        shutil.copy(file, folder)
    shutil.copytree(ROOT / "examples" / "report", folder / "examples" / "report")
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    variables["PATH"] = os.pathsep.join([str(python.parent), str(environment.java_home / "bin"), os.environ["PATH"]])
    variables["JAVA_HOME"] = str(environment.java_home)
    variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    if few:
        variables["JDK_JAVA_OPTIONS"] = short_run_options()
    command = [
        python,
        "first_steps.py",
        wheel,
        *(["--few"] if few else []),
        *(["--browser", browser] if browser else []),
    ]
    run(command, "newcomer", environment=variables, folder=folder, deferred=few)
    return "every step" if browser else f"NO PICTURES of the report: there is no browser ({', '.join(BROWSERS)})"


def browser_program() -> str | None:
    """An installed Chromium; continuous integration installs Debian's."""

    def installed() -> str | None:
        return next(filter(None, map(shutil.which, BROWSERS)), None)

    if not installed() and os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get"):
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            try:
                run(["apt-get", "--quiet", *command], "newcomer-browser", environment=quietly, show=nothing)
            except Failed:
                say("Debian's Chromium could not be installed.")
                break
    return installed()


def install(environment: Environment, wheel: Path, *, fresh: bool) -> Path:
    """The Python of an environment with nothing but the wheel, Spark and what a notebook needs."""
    home = HOME / f"venv-{environment.line}"
    stamp = hashlib.sha256(f"{sys.version} {environment.version} {NOTEBOOK}".encode()).hexdigest()
    stamp_file = home / "merganser.stamp"
    python, log = home / "bin" / "python", "newcomer-environment"
    uv = [environment.python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    if fresh or not (stamp_file.is_file() and stamp_file.read_text() == stamp):
        say(f"Setting up an empty environment with Spark {environment.version} ...")
        shutil.rmtree(home, ignore_errors=True)
        run([sys.executable, "-m", "venv", "--without-pip", home], log, show=nothing)
        if fresh:
            # Without uv's cache, which would store 2 GB.
            run([*uv, "--no-cache", f"pyspark=={environment.version}"], log, show=nothing)
        else:
            link_spark(environment, python)
        run([*uv, wheel, f"pyspark=={environment.version}", *NOTEBOOK], log, show=nothing)
        stamp_file.write_text(stamp)
    else:
        run([*uv, "--reinstall-package", "merganser", wheel], log, show=nothing)
    say(f"merganser {release_version()} is installed from {wheel.name}.")
    return python


def link_spark(environment: Environment, python: Path) -> None:
    """Put PySpark as it is installed in an environment into another one, by hard links: it is 400 MB."""
    source, target = (next(home.glob("lib/python*/site-packages")) for home in (environment.home, python.parent.parent))
    for package in ("pyspark", "py4j"):
        (record,) = source.glob(f"{package}-*.dist-info/RECORD")
        for name, *_ in csv.reader(record.read_text().splitlines()):
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if (source / name).is_file() and not file.exists():
                os.link(source / name, file)
