"""Removal of what the commands create."""

from __future__ import annotations

import argparse

from dev.jars import other_jars
from dev.layout import JARS, ROOT, STATE
from dev.lock import LOCK
from dev.process import remove


def clean(options: argparse.Namespace, rest: list[str]) -> int:
    """delete everything the commands created here: environments, classes, jars, logs"""
    created = [
        *ROOT.glob(".venv-*"),
        *(each for each in STATE.glob("*") if each != LOCK),
        ROOT / "jvm" / ".lines",
        ROOT / "target",
    ]
    remove(
        *created,
        ROOT / "project" / "target",
        ROOT / "project" / "project",
        ROOT / "project" / "dev" / "__pycache__",
        ROOT / "demo-out",
        ROOT / "cdc-out",
        ROOT / "site",
        ROOT / "dist",
        *JARS.glob("*.jar"),
        *(jar.parent for jar in other_jars("")),
    )
    return 0
