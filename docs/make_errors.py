#!/usr/bin/env python3
"""Writes docs/errors.md from the rooms' conditions.json; a test compares."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "errors.md"
ROOMS = ("merge", "table", "spark")

HEAD = """# Errors

<!-- Made by docs/make_errors.py from the rooms' conditions.json; a test compares. Do not edit. -->

An error that a user can mend has a name, which stays, and a SQLSTATE. In Python it is a `merganser.MerganserError` with
`.condition` and `.parameters`, and for the frequent ones a class of its own. `{...}` stands for a value.
"""


def conditions() -> dict[str, dict[str, str]]:
    """Every condition by its name."""
    found: dict[str, dict[str, str]] = {}
    for room in ROOMS:
        file = DOCS.parent / f"jvm/{room}/src/main/resources/io/merganser/{room}/conditions.json"
        for name, entry in json.loads(file.read_text()).items():
            if name in found:
                raise ValueError(f"condition {name} is in two rooms")
            found[name] = entry
    return found


def render() -> str:
    entries = sorted(conditions().items())
    return HEAD + "".join(f"\n## {name}\n\nSQLSTATE {e['sqlState']}. {e['message']}\n" for name, e in entries)


if __name__ == "__main__":
    PAGE.write_text(render())
