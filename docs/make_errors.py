#!/usr/bin/env python3
"""Writes docs/errors.md from the modules' conditions.json; a test compares."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "errors.md"
MODULES = ("merge", "table", "spark")

HEAD = """# Errors

<!-- Made by docs/make_errors.py from the modules' conditions.json; a test compares. Do not edit. -->

An error that a user can fix has a name, which stays, and a SQLSTATE. `{...}` stands for a value.

In Python it is a `merganser.MerganserError` with `.condition`, `.sql_state` and `.parameters`, and for the frequent
ones a class of its own, such as `merganser.CommitConflictError`. Every call of a `merganser.Table` raises it. So do
`spark.sql`, readers, writers and actions of a session in the same process, from `import merganser` on, also where a
task of a job failed; it is one of PySpark's exceptions too, and its `__context__` holds the stack of the JVM.

Over Spark Connect they raise it as well; `error.origin` is the server's error, with the stack of its JVM.
`merganser.condition_of(error)` takes any exception, and returns the name of the condition, or `None` for an error that
is not one of these.

The Python package has four conditions of its own: MISSING_JAR (a session, or the package, has no jar for this Spark),
SESSION_NOT_READY (the session that runs was started without the SQL extension or the catalog),
SESSION_CATALOG_CONFLICT (another session catalog is set) and SETTING_GIVEN_TWICE.
"""


def conditions() -> dict[str, dict[str, str]]:
    """Every condition by its name."""
    found: dict[str, dict[str, str]] = {}
    for module in MODULES:
        file = DOCS.parent / f"jvm/{module}/src/main/resources/io/merganser/{module}/conditions.json"
        for name, entry in json.loads(file.read_text()).items():
            if name in found:
                raise ValueError(f"condition {name} is in two modules")
            found[name] = entry
    return found


def render() -> str:
    entries = sorted(conditions().items())
    return HEAD + "".join(f"\n## {name}\n\nSQLSTATE {e['sqlState']}. {e['message']}\n" for name, e in entries)


if __name__ == "__main__":
    PAGE.write_text(render())
