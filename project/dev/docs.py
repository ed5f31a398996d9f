"""The documentation as a site, in an environment of its own: the tests' environments do not grow by it."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
from pathlib import Path

from dev.layout import ROOT
from dev.lock import alone
from dev.process import replace_by, run, say

ENVIRONMENT = ROOT / ".venv-docs"
REQUIREMENTS = ROOT / "docs" / "requirements.txt"
SITE = ROOT / "site"


def docs(options: argparse.Namespace, rest: list[str]) -> int:
    """build the documentation as a site into site/; broken links are errors [--serve]"""
    mkdocs = [install() / "bin" / "mkdocs"]
    configured = ["--config-file", ROOT / "mkdocs.yml"]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    if options.serve:
        replace_by([*mkdocs, "serve", *configured], variables)
    build = [*mkdocs, "build", "--strict", *configured, "--site-dir", SITE]
    run(build, "docs", environment=variables, show=lambda line: "WARNING" in line)
    say(f"{(SITE / 'index.html').relative_to(ROOT)}: {len(list(SITE.rglob('*.html')))} pages")
    return 0


def install() -> Path:
    """The environment of the generator, set up when it is first needed or its requirements have changed."""
    stamp = hashlib.sha256(f"{REQUIREMENTS.read_text()}\n{sys.version}\n{ROOT}".encode()).hexdigest()
    stamp_file = ENVIRONMENT / "merganser.stamp"
    with alone("set-up of .venv-docs"):
        if not (stamp_file.is_file() and stamp_file.read_text() == stamp):
            say("Setting up .venv-docs ...")
            shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            run([sys.executable, "-m", "venv", ENVIRONMENT], "environment-docs")
            pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS]
            run(pip, "environment-docs")
            stamp_file.write_text(stamp)
    return ENVIRONMENT
