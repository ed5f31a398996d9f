"""What writes, statements and dry runs count: numbers of rows by what became of them, once for all results."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Generic, Optional, TypeVar

from merganser._shown import Shown

Number = TypeVar("Number", int, Optional[int])
"""``int | None`` where another engine may have written, which does not count it."""


OF_ROWS = ("inserted", "updated", "deleted", "late", "duplicates", "appended")
"""The counts that say what became of incoming rows, as summaries show them."""


@dataclass(frozen=True)
class Outcomes(Shown, Generic[Number]):
    """What became of rows."""

    inserted: Number
    """Rows whose key was new."""
    updated: Number
    """Stored rows that an incoming version replaced."""
    unchanged: Number
    """Stored rows of rewritten files that did not change, except those that won against a late-arriving version."""
    late: Number
    """Keys whose incoming versions are all late and lost to the stored row."""
    ties: Number
    """Updated rows that had the same ordering value as the incoming version."""
    deleted: Number
    """Stored rows removed."""

    def _not_zero(self, kind: type[Outcomes[Any]], *more: str) -> str:
        """The counts of a class that are not zero, and some others; how many rows are unchanged comes last."""
        names = (*(one.name for one in fields(kind)), *more)
        found = {name: getattr(self, name) for name in sorted(names, key="unchanged".__eq__)}
        return ", ".join(f"{name}={count}" for name, count in found.items() if count) or "no row changed"


@dataclass(frozen=True)
class Counts(Outcomes[Number]):
    """What became of rows, and of the versions in between."""

    duplicates: Number
    """Incoming versions that lost to another version of their key in the same batch."""
    filled: Number
    """Updated rows in which the rule combined the stored row with others: filled or added columns, partial rows."""
    no_ops: Number
    """Updated rows in which no column changed, and partial rows whose key is not stored."""
    tombstones: Number
    """Deletes of keys that had no row anyway: incoming ones, or a retained one (also ``late``)."""


@dataclass(frozen=True)
class CommitCounts(Counts[Number]):
    """Every count of a commit: also of the versions in logs, whose outcome is decided when the logs are read."""

    appended: Number
    """Versions written to log files, including deletes."""
    appended_deletes: Number
    """Deletes written to log files."""
