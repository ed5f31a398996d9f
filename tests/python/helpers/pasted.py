"""The blocks of the README and of the section on servers, and a terminal to paste them into."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyspark
from places import ROOT
from snippets import page_text

README = (ROOT / "README.md").read_text()
SERVERS = page_text("docs/sql.md", "Spark Connect, JDBC and Thrift")

#: The running Spark line, such as "4.2".
LINE = ".".join(pyspark.__version__.split(".")[:2])


def blocks(language: str, page: str = README) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands(start: str) -> list[str]:
    """The indented commands that start with these words, each with the lines that continue it."""
    return re.findall(rf"^ {{4}}({re.escape(start)}\b(?:.*\\\n)*.*)$", README + SERVERS, re.MULTILINE)


def paste(command: str, *more: str, typed: str = "", folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command of the pages in a shell.

    Args:
        command: As it stands there.
        more: Arguments that the test adds.
        typed: What is then typed into the program.
        folder: Where programs leave files.
    """
    program = command.replace("./dev", f"{sys.executable} {ROOT / 'dev'}", 1)
    return subprocess.run(
        ["bash", "-c", f'{program} "$@"', "pasted", *more],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
    )
