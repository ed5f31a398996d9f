"""The calls of the jar: their parameters, their columns, and the services that have dry runs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def calls() -> dict[str, dict[str, Any]]:
    """By name, as ``calls.json`` has them, which is made from the procedures."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
    return found


def services() -> dict[str, list[str]]:
    """Services that have dry runs, and the arguments of a dry run that each takes besides the table and options."""
    found = (call["dry_run"] for call in calls().values() if "dry_run" in call)
    return {one["service"]: one["parameters"] for one in found}
