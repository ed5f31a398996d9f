"""Archives of Spark's parsed classes, with which the many sessions of the tests start in two thirds of the time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from dev.environment import Environment
from dev.java import short_run_options
from dev.layout import ROOT, STATE
from dev.process import remove, say, tried

ONE_AT_A_TIME = threading.Lock()

# Java is silent about an archive of another class path or another Java, and does not use it.
SILENT = "-Xlog:cds*=off -Xlog:class+path=off"


def archive_of(environment: Environment) -> Path:
    return STATE / f"classes-{environment.line}.jsa"


def archive_classes(environment: Environment) -> None:
    """Make the line's archive, unless it was made since the environment was; the tests run without one too."""
    archive = archive_of(environment)
    with ONE_AT_A_TIME:
        installed = (environment.home / "merganser.stamp").stat().st_mtime
        if archive.is_file() and archive.stat().st_mtime >= installed:
            return
        remove(archive)
        script = ROOT / "tests" / "python" / "helpers" / "typical_session.py"
        variables = environment.variables(JDK_JAVA_OPTIONS=short_run_options())
        made = tried([environment.python, script, archive], archive.stem, environment=variables)
        if not made:
            say(f"No archive of Spark {environment.line}'s classes: sessions take seconds longer to start.")


def java_options(environment: Environment) -> str:
    """JDK_JAVA_OPTIONS for programs that start sessions of this line: also those that are set."""
    present = os.environ.get("JDK_JAVA_OPTIONS", "")
    archive = archive_of(environment)
    if not archive.is_file() or " " in str(archive):
        return present
    return f"{present} -XX:SharedArchiveFile={archive} {SILENT}".strip()
