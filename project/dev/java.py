"""The Java that builds and runs a Spark line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from dev.process import Stop, say

OLDEST_JAVA = 17
NEWEST_JAVA = {"3.5": 21, "4.0": 21, "4.1": 25, "4.2": 25}
TESTED_JAVA = {"4.1": 21}  # newer ones work, and Hadoop logs an exception

#: Programs that run most code a few times: the second compiler takes more processor time than it saves, and so does the
#: parallel collector.
SHORT_RUN = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def short_run_options() -> str:
    """JDK_JAVA_OPTIONS of a program that starts such a JVM: also those that are set."""
    return " ".join([*os.environ.get("JDK_JAVA_OPTIONS", "").split(), *SHORT_RUN])


def find_java(line: str) -> Path:
    """Home of a Java that can build and run the line; raises Stop with what to install."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else Path(shutil.which("java") or "")
    if home and not found.is_file():
        raise Stop(f"JAVA_HOME is '{home}', which holds no bin/java: point it at a JDK 17, or unset it.")
    if not found.is_file():
        raise Stop("Java was not found: install a JDK 17 and put it on the PATH, or point JAVA_HOME at it.")
    command = [str(found), "-XshowSettings:properties", "-version"]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    if version is None:
        raise Stop(f"Java was not found: '{found} -version' names no version; install a JDK 17.")
    release = int(version.group(1))
    newest = NEWEST_JAVA[line]
    if release < OLDEST_JAVA:
        raise Stop(f"Java {release} ({found}) is too old: install a JDK 17 and point JAVA_HOME at it.")
    if release > newest:
        raise Stop(
            f"Java {release} ({found}) is too new for Spark {line}, which runs on Java {OLDEST_JAVA} to {newest}: "
            "install a JDK 17 and point JAVA_HOME at it."
        )
    if release > TESTED_JAVA.get(line, release):
        say(f"Java {release} works with Spark {line}, but logs an exception from Hadoop when a session starts.")
    settings = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    java_home = Path(settings.group(1)) if settings else found.parents[1]
    if not (java_home / "lib" / "ct.sym").is_file():
        raise Stop(f"The Java in {java_home} has no compiler: install a JDK 17 and point JAVA_HOME at it.")
    return java_home
