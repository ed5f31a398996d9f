"""What applying change events returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merganser._shown import Shown
from merganser._wire import built
from merganser.counts import OF_ROWS
from merganser.results import CommitResult


class _OfCommit:
    """A count of the commit; 0 without one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: ApplyResult | None, owner: type) -> int:
        commit = None if result is None else result.commit
        return 0 if commit is None else int(getattr(commit, self._name))


@dataclass(frozen=True)
class ApplyResult(Shown):
    """What one batch of change events did to a table. Counts are in events unless stated otherwise.

    Every event is one of applied, skipped and quarantined.
    """

    _computed = ("applied", *OF_ROWS, "is_repetition")

    preset: str | None
    """Name of the preset; ``None`` for rows with ``keys`` and ``sequence_by``."""
    events: int
    upserts: int
    """Events that insert or update a row."""
    deletes: int
    """Events that delete a row."""
    truncates: int
    """Events that delete all rows up to them."""
    key_changes: int = 0
    """Updates that changed the key: the row of the old key was deleted, that of the new one inserted."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Events without rows, by what they are: ``tombstone``, ``heartbeat``, ``transaction``, …"""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """Events that were written to the quarantine, by the reason."""
    quarantine: str | None = None
    """Path of the quarantine; ``None`` if there was nothing to write to it."""
    commit: CommitResult | None = None
    """What the write changed; ``None`` if no event had a row."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> ApplyResult:
        """Build one from the row of the call, which has the commit's fields beside its own."""
        commit = None if answer["instant"] is None else CommitResult.from_wire(answer)
        return built(cls, {**answer, "commit": commit})

    @property
    def applied(self) -> int:
        """Events that were given to the table's rule."""
        return self.upserts + self.deletes + self.truncates

    inserted = _OfCommit()
    """Rows whose key was new. On merge-on-read tables see :attr:`appended`."""
    updated = _OfCommit()
    """Stored rows that a newer version replaced."""
    deleted = _OfCommit()
    """Stored rows removed."""
    late = _OfCommit()
    """Keys whose events were older than the stored row, which stayed."""
    duplicates = _OfCommit()
    """Events that lost to a later event of their key in the same batch."""
    appended = _OfCommit()
    """Versions appended to the logs of a merge-on-read table, whose outcome is known when they are read."""

    @property
    def is_repetition(self) -> bool:
        """Whether this batch had been applied before, so that nothing was written."""
        return self.commit is not None and self.commit.is_repetition

    def _line(self) -> str:
        parts = [f"{self.events} events: {self.upserts} upserts, {self.deletes} deletes"]
        more = {"truncates": self.truncates, "key changes": self.key_changes}
        parts += [f"{count} {what}" for what, count in more.items() if count]
        parts += [f"{count} skipped ({what})" for what, count in self.skipped.items()]
        parts += [f"{count} quarantined ({reason})" for reason, count in self.quarantined.items()]
        rows = [f"{getattr(self, name)} {name}" for name in OF_ROWS if getattr(self, name)]
        return ", ".join(parts) + "; rows: " + (", ".join(rows) or "none changed")
